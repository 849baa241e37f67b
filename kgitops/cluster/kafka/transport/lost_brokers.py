"""Remembers brokers that were unreachable a moment ago: reads from them fail at once."""

import time

from kgitops.cluster.kafka.transport.tls_errors import Server
from kgitops.model.errors import UnreachableError

_LOST_S = 10.0
"""Time for which a broker counts as lost: several reads of one command, one wait."""


class LostBrokers:
    """Servers of brokers, each with the error of the latest try; thread-safe."""

    def __init__(self) -> None:
        self._errors: dict[Server, tuple[float, UnreachableError]] = {}
        self._silent: dict[Server, float] = {}

    def add(self, server: Server, error: UnreachableError, *, silent: bool = False) -> None:
        """Remember that the broker at this address did not answer; ``silent``: when connected."""
        now = time.monotonic()
        self._errors[server] = now, error
        if silent:
            self._silent[server] = now

    def remove(self, server: Server) -> None:
        """Forget the error: the broker answers again."""
        self._errors.pop(server, None)
        self._silent.pop(server, None)

    def error(self, server: Server) -> UnreachableError | None:
        """Return the error of a moment ago; None where there was none."""
        at, error = self._errors.get(server, (0.0, None))
        return error if error and time.monotonic() < at + _LOST_S else None

    def count_silent(self) -> int:
        """Count the brokers that were connected, and silent, a moment ago."""
        oldest = time.monotonic() - _LOST_S
        return sum(at > oldest for at in self._silent.copy().values())
