"""``kgitops fleet compile``: manifests as rows, for runs that plan the same commit again."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.fleet.options import Conf, Master, Remote
from kgitops.cli.running.options import NoColor


def compile_(
    projects: Annotated[
        list[Path], typer.Argument(metavar="PROJECT…", help="Folders that hold a kgitops.yaml.")
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Where the rows go, as Parquet."),
    ],
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    no_color: NoColor = False,
) -> None:
    """Make rows of what projects declare for each of their clusters.

    fleet plan --desired DIR then reads these instead of YAML.

    Example: kgitops fleet compile payments logistics -o desired
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.fleet.options import read_conf
    from kgitops.cli.fleet.task_bar import task_bar
    from kgitops.fleet.compiling import FleetCompile, compile_fleet

    asked = FleetCompile(
        projects=tuple(projects),
        out=out,
        master=master,
        remote=remote,
        conf=read_conf(conf or []),
        environ=os.environ,
    )
    with task_bar("compiled", no_color=no_color) as on_progress:
        count = compile_fleet(asked, on_progress)
    print_result(f"{count} of {count} compiled into {out}.\n")
