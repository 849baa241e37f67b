"""``kgitops snapshot``: the cluster's state as a file."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.options import ClusterName, Paths


def snapshot(
    paths: Paths = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Where to write it. Default: stdout.",
            show_default=False,
        ),
    ] = None,
    cluster: ClusterName = None,
) -> None:
    """Write the state of the cluster as JSON, to plan against offline.

    Example: kgitops snapshot -o prod.json
    """
    from kgitops.cli.console import print_result, write_file
    from kgitops.cli.selecting import make_selection
    from kgitops.cluster.snapshot import write_snapshot
    from kgitops.workflow.selection import open_workspace

    far_side = open_workspace(make_selection(paths, cluster)).connect()
    try:
        text = write_snapshot(far_side.read_state())
    finally:
        far_side.close()
    if out is None:
        print_result(text)
    else:
        write_file(out, text)
