"""The control socket: faults of nodes, one line of JSON a command, for tests of a served cluster.

    {"do": "lag", "broker": 1, "ms": 400}
    {"ok": true}

Whoever can open the socket's file can use it: nobody but its owner can.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from kgitops.model.errors import KgitopsError, UnreachableError, UsageError
from kgitops.serve.server import KafkaServer
from kgitops.serve.views import Lag

_LONGEST_LINE = 64 * 1024
Milliseconds = Annotated[int, Meta(ge=0, le=24 * 60 * 60 * 1000)]
"""A time of at most a day."""


class ControlCommand(Struct, frozen=True, forbid_unknown_fields=True):
    """One command; ``broker`` is left out for all of them, ``controller`` for none."""

    do: str
    broker: int | None = None
    controller: int | None = None
    node: int | None = None
    ms: Milliseconds = 0
    acls_ms: Milliseconds = 0
    configs_ms: Milliseconds = 0


class ControlSocket:
    """Listens on a Unix socket, and does to the nodes of a server what it is told."""

    def __init__(self, server: KafkaServer, path: Path) -> None:
        self._server = server
        self._path = path
        self._listening: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the socket.

        Raises:
            UnreachableError: it can't be opened.
        """
        before = os.umask(0o177)
        try:
            self._listening = await asyncio.start_unix_server(
                self._begin, self._path, limit=_LONGEST_LINE
            )
        except OSError as error:
            raise UnreachableError(
                f"can't open the control socket {self._path}: {error.strerror or error}; choose "
                "another file, in a folder that exists"
            ) from error
        finally:
            os.umask(before)

    async def stop(self) -> None:
        """Close the socket and its connections, and remove its file."""
        if self._listening is not None:
            self._listening.close()
            self._path.unlink(missing_ok=True)
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(msgspec.json.encode(await self._answer(line)) + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            pass  # it is gone, or sends no lines
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> Mapping[str, object]:
        try:
            command = msgspec.json.decode(line, type=ControlCommand)
            found = await perform(self._server, command)
        except (msgspec.DecodeError, KgitopsError) as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, **found}


async def perform(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    """Do what a command says; the answer's fields.

    Raises:
        KgitopsError: it is not possible.
    """
    action = _ACTIONS.get(command.do)
    if action is None:
        known = ", ".join(_ACTIONS)
        raise UsageError(f"there is no command {command.do}; the commands are {known}")
    return await action(server, command)


def _brokers(server: KafkaServer, command: ControlCommand) -> list[int]:
    known = list(server.cluster.view().brokers.brokers)
    if command.broker is None:
        return known
    if command.broker not in known:
        numbers = ", ".join(map(str, known))
        raise UsageError(f"there is no broker {command.broker}; the brokers are {numbers}")
    return [command.broker]


def _required(number: int | None, command: ControlCommand, field: str) -> int:
    if number is None:
        raise UsageError(f"{command.do} needs a {field}: add its number")
    return number


async def _lag(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    lag = Lag(
        seconds=command.ms / 1000,
        acls=command.acls_ms / 1000,
        configs=command.configs_ms / 1000,
    )
    server.cluster.views.set_lag(lag, _brokers(server, command))
    return {}


async def _hold(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    for broker in _brokers(server, command):
        server.cluster.views.hold(broker)
    return {}


async def _release(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    for broker in _brokers(server, command):
        server.cluster.views.release(broker)
    return {}


async def _fence(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    await server.fence(frozenset(_brokers(server, command)), fenced=True)
    return {}


async def _unfence(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    await server.fence(frozenset(_brokers(server, command)), fenced=False)
    return {}


async def _move_controller(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    server.cluster.controllers.move(command.controller)
    return {}


async def _stop(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    await server.stop_node(_required(command.node, command, "node"))
    return {}


async def _start(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    await server.start_node(_required(command.node, command, "node"))
    return {}


async def _drop_connections(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:
    server.drop_connections(_required(command.node, command, "node"))
    return {}


async def _status(server: KafkaServer, command: ControlCommand) -> Mapping[str, object]:  # noqa: ARG001 (as the others)
    cluster = server.cluster
    return {
        "brokers": {broker.id: str(at) for broker, at in cluster.living_brokers(cluster.view())},
        "controllers": {node.id: str(node.endpoint) for node in cluster.quorum},
        "active_controller": cluster.controllers.active,
        "metrics": {
            broker: metrics.values() for broker, metrics in server.forwarding_metrics.items()
        },
    }


_ACTIONS: Mapping[str, Callable[[KafkaServer, ControlCommand], Awaitable[Mapping[str, object]]]] = {
    "lag": _lag,
    "hold": _hold,
    "release": _release,
    "fence": _fence,
    "unfence": _unfence,
    "move-controller": _move_controller,
    "stop": _stop,
    "start": _start,
    "drop-connections": _drop_connections,
    "status": _status,
}
