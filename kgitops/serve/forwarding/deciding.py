"""Requests as the nodes hand them to each other: what is to be decided, and what was."""

import asyncio
from typing import Protocol

from msgspec import Struct

from kgitops.serve.forwarding.envelope import ForwardedClient
from kgitops.serve.listening.answering import ClientConnection
from kgitops.serve.nodes import Node, ServedCluster
from kgitops.wire.frames import RequestFrame


class Decision(Struct, frozen=True):
    """The message of an answer, and if it says that another controller is to be asked."""

    body: bytes | bytearray
    not_controller: bool


class Decide(Protocol):
    """Has requests decided, in the thread of decisions."""

    async def __call__(
        self,
        frame: RequestFrame,
        client: ForwardedClient,
        node: Node | None,
        *,
        bypasses_policies: bool = False,
    ) -> Decision:
        """Have a request decided for a client.

        ``node`` is the controller that does, NOT_CONTROLLER unless it is active; None: whichever.

        Raises:
            MalformedError: it is not a request.
        """
        ...


def client_of(
    connection: ClientConnection, *, via: int | None = None, listener: str | None = None
) -> ForwardedClient:
    """The client at the other end of a connection."""
    return ForwardedClient(
        principal=connection.principal or "",
        host=connection.host,
        listener=listener or connection.node.listener,
        security_protocol=connection.node.listener,
        software=connection.software,
        via=via,
    )


async def wait_until_visible(cluster: ServedCluster, timeout_ms: int) -> bool:
    """Wait until all living brokers see what was just decided; False if that takes too long."""
    brokers = [broker.id for broker, _ in cluster.living_brokers(cluster.view())]
    seconds = cluster.views.seconds_until_seen(brokers)
    if not seconds:
        return True
    left = timeout_ms / 1000
    await asyncio.sleep(min(seconds, left))
    return seconds <= left


def controller_node(cluster: ServedCluster) -> Node | None:
    """The active controller; None while there is none."""
    active = cluster.controllers.active
    return None if active is None else cluster.nodes.get(active)
