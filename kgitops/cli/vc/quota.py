"""``kgitops vc quota``: which quota a caller has, and why."""

from typing import Annotated

import typer

from kgitops.cli.running.imperative import BootstrapServer, CommandConfig, OnceEach, Reach
from kgitops.cli.running.options import ClusterName
from kgitops.model.errors import UsageError

quota = typer.Typer(help="Say which quota a caller has.", rich_markup_mode=None)


@quota.callback()
def _group() -> None:
    """Say which quota a caller has."""


@quota.command(cls=OnceEach, short_help="Show which quota counts, and why.")
def explain(
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="USER", help="Of this user.", show_default=False),
    ] = None,
    client_id: Annotated[
        str | None,
        typer.Option("--client-id", metavar="ID", help="With this client id.", show_default=False),
    ] = None,
    virtual_cluster: Annotated[
        str | None,
        typer.Option(
            "--virtual-cluster",
            metavar="NAME",
            help="As if bound there. Default: where the user is, else the client id.",
            show_default=False,
        ),
    ] = None,
    cluster: ClusterName = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Show the 16 places where a quota is looked up, in their order, and the caps.

    Example: kgitops vc quota explain --user sales-app --client-id etl
    """
    from kgitops.cli.console.streams import print_result
    from kgitops.cli.running.imperative import read_cluster
    from kgitops.cli.vc.quota_text import render_quotas
    from kgitops.model.resources.names import is_principal
    from kgitops.model.resources.virtual_clusters import as_principal
    from kgitops.virtual_clusters.image import build_image
    from kgitops.virtual_clusters.resolving import bind
    from kgitops.workflow.commands.member_options import known

    if user is None and client_id is None:
        raise UsageError("say whose quota: give --user, --client-id, or both")
    principal = as_principal(user) if user else "User:ANONYMOUS"
    if not is_principal(principal) or principal == "User:*":
        raise UsageError(f"--user {user!r} is no user; name one, as in jane or User:jane")
    reach = Reach(cluster=cluster, bootstrap_server=bootstrap_server, command_config=command_config)
    state = read_cluster(reach)
    if virtual_cluster is not None:
        where: str | None = known(virtual_cluster, state).name
    else:
        image = build_image(state.virtual_clusters.values())
        bound = bind(image, principal, client_id)
        where = bound.virtual_cluster.name if bound else None
    print_result(render_quotas(state.quotas, virtual_cluster=where, user=user, client_id=client_id))
