"""``kgitops serve``: an embedded cluster for any Kafka client."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from kgitops.cli.running.options import ClusterName
from kgitops.cli.running.parameters import with_groups
from kgitops.model.verdict import ExitCode


class SeenBy(StrEnum):
    """The nodes that have seen a change when it is answered."""

    CONTROLLER = "controller"
    CLUSTER = "cluster"


class NodeOptions(Struct, frozen=True, kw_only=True):
    """The nodes of a served cluster, and the ways to look at them and to break them."""

    brokers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=100, help="How many brokers.")
    ] = None
    controllers: Annotated[
        int, typer.Option(metavar="N", min=1, max=9, help="How many controllers; one is active.")
    ] = 1
    consistency: Annotated[
        SeenBy,
        typer.Option(help="Who has seen a change when it is answered: the controller, or all."),
    ] = SeenBy.CONTROLLER
    lag: Annotated[
        int,
        typer.Option(metavar="MS", min=0, help="How much later brokers see a change, for tests."),
    ] = 0
    metrics: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=0, max=65535, help="Metrics at 127.0.0.1:PORT/metrics."),
    ] = None
    control: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A Unix socket that takes faults, for tests."),
    ] = None


@with_groups
def serve(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            help="The project whose policies judge. Default: KGITOPS_PROJECT, or here.",
        ),
    ] = None,
    cluster: ClusterName = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where the first broker listens; the ports of the others follow, and port 0 takes "
            "free ones. Else the cluster's config listeners, or 127.0.0.1:9092.",
        ),
    ] = None,
    ready_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the line that says it is ready here, too."),
    ] = None,
    allow_anonymous: Annotated[
        bool,
        typer.Option("--allow-anonymous", help="Let other machines in although nobody logs in."),
    ] = False,
    *,
    nodes: NodeOptions,
) -> int:
    """Let any Kafka client use an embedded cluster.

    Speaks Kafka's protocol as today's brokers do, to Kafka's own tools, producers, consumers and
    other admin tools. The policies of the project judge what they ask for. It is for tests and for
    trying things out: there is one copy of the data. Ends on Ctrl-C and on SIGTERM; what was
    acknowledged is kept.

    Example: kgitops serve examples/quickstart --listen 127.0.0.1:0
    """
    from kgitops.cli.running.serving import ServeCommand, run_server

    run_server(
        ServeCommand(
            path=path,
            cluster=cluster,
            listen=listen,
            ready_file=ready_file,
            allow_anonymous=allow_anonymous,
            brokers=nodes.brokers,
            controllers=nodes.controllers,
            consistency=str(nodes.consistency),
            lag_ms=nodes.lag,
            metrics=nodes.metrics,
            control=nodes.control,
        )
    )
    return int(ExitCode.SUCCESS)
