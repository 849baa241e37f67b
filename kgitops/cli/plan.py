"""``kgitops plan``: what would happen, and nothing happens."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import (
    AllowDeletes,
    ClusterName,
    DetailedExitcode,
    Excludes,
    FailOnGrade,
    Format,
    Full,
    NoColor,
    Paths,
    PlanFormat,
    Principal,
    Selecting,
    Targets,
    VariablesOf,
)


def plan(
    paths: Paths = None,
    cluster: ClusterName = None,
    variables_of: VariablesOf = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Save the plan.", show_default=False),
    ] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Plan offline, against a saved snapshot.", show_default=False
        ),
    ] = None,
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    target: Targets = None,
    exclude: Excludes = None,
    selector: Selecting = None,
    as_: Principal = None,
    allow_deletes: AllowDeletes = None,
    fail_on: FailOnGrade = None,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Show exactly what an apply would do.

    Compares the manifests with the cluster, lets policies and its brokers judge, and changes
    nothing.

    Example: kgitops plan examples/quickstart -o plan.json
    """
    from kgitops.cli.console.files import check_place, write_file
    from kgitops.cli.running.parquet import far_side
    from kgitops.cli.running.plan import exit_code, show_plan
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.plan.document.file import to_text
    from kgitops.workflow.loading import loaded
    from kgitops.workflow.pipeline import plan_against
    from kgitops.workflow.project.selection import open_workspace

    selection = make_selection(
        paths,
        cluster,
        variables_of=variables_of,
        targets=target,
        excludes=exclude,
        selector=selector,
        principal=as_,
        allow_deletes=allow_deletes,
        fail_on=fail_on,
        offline=snapshot is not None,
    )
    check_place(out)
    workspace = open_workspace(selection)
    with (
        stages(no_color=no_color) as stage,
        loaded(workspace, stage) as declared,
        far_side(workspace, snapshot) as current,
    ):
        sealed = plan_against(current, declared, workspace, stage)
    if out:
        write_file(out, to_text(sealed))
    show_plan(sealed, format_, full=full, no_color=no_color, saved_as=out)
    return exit_code(sealed.plan.verdict, detailed=detailed_exitcode)
