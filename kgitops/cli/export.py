"""``kgitops export``: a cluster as manifests."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.options import ClusterName, NoColor, Paths


def export(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new or empty folder.")],
    paths: Paths = None,
    cluster: ClusterName = None,
    no_color: NoColor = False,
) -> None:
    """Write a cluster as manifests.

    Planned against the same cluster they ask for no request at all.

    Example: kgitops export examples/quickstart -o exported
    """
    from kgitops.cli.console import print_notice, print_result
    from kgitops.cli.progress import stages
    from kgitops.cli.selecting import make_selection
    from kgitops.workflow.export import export_manifests
    from kgitops.workflow.manifest_files import check_folder, write_manifests
    from kgitops.workflow.selection import open_workspace

    check_folder(out)
    workspace = open_workspace(make_selection(paths, cluster))
    with stages(no_color=no_color) as stage:
        stage("reading the cluster")
        with workspace.connected() as current:
            exported = export_manifests(current.read_state(), workspace.project)
        stage("writing the manifests")
        write_manifests(exported.files, out)
    for sentence in exported.left_out:
        print_notice(sentence)
    count = sum(map(len, exported.files.values()))
    print_result(f"Wrote {count} documents in {len(exported.files)} files to {out}.")
