"""``kgitops vc``'s commands that only look: orphans, copied ACLs, and a first step of a move."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgitops.cli.running.imperative import BootstrapServer, CommandConfig, Reach, VirtualClusterName
from kgitops.cli.running.options import ClusterName
from kgitops.model.errors import UsageError

if TYPE_CHECKING:
    from kgitops.workflow.export.layout import Document

Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="DIR",
        help="A new or empty folder. Default: stdout.",
        show_default=False,
    ),
]


def orphans(
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """List the topics made in virtual clusters that no link leads to any more.

    Example: kgitops vc orphans
    """
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.lowering.orphans import orphans as find_orphans

    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    found = find_orphans(read_cluster(reach))
    if not found:
        print_notice("There are no orphans: every topic made in a virtual cluster has a link.")
        return
    print_result("\n".join(found))
    print_notice(
        "They keep their records until an administrator deletes them; kgitops vc alter --add "
        "--topic TOPIC links one again."
    )


def export_acls(
    virtual_cluster: VirtualClusterName,
    all_: Annotated[
        bool, typer.Option("--all", help="All ACLs of it, not only those that were copied.")
    ] = False,
    out: Out = None,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Write the ACLs that were copied into a virtual cluster as manifests.

    Once they are among your manifests, remove copyAclsFrom: Git is the truth then.

    Example: kgitops vc export-acls --virtual-cluster emea.sales
    """
    from kgitops.cli.console.streams import print_notice
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.workflow.export.copied_acls import copied_acl_documents
    from kgitops.workflow.export.manifest_files import check_folder

    if out:
        check_folder(out)
    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    documents = copied_acl_documents(read_cluster(reach), virtual_cluster, all_=all_)
    if documents:
        _give({"acls.yaml": documents}, out)
    elif all_:
        print_notice(f"The virtual cluster {virtual_cluster} has no ACLs.")
    else:
        print_notice(
            f"No project copied ACLs into the virtual cluster {virtual_cluster}; --all writes "
            "every ACL that it has."
        )


def plan_migration(
    prefix: Annotated[
        list[str],
        typer.Option("--prefix", metavar="PREFIX", help="Of the topics. May be repeated."),
    ],
    virtual_cluster: Annotated[
        str | None,
        typer.Option(
            "--virtual-cluster",
            metavar="NAME",
            help="What it is called. Default: the prefix.",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="GROUP",
            help="A group that it takes over. May be repeated.",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Write the manifests that take the topics of a prefix into a virtual cluster.

    Each topic gets two links, its full name and its short one;
    the documentation on migrating to virtual clusters says what comes after.

    Example: kgitops vc plan-migration --prefix emea.sales.
    """
    from kgitops.cli.console.streams import print_notice
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.workflow.export.migration import migration_files

    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    files = migration_files(
        read_cluster(reach), prefix, virtual_cluster=virtual_cluster, groups=group or ()
    )
    _give(files, out)
    print_notice(
        "Apply these first. Then declare the users, with copyAclsFrom: kafka-cluster; once their "
        "clients use the short names, remove the links with the long ones."
    )


class SheetFormat(StrEnum):
    """How binding sheets are written."""

    YAML = "yaml"
    JSON = "json"


def bindings(
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="PRINCIPAL", help="Only this user's.", show_default=False),
    ] = None,
    format_: Annotated[SheetFormat, typer.Option("--format", help="How to write them.")] = (
        SheetFormat.YAML
    ),
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Write what each member must call its topics, groups and transactional ids.

    Clients need it where brokers know no virtual clusters.

    Example: kgitops vc bindings
    """
    import json

    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.lowering.binding_sheets import binding_sheets, to_json, to_yaml
    from kgitops.model.resources.names import is_principal
    from kgitops.model.resources.virtual_clusters import as_principal

    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    wanted = as_principal(user) if user else None
    if wanted and not is_principal(wanted):
        raise UsageError(f"--user {user!r} is no principal; write Type:name, as in User:jane")
    state = read_cluster(reach)
    sheets = [sheet for sheet in binding_sheets(state) if wanted in (None, sheet.principal)]
    if sheets and state.lowered is None:
        print_notice(
            "The brokers of this cluster know virtual clusters: clients use the names on the left, "
            "and need no binding sheet."
        )
    if not sheets:
        print_notice(
            f"{wanted} is in no virtual cluster." if wanted else "No user is in a virtual cluster."
        )
    elif format_ is SheetFormat.JSON:
        print_result(json.dumps(to_json(sheets), indent=2))
    else:
        print_result(to_yaml(sheets))


class GraphFormat(StrEnum):
    """How a graph is drawn."""

    MERMAID = "mermaid"
    SVG = "svg"
    HTML = "html"


def graph(
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
    format_: Annotated[GraphFormat, typer.Option("--format", help="How to draw it.")] = (
        GraphFormat.MERMAID
    ),
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Draw the virtual clusters, their members, and the topics that they share.

    Example: kgitops vc graph --format svg -o clusters.svg
    """
    from kgitops.cli.console.files import check_place, write_file
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.report.virtual_clusters.graph import graph_of_clusters
    from kgitops.report.virtual_clusters.mermaid import render_mermaid
    from kgitops.report.virtual_clusters.svg import render_page, render_svg

    check_place(out)
    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    found = read_cluster(reach).virtual_clusters
    if not found:
        print_notice("There are no virtual clusters: the picture is empty.")
    drawn = graph_of_clusters(found)
    match format_:
        case GraphFormat.MERMAID:
            text = render_mermaid(drawn)
        case GraphFormat.SVG:
            text = render_svg(drawn)
        case GraphFormat.HTML:
            text = render_page(drawn)
    if out:
        write_file(out, text)
    else:
        print_result(text)


def _give(files: "Mapping[str, Sequence[Document]]", out: Path | None) -> None:
    from kgitops.cli.console.streams import print_result
    from kgitops.workflow.export.manifest_files import check_folder, to_yaml, write_manifests

    if out is None:
        print_result("".join(to_yaml(documents) for documents in files.values()))
        return
    check_folder(out)
    write_manifests(files, out)
    print_result(f"Wrote {', '.join(str(out / name) for name in files)}.")
