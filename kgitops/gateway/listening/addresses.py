"""The addresses that clients are told: a port for each broker, or a host name for each (SNI)."""

import re
from collections.abc import Callable

from kgitops.gateway.connections.refusals import RefusalReason, RefusedError
from kgitops.gateway.listening.brokers import BrokerAddress, BrokerAddresses
from kgitops.gateway.rewriting.exchange import RefusedFrameError

ID = "$(id)"
_HIGHEST_PORT = 65535


class PortAddresses:
    """A port for each broker: the one after the listener's for broker 0, and so on.

    ``open_port`` opens the listener of a broker, before any client is told of it.
    """

    def __init__(
        self, brokers: BrokerAddresses, host: str, open_port: Callable[[int], int]
    ) -> None:
        self._brokers = brokers
        self._host = host.encode()
        self._open_port = open_port
        self._ports: dict[int, int] = {}

    def advertise(self, node_id: int, host: bytes, port: int) -> tuple[bytes, int]:
        """The address of a broker for clients; remember where the broker is itself."""
        if node_id < 0:
            return _nowhere(host, port)
        _learn(self._brokers, node_id, host, port)
        return self._host, self.port(node_id)

    def port(self, node_id: int) -> int:
        """The port of a broker, opened if it is not yet."""
        known = self._ports.get(node_id)
        if known is None:
            try:
                known = self._ports[node_id] = self._open_port(node_id)
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise RefusedFrameError(
                    RefusalReason.BROKER, f"there is no port for broker {node_id}: {reason}"
                ) from None
        return known


class NameAddresses:
    """A host name for each broker, all on one port; clients ask for it by TLS."""

    def __init__(
        self, brokers: BrokerAddresses, pattern: str, *, bootstrap: str, port: int
    ) -> None:
        self._brokers = brokers
        self._before, _, self._after = pattern.partition(ID)
        self._bootstrap = bootstrap.lower()
        self._port = port
        self._named = re.compile(
            rf"{re.escape(self._before)}(0|[1-9][0-9]{{0,9}}){re.escape(self._after)}",
            re.IGNORECASE,
        )

    def advertise(self, node_id: int, host: bytes, port: int) -> tuple[bytes, int]:
        """The address of a broker for clients; remember where the broker is itself."""
        if node_id < 0:
            return _nowhere(host, port)
        _learn(self._brokers, node_id, host, port)
        return f"{self._before}{node_id}{self._after}".encode(), self._port

    def node(self, asked_for: str | None) -> int | None:
        """The broker that a host name means; None for any.

        Raises:
            RefusedError: it means none.
        """
        name = (asked_for or "").lower().rstrip(".")
        if name == self._bootstrap:
            return None
        match = self._named.fullmatch(name)
        if match is None or int(match[1]) not in self._brokers.nodes:
            raise RefusedError(
                RefusalReason.SNI,
                f"it asked for the host {asked_for!r}, which is none of the gateway's"
                if asked_for
                else "it did not say by TLS which host it means (SNI)",
            )
        return int(match[1])


def _learn(brokers: BrokerAddresses, node_id: int, host: bytes, port: int) -> None:
    try:
        text = host.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or not 0 < port <= _HIGHEST_PORT:
        raise RefusedFrameError(
            RefusalReason.BROKER, f"broker {node_id} advertises an invalid address"
        )
    brokers.learn(node_id, BrokerAddress(text, port))


def _nowhere(host: bytes, port: int) -> tuple[bytes, int]:
    """The address of no broker, as in a response that has an error."""
    if host:
        raise RefusedFrameError(
            RefusalReason.BROKER, "the broker returned an address without a node id"
        )
    return host, port
