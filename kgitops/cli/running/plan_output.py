"""A plan on stdout, and its exit code."""

import sys
from pathlib import Path

from kgitops.cli.running.options import Format
from kgitops.cli.running.streams import print_result, text_width, wants_colour
from kgitops.model.verdict import ExitCode, Verdict
from kgitops.plan.document.file import SealedPlan
from kgitops.report.plan_formats import render_plan


def show_plan(
    sealed: SealedPlan,
    format_: Format,
    *,
    full: bool,
    no_color: bool,
    saved_as: Path | None = None,
) -> None:
    """Print a plan in one of its forms."""
    text = render_plan(
        sealed,
        format_.value,
        full=full,
        colour=wants_colour(sys.stdout, no_color=no_color),
        width=text_width(),
        saved_as=str(saved_as) if saved_as else None,
    )
    print_result(text)


def exit_code(verdict: Verdict, *, detailed: bool) -> int:
    """The process's exit code: 2 for changes only with ``--detailed-exitcode``, else 0."""
    if verdict.exit is ExitCode.CHANGES and not detailed:
        return int(ExitCode.SUCCESS)
    return int(verdict.exit)
