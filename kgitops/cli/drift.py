"""``kgitops drift``: what others changed since the last apply."""

from kgitops.cli.running.options import (
    ClusterName,
    DetailedExitcode,
    Format,
    Full,
    NoColor,
    Paths,
    PlanFormat,
    Principal,
)


def drift(
    paths: Paths = None,
    cluster: ClusterName = None,
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    as_: Principal = None,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Show what others changed since the last apply.

    Compares the cluster with what this project last applied; reads no manifests and asks no
    policies, for nobody asks for a change here.

    Example: kgitops drift examples/quickstart --detailed-exitcode
    """
    import sys

    from kgitops.cli.console.streams import print_result, wants_colour
    from kgitops.cli.running.plan import exit_code, show_plan
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.report.text.drift import render_drift
    from kgitops.workflow.drift import plan_drift
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(paths, cluster, principal=as_))
    with stages(no_color=no_color) as stage, workspace.connected() as current:
        sealed = plan_drift(current, workspace, stage)
    if format_ is Format.TEXT:
        colour = wants_colour(sys.stdout, no_color=no_color)
        print_result(render_drift(sealed, full=full, colour=colour))
    else:
        show_plan(sealed, format_, full=full, no_color=no_color)
    return exit_code(sealed.plan.verdict, detailed=detailed_exitcode)
