"""``kgitops export``: a cluster as manifests."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.options import ClusterName, Paths


def export(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new or empty folder.")],
    paths: Paths = None,
    cluster: ClusterName = None,
) -> None:
    """Write what a cluster holds as manifests that plan to no request at all.

    Example: kgitops export --cluster prod -o manifests
    """
    from kgitops.cli.console import print_result
    from kgitops.cli.selecting import make_selection
    from kgitops.workflow.export import export_manifests, write_manifests
    from kgitops.workflow.selection import open_workspace

    far_side = open_workspace(make_selection(paths, cluster)).connect()
    try:
        state = far_side.read_state()
    finally:
        far_side.close()
    files = export_manifests(state)
    write_manifests(files, out)
    count = sum(len(documents) for documents in files.values())
    print_result(f"Wrote {count} documents in {len(files)} files to {out}.")
