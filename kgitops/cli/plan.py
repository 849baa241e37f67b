"""``kgitops plan``, ``show`` and ``drift``: the commands that show a plan and change nothing."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import (
    DetailedExitcode,
    Format,
    Full,
    MaxBytes,
    NoColor,
    PlanFormat,
    PlanOptions,
    Principal,
    ProjectOptions,
    VariablesOf,
)
from kgitops.cli.running.parameters import with_groups


@with_groups
def plan(
    project: ProjectOptions,
    variables_of: VariablesOf = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Save the plan.")
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plan offline, against a saved snapshot.")
    ] = None,
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    max_bytes: MaxBytes = None,
    *,
    options: PlanOptions,
) -> int:
    """Show exactly what an apply would do.

    Compares the manifests with the cluster, lets policies and its brokers judge, and changes
    nothing.

    Example: kgitops plan examples/quickstart -o plan.json
    """
    from kgitops.cli.running.plan_output import exit_code, require_markdown, show_plan
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection, open_target
    from kgitops.cli.running.streams import check_place, write_file
    from kgitops.plan.document.file import text_parts
    from kgitops.workflow.loading import loaded
    from kgitops.workflow.pipeline import plan_against
    from kgitops.workflow.project.selection import open_workspace

    require_markdown(format_, max_bytes)
    selection = make_selection(
        project, options, variables_of=variables_of, offline=snapshot is not None
    )
    check_place(out)
    workspace = open_workspace(selection)
    with (
        stages(no_color=options.no_color) as stage,
        loaded(workspace, stage) as declared,
        open_target(workspace, snapshot) as cluster,
    ):
        sealed = plan_against(cluster, declared, workspace, stage)
    if out:
        write_file(out, text_parts(sealed))
    show_plan(
        sealed,
        format_,
        full=options.full,
        no_color=options.no_color,
        saved_as=out,
        max_bytes=max_bytes,
    )
    return exit_code(sealed.plan.verdict, detailed=detailed_exitcode)


def show(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A saved plan.")],
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    full: Full = False,
    no_color: NoColor = False,
    max_bytes: MaxBytes = None,
) -> int:
    """Show a saved plan again, in any format.

    Example: kgitops show plan.json --format markdown
    """
    from kgitops.cli.running.plan_output import exit_code, require_markdown, show_plan
    from kgitops.workflow.project.saved_plan import load_plan

    require_markdown(format_, max_bytes)
    sealed = load_plan(plan)
    show_plan(sealed, format_, full=full, no_color=no_color, saved_as=plan, max_bytes=max_bytes)
    return exit_code(sealed.plan.verdict, detailed=detailed_exitcode)


@with_groups
def drift(
    project: ProjectOptions,
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    as_: Principal = None,
    verify_users: Annotated[
        bool,
        typer.Option(
            "--verify-users",
            help="Log in once with each declared password, and tell which no longer hold.",
        ),
    ] = False,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Show what others changed since the last apply.

    Compares the cluster with what this project last applied; asks no policies, as no change is
    asked for, and reads no manifests but for the users to verify.

    Example: kgitops drift examples/quickstart --detailed-exitcode
    """
    import sys

    from kgitops.cli.running.plan_output import exit_code, show_plan
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_result, wants_colour
    from kgitops.report.text.drift import render_drift
    from kgitops.workflow.drift import drift_verdict, plan_drift
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(project, PlanOptions(principal=as_)))
    with stages(no_color=no_color) as stage, workspace.connected() as cluster:
        sealed = plan_drift(cluster, workspace, stage, verify_users=verify_users)
    if format_ is Format.TEXT:
        colour = wants_colour(sys.stdout, no_color=no_color)
        print_result(render_drift(sealed, full=full, colour=colour))
    else:
        show_plan(sealed, format_, full=full, no_color=no_color)
    return exit_code(drift_verdict(sealed.plan), detailed=detailed_exitcode)
