"""``kgitops serve``: an embedded cluster for any Kafka client."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import ClusterName
from kgitops.model.verdict import ExitCode


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
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Where the first broker listens; the ports of the others follow. Port 0 takes "
            "free ones.",
        ),
    ] = "127.0.0.1:9092",
    brokers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=100, help="How many brokers.")
    ] = None,
    ready_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the line that says it is ready here, too."),
    ] = None,
    allow_anonymous: Annotated[
        bool,
        typer.Option("--allow-anonymous", help="Let whoever reaches HOST in without a login."),
    ] = False,
) -> int:
    """Let any Kafka client use an embedded cluster.

    Speaks Kafka's protocol: Kafka's own tools, producers, consumers, other admin tools. The
    policies of the project judge what they ask for. It is for tests and for trying things out:
    there is one copy of the data. Ends on Ctrl-C and on SIGTERM; what was acknowledged is kept.

    Example: kgitops serve examples/quickstart --listen 127.0.0.1:0
    """
    from kgitops.cli.running.serving import ServeCommand, run_server

    run_server(
        ServeCommand(
            path=path,
            cluster=cluster,
            listen=listen,
            brokers=brokers,
            ready_file=ready_file,
            allow_anonymous=allow_anonymous,
        )
    )
    return int(ExitCode.SUCCESS)
