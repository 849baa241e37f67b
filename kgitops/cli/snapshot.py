"""``kgitops snapshot``: the cluster's state as a file."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import ClusterName, NoColor, Paths


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
    no_color: NoColor = False,
) -> None:
    """Write the cluster's state to a file.

    It can be planned against offline with plan --snapshot, and by fleet plan, which is fastest with
    a FILE.parquet.

    Example: kgitops snapshot examples/quickstart -o state.json
    """
    from kgitops.cli.console.files import check_place, write_file
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.running.parquet import check_parquet
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.cluster.snapshot import write_snapshot
    from kgitops.workflow.project.selection import open_workspace

    check_place(out)
    parquet = out is not None and out.suffix == ".parquet"
    if parquet:
        check_parquet()
    workspace = open_workspace(make_selection(paths, cluster))
    with stages(no_color=no_color) as stage, workspace.connected() as current:
        stage("reading the cluster")
        state = current.read_state()
        state = state.with_usage(current.read_usage(frozenset(state.topics)))
    if out is None:
        print_result(write_snapshot(state))
    elif parquet:
        from kgitops.fleet.tables.state_rows import write_state

        write_state(state, out)
    else:
        write_file(out, write_snapshot(state))
