"""``kgitops fleet``: many clusters at once."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.fleet.options import SparkOptions
from kgitops.cli.fleet.summary import summary
from kgitops.cli.running.options import (
    AllowEmptyFolders,
    DetailedExitcode,
    Format,
    Full,
    ListFormat,
    ListFormatOption,
    NoColor,
)
from kgitops.cli.running.parameters import many_values, with_groups

Desired = Annotated[
    list[Path],
    typer.Option(metavar="PATH…", help="Projects, manifests, or what fleet compile made of them."),
]
States = Annotated[
    list[Path],
    typer.Option(metavar="PATH…", help="Snapshots of clusters: files, or folders of them."),
]
Policies = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PATH…", help="Policy and Waiver documents in addition to the projects' own."
    ),
]


@with_groups
def snapshot(
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Where states go, a partition a cluster."),
    ],
    projects: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PROJECT…]", help="Folders that hold a kgitops.yaml. Default: this one."
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "-c",
            "--cluster",
            metavar="NAME",
            help="Only this cluster; may be given again. Default: all.",
        ),
    ] = None,
    *,
    users: Annotated[
        bool,
        typer.Option(
            "--users",
            help="With the users who log in by SCRAM, also of clusters where no project manages "
            "any yet: mechanisms, never a password.",
        ),
    ] = False,
    spark: SparkOptions,
    no_color: NoColor = False,
) -> int:
    """Read many clusters at once.

    One that can't be read is reported, and its partition says so when it is planned with.

    Example: kgitops fleet snapshot payments logistics --out states
    """
    from kgitops.cli.fleet.options import task_bar
    from kgitops.cli.running.streams import print_notice, print_result
    from kgitops.fleet.snapshotting import FleetSnapshotOptions, snapshot_fleet
    from kgitops.model.verdict import ExitCode
    from kgitops.model.wording import counted

    request = FleetSnapshotOptions(
        projects=tuple(projects or [Path()]),
        out=out,
        clusters=tuple(cluster or ()),
        users=users,
        master=spark.master,
        remote=spark.remote,
        conf=spark.settings(),
        environ=os.environ,
    )
    with task_bar("read", no_color=no_color) as on_progress:
        partitions = snapshot_fleet(request, on_progress)
    reasons = [partition.reason for partition in partitions if partition.reason is not None]
    topics = sum(partition.topics for partition in partitions)
    read = f"{len(partitions) - len(reasons):,} of {counted(len(partitions), 'cluster')}"
    print_result(f"{read} read into {out}: {counted(topics, 'topic')}.\n")
    for partition in partitions:
        if partition.reason is not None:
            print_notice(f"{partition.cluster}: {partition.reason.sentence}")
    refused = {reason.exit for reason in reasons} == {ExitCode.REFUSED}
    unread = ExitCode.REFUSED if refused else ExitCode.UNREACHABLE
    return int(unread if reasons else ExitCode.SUCCESS)


@with_groups
def compile_(
    projects: Annotated[
        list[Path], typer.Argument(metavar="PROJECT…", help="Folders that hold a kgitops.yaml.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Where the rows go, as Parquet.")
    ],
    *,
    spark: SparkOptions,
    no_color: NoColor = False,
) -> None:
    """Make rows of what projects declare for each of their clusters.

    fleet plan --desired DIR then reads these instead of YAML.

    Example: kgitops fleet compile payments logistics -o desired
    """
    from kgitops.cli.fleet.options import task_bar
    from kgitops.cli.running.streams import print_result
    from kgitops.fleet.compiling import FleetCompileOptions, compile_fleet

    request = FleetCompileOptions(
        projects=tuple(projects),
        out=out,
        master=spark.master,
        remote=spark.remote,
        conf=spark.settings(),
        environ=os.environ,
    )
    with task_bar("compiled", no_color=no_color) as on_progress:
        count = compile_fleet(request, on_progress)
    print_result(f"{count} of {count} compiled into {out}.\n")


@with_groups
def plan(
    desired: Desired,
    state: States,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Where the result goes; it replaces the one before."
        ),
    ],
    policies: Policies = None,
    *,
    allow_empty_folder: AllowEmptyFolders = None,
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
    from kgitops.cli.fleet.options import task_bar
    from kgitops.cli.fleet.summary import check_format, render_fleet
    from kgitops.cli.running.plan_output import exit_code
    from kgitops.cli.running.streams import print_result
    from kgitops.fleet.pipeline import FleetPlanOptions, plan_fleet
    from kgitops.fleet.summary import History, verdict
    from kgitops.workflow.project.selection import folder_names

    check_format(format_)
    request = FleetPlanOptions(
        desired=tuple(desired),
        state=tuple(state),
        out=out,
        policies=tuple(policies or ()),
        allow_empty_folders=folder_names(allow_empty_folder or ()),
        master=spark.master,
        remote=spark.remote,
        conf=spark.settings(),
        environ=os.environ,
    )
    with task_bar("planned", no_color=no_color) as on_progress:
        run = plan_fleet(request, on_progress)
    print_result(render_fleet(History(runs=(run,)), format_, full=full, no_color=no_color))
    return exit_code(verdict(run), detailed=detailed_exitcode)


@with_groups
def audit(
    desired: Desired,
    state: States,
    policies: Policies = None,
    *,
    spark: SparkOptions,
    format_: ListFormatOption = ListFormat.TEXT,
    no_color: NoColor = False,
) -> int:
    """Show what many clusters hold, declared or not, that breaks a policy.

    Each project's policies judge the clusters that it is for, as kgitops policy audit does. Exit 3
    if a policy would deny an object.

    Example: kgitops fleet audit --desired payments --state states
    """
    import sys

    from kgitops.cli.fleet.options import task_bar
    from kgitops.cli.running.streams import print_notice, print_result, wants_colour
    from kgitops.fleet.auditing import FleetAuditOptions, audit_fleet
    from kgitops.model.verdict import ExitCode
    from kgitops.report.json.policies import fleet_audit_to_json
    from kgitops.report.text.policy_audit import render_fleet_audit

    request = FleetAuditOptions(
        desired=tuple(desired),
        state=tuple(state),
        policies=tuple(policies or ()),
        master=spark.master,
        remote=spark.remote,
        conf=spark.settings(),
        environ=os.environ,
    )
    with task_bar("audited", no_color=no_color) as on_progress:
        found = audit_fleet(request, on_progress)
    if format_ is ListFormat.JSON:
        print_result(fleet_audit_to_json(found))
    else:
        colour = wants_colour(sys.stdout, no_color=no_color)
        print_result(render_fleet_audit(found, colour=colour))
        for finding in found.findings:
            print_notice(str(finding))
    if not found.complete:
        return int(ExitCode.ERROR)
    return int(ExitCode.DENIED if found.denied else ExitCode.SUCCESS)


fleet = typer.Typer(
    help="Plan many clusters at once, and show what came of it.",
    add_completion=False,
    rich_markup_mode=None,
)

fleet.command("snapshot", short_help="Read the clusters of projects into Parquet.")(snapshot)
fleet.command("compile", short_help="Make rows of what projects declare.")(compile_)
fleet.command(
    "plan",
    short_help="Plan every project on every cluster.",
    cls=many_values("--desired", "--state", "--policies"),
)(plan)
fleet.command(
    "audit",
    short_help="Show what breaks a policy on every cluster.",
    cls=many_values("--desired", "--state", "--policies"),
)(audit)
fleet.command("summary", short_help="Show what the runs of a fleet came to.")(summary)
