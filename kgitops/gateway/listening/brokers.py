"""The brokers behind the gateway: where they are, and connections to them."""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from kgitops.gateway.sockets.framed_socket import FramedSocket
from kgitops.gateway.sockets.tls import TlsSession


class BrokerAddress(Struct, frozen=True):
    """The host and port of a broker, as brokers tell it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BrokerAddresses:
    """The address of each broker, as the newest responses have it."""

    def __init__(self, bootstrap: Sequence[BrokerAddress]) -> None:
        self._bootstrap = tuple(bootstrap)
        self._by_node: dict[int, BrokerAddress] = {}
        self._live: tuple[int, ...] = ()
        self._turn = 0

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ids of the brokers that are known."""
        return tuple(sorted(self._by_node))

    def learn(self, node: int, address: BrokerAddress) -> None:
        """A broker is there."""
        self._by_node[node] = address

    def saw(self, by_node: Mapping[int, BrokerAddress]) -> None:
        """These are the brokers that are in the cluster now; others may come back."""
        self._by_node.update(by_node)
        self._live = tuple(by_node)

    def of(self, node: int) -> Sequence[BrokerAddress]:
        """The address of one broker; none if it is not known."""
        found = self._by_node.get(node)
        return () if found is None else (found,)

    def of_any(self) -> Sequence[BrokerAddress]:
        """The addresses of brokers that were there lately, beginning with another one each time.

        Those that a start was tried with come last.
        """
        live = [self._by_node[node] for node in self._live]
        self._turn += 1
        at = self._turn % len(live) if live else 0
        return list(dict.fromkeys((*live[at:], *live[:at], *self._bootstrap)))


class BrokerDialer:
    """Opens connections to brokers for clients, whose own logins go over them."""

    def __init__(
        self, addresses: BrokerAddresses, *, tls: ssl.SSLContext | None, connect_s: float
    ) -> None:
        self._addresses = addresses
        self._tls = tls
        self._connect_s = connect_s

    async def connect(
        self,
        node: int | None,
        make: Callable[[TlsSession | None], FramedSocket],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connect a side to the broker with this id, or to any; by this TLS instead of the usual.

        Raises:
            OSError: none can be reached.
        """
        found = self._addresses.of_any() if node is None else self._addresses.of(node)
        problem = f"no broker {node} is known"
        for address in found:
            try:
                async with asyncio.timeout(self._connect_s / len(found)):
                    await asyncio.get_running_loop().create_connection(
                        partial(_begin, make, tls or self._tls, address.host),
                        address.host,
                        address.port,
                    )
            except (OSError, UnicodeError) as error:
                reason = getattr(error, "strerror", None) or str(error) or "no answer in time"
                problem = f"the broker at {address} can't be reached: {reason}"
            else:
                return
        raise OSError(problem)


def _begin(
    make: Callable[[TlsSession | None], FramedSocket], tls: ssl.SSLContext | None, host: str
) -> FramedSocket:
    return make(None if tls is None else TlsSession(tls, server_name=host))
