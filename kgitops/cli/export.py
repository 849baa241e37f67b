"""``kgitops export``: a cluster as manifests."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import ClusterName, NoColor, Paths


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
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.report.content.units import counted
    from kgitops.workflow.export.check import write_checked
    from kgitops.workflow.export.export import export_manifests
    from kgitops.workflow.export.manifest_files import check_folder
    from kgitops.workflow.project.selection import open_workspace

    check_folder(out)
    workspace = open_workspace(make_selection(paths, cluster))
    with stages(no_color=no_color) as stage:
        stage("reading the cluster")
        with workspace.connected() as current:
            state, capabilities = current.read_state(), current.capabilities
        stage("writing the manifests")
        exported = export_manifests(state, workspace.project, workspace.allow_configs)
        stage("planning them against the cluster")
        done = write_checked(exported, out, workspace, state, capabilities)
    for sentence in done.export.notes:
        print_notice(sentence)
    files = done.export.files
    documents = counted(sum(map(len, files.values())), "document")
    print_result(f"Wrote {documents} in {counted(len(files), 'file')} to {out}.\n{done.sentence}")
