"""All open connections of a server, and limits on what each and all of them hold."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from kgitops.serve.listening.answering import ClientConnection
from kgitops.serve.printable import printable

_ENVELOPE = 64 * 1024
"""Bytes of an Envelope beside the request and the name of who sent it, and many more."""
_log = logging.getLogger("kgitops.serve")
_LINES = 20
_SECONDS = 10.0


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """The limits of a listener; times are in seconds, sizes in bytes."""

    connections: int = 1000
    """``max.connections`` of a broker; here they are those of all listeners together."""
    connections_per_host: int = 800
    """``max.connections.per.ip``: one host leaves room for others."""
    frame: int = 100 * 1024 * 1024
    """``socket.request.max.bytes`` of a broker."""
    frame_before_login: int = 512 * 1024
    """``sasl.server.max.receive.size`` of a broker."""
    waiting_frames: int = 64
    """Whole requests that wait for the one before them; then no more are read.

    A broker's, which do not wait for each other, are as many that wait for their answers.
    """
    waiting_bytes: int = 1024 * 1024
    """Bytes of answers that a client has not fetched; then no more of its requests are answered.

    The same for requests that wait; then no more are read.
    """
    held: int = 512 * 1024 * 1024
    """``queued.max.request.bytes``: those of all connections together, whole requests or not."""
    idle: float = 600
    """``connections.max.idle.ms`` of a broker. Only whole requests count as activity."""
    login: float = 10
    """Time for a TLS handshake, and for a login."""

    def with_room_for_envelopes(self) -> Self:
        """Those of a controller: a broker takes the largest request, and sends it in an Envelope.

        All clients of a broker share its one connection, which none of them may end.
        """
        around = self.frame_before_login + _ENVELOPE
        return replace(self, frame=self.frame + around, held=2 * self.held + around)


class OpenConnection(Protocol):
    """A connection that the server can close."""

    connection: ClientConnection

    def end(self) -> None:
        """Close it."""
        ...


class OpenConnections:
    """Counts connections, also by host, and the bytes of requests that wait in them."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._hosts: dict[OpenConnection, str] = {}
        self._by_host: Counter[str] = Counter()
        self._held = 0

    def __iter__(self) -> Iterator[OpenConnection]:
        return iter(list(self._hosts))

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._hosts)

    def add(self, connection: OpenConnection, host: str) -> str | None:
        """Take a connection in; the reason if there are too many."""
        limits = self._limits
        if len(self._hosts) >= limits.connections:
            return f"there are {limits.connections} connections already (max.connections)"
        if self._by_host[host] >= limits.connections_per_host:
            return (
                f"its host has {limits.connections_per_host} connections already "
                "(max.connections.per.ip)"
            )
        self._hosts[connection] = host
        self._by_host[host] += 1
        return None

    def remove(self, connection: OpenConnection) -> None:
        """Forget a connection."""
        host = self._hosts.pop(connection, None)
        if host is None:
            return
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]

    def hold(self, change: int) -> bool:
        """Count bytes that wait (fewer with a negative number); False if there are too many."""
        self._held += change
        return change <= 0 or self._held <= self._limits.held


class ClosingLog:
    """Writes a line about each connection that is closed, and counts those beyond the rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._written = 0
        self._left_out = 0

    def tell(
        self,
        host: str,
        reason: str,
        *,
        level: int = logging.WARNING,
        error: BaseException | None = None,
    ) -> None:
        """Write that a connection from a host is closed; with the traceback of a bug."""
        now = self._clock()
        if now - self._since >= _SECONDS:
            if self._left_out:
                _log.warning("%d more closed connections had no line", self._left_out)
            self._since, self._written, self._left_out = now, 0, 0
        if self._written >= _LINES:
            self._left_out += 1
            return
        self._written += 1
        _log.log(
            level, "a connection from %s is closed: %s", host, printable(reason), exc_info=error
        )
