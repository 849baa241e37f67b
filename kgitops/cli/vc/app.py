"""``kgitops vc``: the virtual-clusters.sh of KIP-1134, and what else there is to ask."""

from enum import StrEnum
from typing import Annotated

import typer

from kgitops.cli.running.imperative import (
    DEFAULT_TIMEOUT_MS,
    BootstrapServer,
    CommandConfig,
    DryRun,
    Manner,
    OnceEach,
    Reach,
    Timeout,
    VirtualClusterName,
)
from kgitops.cli.running.options import ClusterName, NoColor, Principal
from kgitops.cli.vc.alter import alter
from kgitops.cli.vc.quota import quota
from kgitops.cli.vc.show import bindings, export_acls, graph, orphans, plan_migration
from kgitops.model.errors import UsageError

vc = typer.Typer(
    help="Make, change, show and delete virtual clusters (KIP-1134).",
    rich_markup_mode=None,
)


class VcFormat(StrEnum):
    """How virtual clusters are shown."""

    TEXT = "text"
    JSON = "json"


def create(
    virtual_cluster: VirtualClusterName,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing where it is there already.")
    ] = False,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    timeout: Timeout = DEFAULT_TIMEOUT_MS,
    as_: Principal = None,
    dry_run: DryRun = False,
    no_color: NoColor = False,
) -> int:
    """Create a virtual cluster, with nothing in it.

    Example: kgitops vc create --virtual-cluster emea.sales
    """
    from kgitops.cli.running.imperative import run_command
    from kgitops.workflow.commands.virtual_clusters import to_create

    return run_command(
        Reach(
            cluster=cluster,
            bootstrap_server=bootstrap_server,
            command_config=command_config,
            principal=as_,
        ),
        Manner(timeout_ms=timeout, dry_run=dry_run, no_color=no_color),
        lambda state: to_create(virtual_cluster, state, if_not_exists=if_not_exists),
        f"The virtual cluster {virtual_cluster} is there already.",
    )


def delete(
    virtual_cluster: VirtualClusterName,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    timeout: Timeout = DEFAULT_TIMEOUT_MS,
    as_: Principal = None,
    dry_run: DryRun = False,
    no_color: NoColor = False,
) -> int:
    """Delete a virtual cluster that has nothing in it any more.

    Example: kgitops vc delete --virtual-cluster emea.sales
    """
    from kgitops.cli.running.imperative import run_command
    from kgitops.workflow.commands.virtual_clusters import to_delete

    return run_command(
        Reach(
            cluster=cluster,
            bootstrap_server=bootstrap_server,
            command_config=command_config,
            principal=as_,
        ),
        Manner(timeout_ms=timeout, dry_run=dry_run, no_color=no_color),
        lambda state: to_delete(virtual_cluster, state),
        f"The virtual cluster {virtual_cluster} is gone already.",
    )


def list_virtual_clusters(
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """List the virtual clusters, one name a line.

    Example: kgitops vc list
    """
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.imperative import read_cluster

    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    names = sorted(read_cluster(reach).virtual_clusters)
    if names:
        print_result("\n".join(names))
    else:
        print_notice("There are no virtual clusters.")


def describe(
    virtual_cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--virtual-cluster",
            metavar="NAME",
            help="This one. May be repeated.",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    format_: Annotated[
        VcFormat, typer.Option("--format", help="How to show them.")
    ] = VcFormat.TEXT,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Show the links, users, client ids, groups and transactional ids.

    Example: kgitops vc describe --all
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.vc.text import render_virtual_clusters, virtual_clusters_to_json
    from kgitops.workflow.commands.virtual_clusters import selected

    if bool(virtual_cluster) == all_:
        raise UsageError("give --virtual-cluster, or --all for all of them")
    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    found = selected(virtual_cluster or (), read_cluster(reach), all_=all_)
    if format_ is VcFormat.JSON:
        print_result(virtual_clusters_to_json(found))
    else:
        print_result(render_virtual_clusters(found))


for _name, _command, _told in (
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
):
    vc.command(_name, cls=OnceEach, short_help=_told)(_command)
vc.add_typer(quota, name="quota")
