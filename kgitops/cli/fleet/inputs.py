"""``kgitops fleet snapshot`` and ``compile``: states and manifests as Parquet, for fleet plan."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.fleet.options import SparkOptions
from kgitops.cli.running.options import NoColor
from kgitops.cli.running.parameters import with_groups


@with_groups
def snapshot(
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Where states go, a partition a cluster."),
    ],
    projects: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PROJECT…]",
            help="Folders that hold a kgitops.yaml. Default: this one.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "-c",
            "--cluster",
            metavar="NAME",
            help="Only this cluster; may be given again. Default: all.",
            show_default=False,
        ),
    ] = None,
    *,
    spark: SparkOptions,
    no_color: NoColor = False,
) -> int:
    """Read many clusters at once.

    One that can't be read is reported, and its partition says so when it is planned with.

    Example: kgitops fleet snapshot payments logistics --out states
    """
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.fleet.options import task_bar
    from kgitops.fleet.snapshotting import FleetSnapshotOptions, snapshot_fleet
    from kgitops.model.verdict import ExitCode
    from kgitops.model.wording import counted

    request = FleetSnapshotOptions(
        projects=tuple(projects or [Path()]),
        out=out,
        clusters=tuple(cluster or ()),
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
    return int(ExitCode.UNREACHABLE if reasons else ExitCode.SUCCESS)


@with_groups
def compile_(
    projects: Annotated[
        list[Path], typer.Argument(metavar="PROJECT…", help="Folders that hold a kgitops.yaml.")
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Where the rows go, as Parquet."),
    ],
    *,
    spark: SparkOptions,
    no_color: NoColor = False,
) -> None:
    """Make rows of what projects declare for each of their clusters.

    fleet plan --desired DIR then reads these instead of YAML.

    Example: kgitops fleet compile payments logistics -o desired
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.fleet.options import task_bar
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
