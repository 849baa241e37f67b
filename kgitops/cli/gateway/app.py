"""``kgitops gateway``: virtual clusters for ordinary clients of today's Kafka."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.gateway.options import EntranceOptions, LimitOptions, WatchOptions
from kgitops.cli.running.options import ClusterName
from kgitops.cli.running.parameters import with_groups


@with_groups
def gateway(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            help="The project that names the cluster. Default: KGITOPS_PROJECT, or here.",
        ),
    ] = None,
    cluster: ClusterName = None,
    *,
    entrance: EntranceOptions,
    limits: LimitOptions,
    watch: WatchOptions,
) -> int:
    """Stand between ordinary Kafka clients and a Kafka, and translate names.

    A client that logs in as a member of a virtual cluster sees its topics, groups and transactional
    ids by their local names, and nothing else; others pass through unchanged. Brokers authenticate,
    authorize and throttle as before. The names come from the registry and follow it. Ends on
    Ctrl-C and on SIGTERM, once requests under way are answered.

    Example: kgitops gateway -c kafka://127.0.0.1:9092 --listen 127.0.0.1:19092
    """
    from kgitops.cli.gateway.flow import GatewayCommand, run_gateway

    return run_gateway(
        GatewayCommand(path=path, cluster=cluster, entrance=entrance, limits=limits, watch=watch)
    )
