"""``kgitops fleet summary``: the results of a fleet's runs, or one unit's plan out of them."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import DetailedExitcode, Format, Full, NoColor, PlanFormat
from kgitops.cli.running.streams import text_width, wants_colour
from kgitops.model.errors import UsageError

if TYPE_CHECKING:
    from kgitops.fleet.summary import History

_FLEET_FORMATS = (Format.TEXT, Format.JSON, Format.MARKDOWN, Format.HTML)


def summary(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What fleet plan --out wrote, or a folder of those."),
    ],
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="NAME",
            help="Show this cluster's plan, as kgitops show does.",
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --cluster: whose plan, where several projects have one."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="With --cluster: save the plan, for kgitops apply."
        ),
    ] = None,
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Show what the runs of a fleet came to.

    Of a folder of runs the newest is shown, together with the ones before it.

    Example: kgitops fleet summary fleet-plan
    """
    if cluster is not None:
        from kgitops.cli.running.plan_output import exit_code, show_plan
        from kgitops.cli.running.streams import check_place, write_file
        from kgitops.fleet.output.runs import newest_run
        from kgitops.fleet.output.slices import read_slice
        from kgitops.plan.document.file import text_parts
        from kgitops.plan.reading import require_shown

        check_place(out)
        _recover(directory)
        sealed = read_slice(newest_run(directory), cluster, project)
        require_shown(sealed, f"the plan of {cluster} in {directory}")
        if out:
            write_file(out, text_parts(sealed))
        show_plan(sealed, format_, full=full, no_color=no_color, saved_as=out)
        return exit_code(sealed.plan.verdict, detailed=detailed_exitcode)
    if project is not None or out is not None:
        option = "--project" if project is not None else "-o"
        raise UsageError(f"{option} is about the plan of one cluster; name it with --cluster")
    return _show_fleet(directory, format_, detailed=detailed_exitcode, full=full, no_color=no_color)


def _show_fleet(
    directory: Path, format_: Format, *, detailed: bool, full: bool, no_color: bool
) -> int:
    from kgitops.cli.running.plan_output import exit_code
    from kgitops.cli.running.streams import print_result
    from kgitops.fleet.output.runs import read_history
    from kgitops.fleet.summary import verdict

    check_format(format_)
    _recover(directory)
    history = read_history(directory)
    print_result(render_fleet(history, format_, full=full, no_color=no_color))
    return exit_code(verdict(history.latest), detailed=detailed)


def check_format(format_: Format) -> None:
    """Refuse the formats that only a single plan has.

    Raises:
        UsageError: it is one of them.
    """
    if format_ not in _FLEET_FORMATS:
        raise UsageError(
            f"--format {format_} shows the plan of one cluster; name it with fleet summary "
            f"--cluster, or show the fleet as {', '.join(_FLEET_FORMATS)}"
        )


def _recover(directory: Path) -> None:
    """Put back the previous run if a run was killed while it replaced it.

    This needs pyarrow; without it no run was ever made on this machine.
    """
    if not directory.exists():
        with suppress(ModuleNotFoundError):
            from kgitops.fleet.output.publish import recover

            recover(directory)


def render_fleet(history: "History", format_: Format, *, full: bool, no_color: bool) -> str:
    """A fleet in one of its formats; as text where it has no such format."""
    match format_:
        case Format.JSON:
            from kgitops.report.fleet.fleet_json import render_fleet_json

            return render_fleet_json(history)
        case Format.MARKDOWN:
            from kgitops.report.fleet.fleet_markdown import render_fleet_markdown

            return render_fleet_markdown(history)
        case Format.HTML:
            from kgitops.report.fleet.fleet_html import render_fleet_html

            return render_fleet_html(history)
        case _:
            from kgitops.report.fleet.fleet_text import render_fleet_text

            colour = wants_colour(sys.stdout, no_color=no_color)
            return render_fleet_text(history, full=full, colour=colour, width=text_width())
