"""All open connections of a process: counted, looked at each second, and drained at the end."""

import asyncio
from collections.abc import Callable

from kgitops.gateway.connections.connection import ProxiedConnection
from kgitops.gateway.connections.counts import ConnectionCounts
from kgitops.gateway.connections.refusals import RefusalReason
from kgitops.gateway.sockets.limits import GatewayLimits

_LOOK_S = 1.0
_POLL_S = 0.05
_CLOSING_S = 2.5
"""A little more than sockets take that are closed."""


class GatewayConnections:
    """The connections of clients that are open now."""

    def __init__(
        self,
        limits: GatewayLimits,
        counts: ConnectionCounts,
        too_old: Callable[[], str | None],
        clock: Callable[[], float],
    ) -> None:
        self._limits = limits
        self._counts = counts
        self._too_old = too_old
        self.clock = clock
        self._open: set[ProxiedConnection] = set()
        self._looking: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._open)

    def add(self, connection: ProxiedConnection) -> None:
        """Take a connection in."""
        self._open.add(connection)
        self._counts.open = len(self._open)

    def remove(self, connection: ProxiedConnection) -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self._counts.open = len(self._open)

    def refusal(self) -> tuple[str, str] | None:
        """The reason and a sentence, if the newest connection may not stay."""
        if len(self._open) > self._limits.connections:
            sentence = f"there are {self._limits.connections} connections already"
            return RefusalReason.CONNECTIONS, sentence
        too_old = self._too_old()
        return None if too_old is None else (RefusalReason.STALE, too_old)

    def start(self) -> None:
        """Begin to look at their times."""
        self._looking = asyncio.get_running_loop().create_task(self._look())

    def check_members(self) -> None:
        """Close the connections whose members are elsewhere now: names or credentials changed."""
        for connection in list(self._open):
            connection.check_member()

    async def drain(self) -> int:
        """Let requests in flight end; the number of connections that were cut off then."""
        if self._looking is not None:
            self._looking.cancel()
        for connection in list(self._open):
            connection.end()
        until = self.clock() + self._limits.drain_s
        while self._open and self.clock() < until:
            await asyncio.sleep(_POLL_S)
        left = list(self._open)
        for connection in left:
            connection.close()
        until = self.clock() + _CLOSING_S
        while self._open and self.clock() < until:
            await asyncio.sleep(_POLL_S)
        return len(left)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            now = self.clock()
            for connection in list(self._open):
                connection.close_if_expired(now)
