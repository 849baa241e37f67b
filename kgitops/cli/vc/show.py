"""``kgitops vc``'s commands that show something and change nothing."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import ClusterOptions
from kgitops.cli.running.parameters import SingleValues, with_groups
from kgitops.model.errors import UsageError

quota = typer.Typer(help="Say which quota a caller has.", rich_markup_mode=None)


@with_groups
def list_virtual_clusters(options: ClusterOptions) -> None:
    """List the virtual clusters, one name a line.

    Example: kgitops vc list
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_notice, print_sentence

    names = sorted(read_cluster(options).virtual_clusters)
    if names:
        print_sentence("\n".join(names))
    else:
        print_notice("There are no virtual clusters.")


class VcFormat(StrEnum):
    """The forms of a list of virtual clusters."""

    TEXT = "text"
    JSON = "json"


@with_groups
def describe(
    virtual_cluster: Annotated[
        list[str] | None,
        typer.Option("--virtual-cluster", metavar="NAME", help="This one. May be repeated."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    format_: Annotated[
        VcFormat, typer.Option("--format", help="How to show them.")
    ] = VcFormat.TEXT,
    *,
    options: ClusterOptions,
) -> None:
    """Show the links, users, client ids, groups and transactional ids.

    Example: kgitops vc describe --all
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_result
    from kgitops.report.text.listings import render_virtual_clusters, virtual_clusters_to_json
    from kgitops.workflow.commands.virtual_clusters import selected

    if bool(virtual_cluster) == all_:
        raise UsageError("give --virtual-cluster, or --all for all of them")
    virtual_clusters = selected(virtual_cluster or (), read_cluster(options), all_=all_)
    if format_ is VcFormat.JSON:
        print_result(virtual_clusters_to_json(virtual_clusters))
    else:
        print_result(render_virtual_clusters(virtual_clusters))


@with_groups
def orphans(options: ClusterOptions) -> None:
    """List the topics made in virtual clusters that no link leads to any more.

    Example: kgitops vc orphans
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_notice, print_sentence
    from kgitops.lowering.topics import orphaned_topics

    topics = orphaned_topics(read_cluster(options))
    if not topics:
        print_notice("There are no orphans: every topic made in a virtual cluster has a link.")
        return
    print_sentence("\n".join(topics))
    print_notice(
        "They keep their records until an administrator deletes them; kgitops vc alter --add "
        "--topic TOPIC links one again."
    )


class SheetFormat(StrEnum):
    """The forms of binding sheets."""

    YAML = "yaml"
    JSON = "json"


@with_groups
def bindings(
    user: Annotated[
        str | None, typer.Option("--user", metavar="PRINCIPAL", help="Only this user's.")
    ] = None,
    format_: Annotated[SheetFormat, typer.Option("--format", help="How to write them.")] = (
        SheetFormat.YAML
    ),
    *,
    options: ClusterOptions,
) -> None:
    """Write what each member must call its topics, groups and transactional ids.

    Clients need it where brokers do not support virtual clusters.

    Example: kgitops vc bindings
    """
    import json

    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_notice, print_result
    from kgitops.lowering.binding_sheets import binding_sheets, to_json, to_yaml
    from kgitops.model.resources.names import is_principal
    from kgitops.model.resources.virtual_clusters import as_principal

    principal = as_principal(user) if user else None
    if principal and not is_principal(principal):
        raise UsageError(f"--user {user!r} is not a principal; write Type:name, as in User:jane")
    state = read_cluster(options)
    sheets = [sheet for sheet in binding_sheets(state) if principal in (None, sheet.principal)]
    if sheets and state.lowered is None:
        print_notice(
            "The brokers of this cluster know virtual clusters: clients use the names on the left, "
            "and need no binding sheet."
        )
    if not sheets:
        print_notice(
            f"{principal} is in no virtual cluster."
            if principal
            else "No user is in a virtual cluster."
        )
    elif format_ is SheetFormat.JSON:
        print_result(json.dumps(to_json(sheets), indent=2))
    else:
        print_result(to_yaml(sheets))


class GraphFormat(StrEnum):
    """The forms of a graph."""

    MERMAID = "mermaid"
    SVG = "svg"
    HTML = "html"


@with_groups
def graph(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Where to write it. Default: stdout."),
    ] = None,
    format_: Annotated[GraphFormat, typer.Option("--format", help="How to draw it.")] = (
        GraphFormat.MERMAID
    ),
    *,
    options: ClusterOptions,
) -> None:
    """Draw the virtual clusters, their members, and the topics that they share.

    Example: kgitops vc graph --format svg -o clusters.svg
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import check_place, print_notice, print_result, write_file
    from kgitops.report.virtual_clusters.graph import graph_of_clusters
    from kgitops.report.virtual_clusters.mermaid import render_mermaid
    from kgitops.report.virtual_clusters.svg import render_page, render_svg

    check_place(out)
    virtual_clusters = read_cluster(options).virtual_clusters
    if not virtual_clusters:
        print_notice("There are no virtual clusters: the picture is empty.")
    picture = graph_of_clusters(virtual_clusters)
    match format_:
        case GraphFormat.MERMAID:
            text = render_mermaid(picture)
        case GraphFormat.SVG:
            text = render_svg(picture)
        case GraphFormat.HTML:
            text = render_page(picture)
    if out:
        write_file(out, [text])
    else:
        print_result(text)


@quota.callback()
def _group() -> None:
    """Say which quota a caller has."""


@quota.command(cls=SingleValues, short_help="Show which quota counts, and why.")
@with_groups
def explain(
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Of this user.")
    ] = None,
    client_id: Annotated[
        str | None, typer.Option("--client-id", metavar="ID", help="With this client id.")
    ] = None,
    virtual_cluster: Annotated[
        str | None,
        typer.Option(
            "--virtual-cluster",
            metavar="NAME",
            help="As if bound there. Default: where the user is, else the client id.",
        ),
    ] = None,
    *,
    options: ClusterOptions,
) -> None:
    """Show the 16 places where a quota is looked up, in their order, and the caps.

    Example: kgitops vc quota explain --user sales-app --client-id etl
    """
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.running.streams import print_result
    from kgitops.model.resources.names import is_principal
    from kgitops.model.resources.virtual_clusters import as_principal
    from kgitops.report.text.listings import render_quotas
    from kgitops.workflow.commands.virtual_clusters import caller_scope

    if user is None and client_id is None:
        raise UsageError("say whose quota: give --user, --client-id, or both")
    principal = as_principal(user) if user else None
    if principal and (not is_principal(principal) or principal == "User:*"):
        raise UsageError(f"--user {user!r} is not a user; name one, as in jane or User:jane")
    state = read_cluster(options)
    scope = caller_scope(state, user=user, client_id=client_id, virtual_cluster=virtual_cluster)
    print_result(render_quotas(state.quotas, virtual_cluster=scope, user=user, client_id=client_id))
