"""The course of ``kgitops serve``: open the cluster, listen, say so, and end on a signal."""

import asyncio
import ipaddress
import os
import re
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from kgitops.cli.running.signals import InterruptedRunError, handled_signals
from kgitops.cli.running.streams import (
    check_place,
    is_special,
    print_notice,
    print_result,
    write_file,
)
from kgitops.model.errors import UsageError
from kgitops.serve.server import KafkaServer, ServeOptions
from kgitops.workflow.commands.serving import open_served, with_brokers
from kgitops.workflow.policies import load_policies
from kgitops.workflow.project.selection import Selection, open_workspace

_HIGHEST_PORT = 65535
_READY_FILE = "--ready-file"


class ServeCommand(Struct, frozen=True, kw_only=True):
    """The words of a command line."""

    path: Path | None
    cluster: str | None
    listen: str
    brokers: int | None
    ready_file: Path | None
    allow_anonymous: bool


def run_server(command: ServeCommand) -> None:
    """Serve until a signal ends it; nothing stays open then, and the ready file is gone.

    Raises:
        UsageError: an option has an impossible value, or the cluster can't be served.
        KgitopsError: the cluster can't be opened, or the listeners can't.
    """
    host, port = parse_address(command.listen)
    if not (is_loopback(host) or command.allow_anonymous):
        raise UsageError(
            f"--listen {command.listen} lets other machines in, and nobody has to log in; have the "
            "cluster's configs ask for a login, or add --allow-anonymous"
        )
    check_place(command.ready_file, _READY_FILE)
    # A signal that comes before there is anything to end.
    with suppress(InterruptedRunError):
        _open_and_serve(command, ServeOptions(host=host, port=port))


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
        # From here on the store is this process's: so is a file that another one left behind.
        _remove(command.ready_file)
        try:
            asyncio.run(_serve(KafkaServer(cluster, options), command.ready_file))
        finally:
            _remove(command.ready_file)


async def _serve(server: KafkaServer, ready_file: Path | None) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = handled_signals()

    def end() -> None:
        ended.set()
        for number in signals:
            loop.remove_signal_handler(number)  # a second one ends the process

    for number in signals:
        loop.add_signal_handler(number, end)
    await server.start()
    try:
        line = f"ready {server.url}"
        if ready_file:
            write_file(ready_file, [f"{line}\n"], _READY_FILE)
        print_result(line)
        await ended.wait()
    finally:
        await server.stop()


def parse_address(text: str) -> tuple[str, int]:
    """The host and the port of ``--listen``.

    Raises:
        UsageError: it is not an address.
    """
    found = re.fullmatch(
        r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/,\[\]]+)):(?P<port>\d{1,5})", text
    )
    if found is None or int(found["port"]) > _HIGHEST_PORT:
        raise UsageError(
            f"--listen {text!r} is not an address; write HOST:PORT, as in 127.0.0.1:9092 "
            "(port 0 takes free ports)"
        )
    return found["ipv6"] or found["host"], int(found["port"])


def is_loopback(host: str) -> bool:
    """True if only this machine reaches the address; names other than localhost may mean any."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _remove(ready_file: Path | None) -> None:
    if ready_file is not None and not is_special(ready_file):
        with suppress(OSError):
            ready_file.unlink(missing_ok=True)
