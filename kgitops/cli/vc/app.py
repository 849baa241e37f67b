"""``kgitops vc``: the virtual-clusters.sh of KIP-1134, and more about virtual clusters."""

from typing import Annotated

import typer

from kgitops.cli.running.options import ChangeOptions, VirtualClusterName
from kgitops.cli.running.parameters import SingleValues, with_groups
from kgitops.cli.vc.alter import alter
from kgitops.cli.vc.manifests import export_acls, plan_migration
from kgitops.cli.vc.show import bindings, describe, graph, list_virtual_clusters, orphans, quota

vc = typer.Typer(
    help="Make, change, show and delete virtual clusters (KIP-1134).",
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
):
    vc.command(_name, cls=SingleValues, short_help=_help)(_command)
vc.add_typer(quota, name="quota")
