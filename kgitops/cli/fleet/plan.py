"""``kgitops fleet plan``: every project on every cluster, on Spark."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.fleet.options import SparkOptions
from kgitops.cli.running.options import DetailedExitcode, Format, Full, NoColor
from kgitops.cli.running.parameters import with_groups


@with_groups
def plan(
    desired: Annotated[
        list[Path],
        typer.Option(
            metavar="PATH…",
            help="Projects, manifests, or what fleet compile made of them.",
        ),
    ],
    state: Annotated[
        list[Path],
        typer.Option(
            metavar="PATH…",
            help="Snapshots of clusters: files, or folders of them.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Where the result goes; it replaces the one before."
        ),
    ],
    policies: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH…",
            help="Policy and Waiver documents in addition to the projects' own.",
            show_default=False,
        ),
    ] = None,
    *,
    spark: SparkOptions,
    format_: Annotated[
        Format, typer.Option("--format", help="text, json, markdown or html.")
    ] = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Plan many clusters at once.

    One project on one cluster is one plan, made and judged as kgitops plan does. Nothing is
    changed on any cluster.

    Example: kgitops fleet plan --desired payments --state states --out fleet-plan
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.fleet.options import task_bar
    from kgitops.cli.fleet.summary import check_format, render_fleet
    from kgitops.cli.running.plan_output import exit_code
    from kgitops.fleet.pipeline import FleetPlanOptions, plan_fleet
    from kgitops.fleet.summary import History, verdict

    check_format(format_)
    request = FleetPlanOptions(
        desired=tuple(desired),
        state=tuple(state),
        out=out,
        policies=tuple(policies or ()),
        master=spark.master,
        remote=spark.remote,
        conf=spark.settings(),
        environ=os.environ,
    )
    with task_bar("planned", no_color=no_color) as on_progress:
        run = plan_fleet(request, on_progress)
    print_result(render_fleet(History(runs=(run,)), format_, full=full, no_color=no_color))
    return exit_code(verdict(run), detailed=detailed_exitcode)
