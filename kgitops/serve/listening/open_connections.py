"""All open connections of a server, and what they hold together."""

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from kgitops.serve.listening.connection import ClientConnection
from kgitops.serve.listening.limits import ConnectionLimits


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
        """Each connection."""
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
