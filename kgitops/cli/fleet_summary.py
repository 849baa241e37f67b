"""``kgitops fleet summary``: what the runs of a fleet came to, and one unit's plan out of them."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.options import DetailedExitcode, Format, Full, NoColor, PlanFormat
from kgitops.model.errors import UsageError


def summary(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What fleet plan --out wrote, or a folder of those."),
    ],
    format_: PlanFormat = Format.TEXT,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="NAME",
            help="Show the plan for this cluster alone, as kgitops show does.",
            show_default=False,
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --cluster: the project whose plan it is, where there are several.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="With --cluster: save the plan, for kgitops apply. Else: save what is shown.",
            show_default=False,
        ),
    ] = None,
    detailed_exitcode: DetailedExitcode = False,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Show what the runs of a fleet came to.

    Example: kgitops fleet summary fleet-plan
    """
    del directory, format_, cluster, project, out, detailed_exitcode, full, no_color
    raise UsageError("kgitops fleet summary is being written; ask again later")
