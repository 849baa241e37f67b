"""``kgitops fleet snapshot``: the states of many clusters, as Parquet."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.fleet.options import Conf, Master, Remote
from kgitops.cli.running.options import NoColor


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
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    no_color: NoColor = False,
) -> int:
    """Read many clusters at once.

    One that can't be read is told, and its partition says so to whoever plans with it.

    Example: kgitops fleet snapshot payments logistics --out states
    """
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.fleet.options import read_conf
    from kgitops.cli.fleet.task_bar import task_bar
    from kgitops.fleet.snapshotting import FleetSnapshot, snapshot_fleet
    from kgitops.model.verdict import ExitCode
    from kgitops.model.wording import counted

    asked = FleetSnapshot(
        projects=tuple(projects or [Path()]),
        out=out,
        clusters=tuple(cluster or ()),
        master=master,
        remote=remote,
        conf=read_conf(conf or []),
        environ=os.environ,
    )
    with task_bar("read", no_color=no_color) as on_progress:
        found = snapshot_fleet(asked, on_progress)
    reasons = [one.reason for one in found if one.reason is not None]
    topics = sum(one.topics for one in found)
    read = f"{len(found) - len(reasons):,} of {counted(len(found), 'cluster')}"
    print_result(f"{read} read into {out}: {counted(topics, 'topic')}.\n")
    for one in found:
        if one.reason is not None:
            print_notice(f"{one.cluster}: {one.reason.sentence}")
    return int(ExitCode.UNREACHABLE if reasons else ExitCode.SUCCESS)
