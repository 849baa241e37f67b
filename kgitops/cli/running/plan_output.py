"""A plan on stdout, and its exit code."""

import sys
from pathlib import Path

from kgitops.cli.console.streams import print_result, text_width, wants_colour
from kgitops.cli.running.options import Format
from kgitops.model.verdict import ExitCode, Verdict
from kgitops.plan.document.file import SealedPlan


def show_plan(
    sealed: SealedPlan,
    format_: Format,
    *,
    full: bool,
    no_color: bool,
    saved_as: Path | None = None,
) -> None:
    """Print a plan in one of its forms."""
    match format_:
        case Format.TEXT:
            from kgitops.report.text.plan import render_text

            text = render_text(
                sealed.plan,
                sealed=sealed,
                full=full,
                colour=wants_colour(sys.stdout, no_color=no_color),
                width=text_width(),
                saved_as=str(saved_as) if saved_as else None,
            )
        case Format.JSON:
            from kgitops.report.json.plan import render_json

            text = render_json(sealed.plan, sealed=sealed)
        case Format.MARKDOWN:
            from kgitops.report.markdown.plan import render_markdown

            text = render_markdown(sealed.plan, sealed=sealed)
        case Format.HTML:
            from kgitops.report.html import render_html

            text = render_html(sealed.plan, sealed=sealed)
        case Format.SARIF:
            from kgitops.report.ci.sarif import render_sarif

            text = render_sarif(sealed.plan, sealed=sealed)
        case Format.JUNIT:
            from kgitops.report.ci.junit import render_junit

            text = render_junit(sealed.plan, sealed=sealed)
        case Format.GITHUB:
            from kgitops.report.ci.github import render_github

            text = render_github(sealed.plan, sealed=sealed)
    print_result(text)


def exit_code(verdict: Verdict, *, detailed: bool) -> int:
    """The process's exit code: 2 for changes only with ``--detailed-exitcode``, else 0."""
    if verdict.exit is ExitCode.CHANGES and not detailed:
        return int(ExitCode.SUCCESS)
    return int(verdict.exit)
