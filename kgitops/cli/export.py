"""``kgitops export`` and ``kgitops snapshot``: a cluster as manifests, and its state as a file."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import NoColor, ProjectOptions
from kgitops.cli.running.parameters import with_groups


@with_groups
def export(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new or empty folder.")],
    compact: Annotated[
        bool, typer.Option("--compact", help="Write lists: all topics of a file as one TopicList.")
    ] = False,
    *,
    project: ProjectOptions,
    no_color: NoColor = False,
) -> int:
    """Write a cluster as manifests.

    Planned against the same cluster they ask for no request at all. Exit 1 if an object can't be
    exported, or if the plan would change or remove anything.

    Example: kgitops export examples/quickstart -o exported
    """
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_notice, print_sentence
    from kgitops.model.wording import counted
    from kgitops.workflow.export.export import export_manifests, read_reported_types, write_and_plan
    from kgitops.workflow.export.files import check_folder
    from kgitops.workflow.project.selection import open_workspace
    from kgitops.workflow.reading import with_all_objects

    check_folder(out)
    workspace = open_workspace(make_selection(project))
    with stages(no_color=no_color) as stage:
        stage("reading the cluster")
        with workspace.connected() as cluster:
            state, unread = with_all_objects(cluster, cluster.read_state(), workspace.project)
            reported = read_reported_types(cluster, state, workspace.allow_configs)
            capabilities = cluster.capabilities
        stage("writing the manifests")
        exported = export_manifests(
            state, workspace.project, workspace.allow_configs, workspace.defaults, reported
        )
        stage("planning them against the cluster")
        done = write_and_plan(
            exported, out, workspace, state, capabilities, reported, compact=compact
        )
    for sentence in (*unread.values(), *done.export.notes):
        print_notice(sentence)
    files = done.export.files
    documents = counted(sum(map(len, files.values())), "document")
    form = " as lists" if compact else ""
    print_sentence(
        f"Wrote {documents}{form} in {counted(len(files), 'file')} to {out}.\n{done.sentence}"
    )
    return int(done.exit)


@with_groups
def snapshot(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Where to write it. Default: stdout."),
    ] = None,
    *,
    users: Annotated[
        bool,
        typer.Option(
            "--users", help="With the users who log in by SCRAM: mechanisms, never a password."
        ),
    ] = False,
    project: ProjectOptions,
    no_color: NoColor = False,
) -> None:
    """Write the cluster's state to a file.

    It can be planned against offline with plan --snapshot, and by fleet plan, which is fastest with
    a FILE.parquet.

    Example: kgitops snapshot examples/quickstart -o state.json
    """
    from kgitops.cli.running.progress import stages
    from kgitops.cli.running.selection import check_parquet, make_selection
    from kgitops.cli.running.streams import check_place, print_json, print_sentence, write_file
    from kgitops.cluster.snapshot import write_snapshot
    from kgitops.model.wording import counted
    from kgitops.workflow.project.selection import open_workspace
    from kgitops.workflow.reading import with_users_to_plan

    check_place(out)
    parquet = out is not None and out.suffix == ".parquet"
    if parquet:
        check_parquet()
    workspace = open_workspace(make_selection(project))
    with stages(no_color=no_color) as stage, workspace.connected() as cluster:
        stage("reading the cluster")
        state = cluster.read_state()
        state = with_users_to_plan(cluster, state, wanted=users)
        state = state.with_usage(cluster.read_usage(frozenset(state.topics)))
    if out is None:
        print_json(write_snapshot(state))
    elif parquet:
        from kgitops.fleet.tables.state_rows import write_state

        write_state(state, out)
    else:
        write_file(out, [write_snapshot(state)])
    if out is not None:
        held = counted(len(state.topics), "topic"), counted(len(state.acls), "ACL binding")
        print_sentence(f"Wrote {workspace.target_name} with {' and '.join(held)} to {out}.")
