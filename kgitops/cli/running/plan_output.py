"""A plan on stdout, and its exit code."""

import sys
from pathlib import Path

from kgitops.cli.running.options import Format
from kgitops.cli.running.streams import print_result, text_width, wants_colour
from kgitops.model.errors import UsageError
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
    max_bytes: int | None = None,
) -> None:
    """Print a plan in one of its forms."""
    text = render_plan(
        sealed,
        format_.value,
        full=full,
        colour=wants_colour(sys.stdout, no_color=no_color),
        width=text_width(),
        saved_as=str(saved_as) if saved_as else None,
        max_bytes=max_bytes,
    )
    print_result(text)


def require_markdown(format_: Format, max_bytes: int | None) -> None:
    """Refuse a size for what has no comments.

    Raises:
        UsageError: ``max_bytes`` is given with another format.
    """
    if max_bytes is not None and format_ is not Format.MARKDOWN:
        raise UsageError("--max-bytes is for --format markdown; add that, or remove --max-bytes")


def exit_code(verdict: Verdict, *, detailed: bool) -> int:
    """The process's exit code: 2 for changes only with ``--detailed-exitcode``, else 0."""
    if verdict.exit is ExitCode.CHANGES and not detailed:
        return int(ExitCode.SUCCESS)
    return int(verdict.exit)
