"""``kgitops diff``: two snapshots, saved plans or runs of a fleet, side by side."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import DetailedExitcode, Full, NoColor

if TYPE_CHECKING:
    from kgitops.comparison.comparing import ComparedState


class DiffFormat(StrEnum):
    """The forms of a comparison."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A snapshot, a plan, or a run.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Another one of the same kind.")],
    format_: Annotated[
        DiffFormat, typer.Option("--format", help="How to show the differences.")
    ] = DiffFormat.TEXT,
    full: Full = False,
    detailed_exitcode: DetailedExitcode = False,
    no_color: NoColor = False,
) -> int:
    """Show what differs between two snapshots, saved plans or runs of a fleet.

    Object by object and value by value, without a cluster. Times, digests and the sizes of logs are
    left out.

    Example: kgitops diff monday.json tuesday.json --detailed-exitcode
    """
    from kgitops.cli.running.streams import print_result, wants_colour
    from kgitops.comparison.comparing import compare
    from kgitops.model.verdict import ExitCode

    comparison = compare(_read(old), _read(new))
    match format_:
        case DiffFormat.TEXT:
            from kgitops.report.comparison import render_comparison

            colour = wants_colour(sys.stdout, no_color=no_color)
            print_result(render_comparison(comparison, full=full, colour=colour))
        case DiffFormat.JSON:
            from kgitops.model.json.layout import json_text
            from kgitops.report.comparison import comparison_json

            print_result(json_text(comparison_json(comparison)))
        case DiffFormat.MARKDOWN:
            from kgitops.report.comparison import render_comparison_markdown

            print_result(render_comparison_markdown(comparison))
    differs = bool(comparison.objects) and detailed_exitcode
    return int(ExitCode.CHANGES if differs else ExitCode.SUCCESS)


def _read(path: Path) -> "ComparedState":
    """A file, or a folder: a run of a fleet, the newest of several, or a state in Parquet."""
    from kgitops.cli.running.selection import check_parquet

    if path.is_dir() or path.suffix == ".parquet":
        check_parquet()
        from kgitops.comparison.fleet_runs import read_parquet

        return read_parquet(path)
    from kgitops.comparison.reading import read_file

    return read_file(path)
