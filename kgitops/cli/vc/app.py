"""``kgitops vc``: the virtual-clusters.sh of KIP-1134, and more about virtual clusters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.options import ChangeOptions, ClusterOptions, VirtualClusterName
from kgitops.cli.running.parameters import SingleValues, with_groups
from kgitops.cli.vc.alter import alter
from kgitops.cli.vc.export import export
from kgitops.cli.vc.show import bindings, describe, graph, list_virtual_clusters, orphans, quota

if TYPE_CHECKING:
    from kgitops.kinds.exports import Document

Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="DIR", help="A new or empty folder. Default: stdout."),
]

vc = typer.Typer(
    help="Make, change, show and delete virtual clusters (KIP-1134).",
    add_completion=False,
    rich_markup_mode=None,
)


@with_groups
def create(
    virtual_cluster: VirtualClusterName,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing where it is there already.")
    ] = False,
    *,
    options: ChangeOptions,
) -> int:
    """Create a virtual cluster, with nothing in it.

    Example: kgitops vc create --virtual-cluster emea.sales
    """
    from kgitops.cli.running.imperative import run_change
    from kgitops.workflow.commands.virtual_clusters import to_create

    return run_change(
        options,
        lambda state: to_create(virtual_cluster, state, if_not_exists=if_not_exists),
        f"The virtual cluster {virtual_cluster} is there already.",
    )


@with_groups
def delete(virtual_cluster: VirtualClusterName, options: ChangeOptions) -> int:
    """Delete a virtual cluster that has nothing in it any more.

    Example: kgitops vc delete --virtual-cluster emea.sales
    """
    from kgitops.cli.running.imperative import run_change
    from kgitops.workflow.commands.virtual_clusters import to_delete

    return run_change(
        options,
        lambda state: to_delete(virtual_cluster, state),
        f"The virtual cluster {virtual_cluster} is gone already.",
    )


@with_groups
def export_acls(
    virtual_cluster: VirtualClusterName,
    all_: Annotated[
        bool, typer.Option("--all", help="All ACLs of it, not only those that were copied.")
    ] = False,
    out: Out = None,
    *,
    options: ClusterOptions,
) -> None:
    """Write the ACLs that were copied into a virtual cluster as manifests.

    Once they are among your manifests, remove copyAclsFrom: Git is the truth then.

    Example: kgitops vc export-acls --virtual-cluster emea.sales
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_notice
    from kgitops.workflow.export.export import copied_acl_documents
    from kgitops.workflow.export.files import check_folder

    if out:
        check_folder(out)
    state = read_cluster(options, scoped_acls=True)
    documents = copied_acl_documents(state, virtual_cluster, all_=all_)
    if documents:
        _write_or_print({"acls.yaml": documents}, out)
    elif all_:
        print_notice(f"The virtual cluster {virtual_cluster} has no ACLs.")
    else:
        print_notice(
            f"No project copied ACLs into the virtual cluster {virtual_cluster}; --all writes "
            "every ACL that it has."
        )


@with_groups
def plan_migration(
    prefix: Annotated[
        list[str],
        typer.Option("--prefix", metavar="PREFIX", help="Of the topics. May be repeated."),
    ],
    virtual_cluster: Annotated[
        str | None,
        typer.Option(
            "--virtual-cluster", metavar="NAME", help="What it is called. Default: the prefix."
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", metavar="GROUP", help="A group that it takes over. May be repeated."
        ),
    ] = None,
    out: Out = None,
    *,
    options: ClusterOptions,
) -> None:
    """Write the manifests that take the topics of a prefix into a virtual cluster.

    Each topic gets two links, its full name and its short one;
    the documentation on migrating to virtual clusters says what comes after.

    Example: kgitops vc plan-migration --prefix emea.sales.
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_notice
    from kgitops.workflow.export.migration import migration_files

    files = migration_files(
        read_cluster(options), prefix, virtual_cluster=virtual_cluster, groups=group or ()
    )
    _write_or_print(files, out)
    print_notice(
        "Apply these first. Then declare the users, with copyAclsFrom: kafka-cluster; once their "
        "clients use the short names, remove the links with the long ones."
    )


def _write_or_print(files: "Mapping[str, Sequence[Document]]", out: Path | None) -> None:
    from kgitops.cli.running.streams import print_result, print_sentence
    from kgitops.workflow.export.files import check_folder, to_yaml, write_texts

    if out is None:
        print_result("".join(to_yaml(documents) for documents in files.values()))
        return
    check_folder(out)
    write_texts({name: to_yaml(documents) for name, documents in files.items()}, out)
    print_sentence(f"Wrote {', '.join(str(out / name) for name in files)}.")


for _name, _command, _help in (
    ("create", create, "Create one, with nothing in it."),
    ("alter", alter, "Add one member or link, or remove one."),
    ("list", list_virtual_clusters, "List their names."),
    ("describe", describe, "Show what is in them."),
    ("delete", delete, "Delete one that has nothing in it."),
    ("bindings", bindings, "Write what clients must call things."),
    ("graph", graph, "Draw them and what they share."),
    ("orphans", orphans, "List their topics that lost every link."),
    ("plan-migration", plan_migration, "Write manifests that replace a prefix."),
    ("export-acls", export_acls, "Write copied ACLs as manifests."),
    ("export", export, "Write the names for a gateway."),
):
    vc.command(_name, cls=SingleValues, short_help=_help)(_command)
vc.add_typer(quota, name="quota")
