"""The course of ``kgitops serve``: open the cluster, listen, say so, and end on a signal."""

import asyncio
import os
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cli.running.listening import (
    check_ready_file,
    end_on_signals,
    remove_ready_file,
    say_ready,
)
from kgitops.cli.running.signals import InterruptedRunError
from kgitops.cli.running.streams import check_place, print_notice
from kgitops.serve.control import ControlSocket
from kgitops.serve.forwarding.options import Consistency, ForwardingOptions
from kgitops.serve.http.listener import parse_address
from kgitops.serve.metrics_listener import MetricsListener
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.workflow.commands.serving import open_served, with_brokers
from kgitops.workflow.policies import load_policies
from kgitops.workflow.project.selection import Selection, open_workspace


class ServeCommand(Struct, frozen=True, kw_only=True):
    """The words of a command line."""

    path: Path | None
    cluster: str | None
    listen: str | None
    ready_file: Path | None
    allow_anonymous: bool
    brokers: int | None
    controllers: int
    consistency: str
    lag_ms: int
    metrics: int | None
    control: Path | None


class _Doors(Struct, frozen=True):
    """Everything of a served cluster that is opened, and closed in the reverse order."""

    server: KafkaServer
    metrics: MetricsListener | None
    control: ControlSocket | None


def run_server(command: ServeCommand) -> None:
    """Serve until a signal ends it; nothing stays open then, and the ready file is gone.

    Raises:
        UsageError: an option has an impossible value, or the cluster can't be served.
        KgitopsError: the cluster can't be opened, or the listeners can't.
    """
    host, port = parse_address(command.listen) if command.listen else (None, None)
    check_ready_file(command.ready_file)
    check_place(command.control, "--control")
    # A signal that comes before there is anything to end.
    with suppress(InterruptedRunError):
        _open_and_serve(
            command,
            ServeOptions(
                host=host,
                port=port,
                allow_anonymous=command.allow_anonymous,
                forwarding=ForwardingOptions(
                    controllers=command.controllers,
                    consistency=Consistency(command.consistency),
                    lag_ms=command.lag_ms,
                    internal_topics=True,
                ),
            ),
        )


def _open_and_serve(command: ServeCommand, options: ServeOptions) -> None:
    paths = (command.path,) if command.path else ()
    workspace = open_workspace(
        Selection(paths=paths, cluster=command.cluster, environ=dict(os.environ))
    )
    chosen = with_brokers(workspace.cluster, command.brokers)
    policies = load_policies(workspace)
    for warning in policies.warnings:
        print_notice(str(warning))
    with open_served(chosen, policies) as cluster:
        server = KafkaServer(cluster, replace(options, folder=chosen.base))
        doors = _Doors(
            server,
            None if command.metrics is None else MetricsListener(server, command.metrics),
            None if command.control is None else ControlSocket(server, command.control),
        )
        # From here on the store is this process's: so is a file that another one left behind.
        remove_ready_file(command.ready_file)
        try:
            asyncio.run(_serve(doors, command.ready_file))
        finally:
            remove_ready_file(command.ready_file)


async def _serve(doors: _Doors, ready_file: Path | None) -> None:
    ended = end_on_signals()
    async with AsyncExitStack() as opened:
        for door in (doors.server, doors.metrics, doors.control):
            if door is not None:
                await door.start()
                opened.push_async_callback(door.stop)
        say_ready(doors.server.url, ready_file)
        await ended.wait()
