"""One process of a gateway: its listeners, connections and certificate, in one event loop."""

import asyncio
import ipaddress
import ssl
from collections.abc import Callable, Mapping
from time import perf_counter

from msgspec import Struct, field

from kgitops.gateway.connections.counts import ConnectionCounts
from kgitops.gateway.connections.open_connections import GatewayConnections
from kgitops.gateway.connections.parts import CurrentTables, SharedParts
from kgitops.gateway.connections.refusals import AccessLog
from kgitops.gateway.connections.rewriter import Rewriter
from kgitops.gateway.credentials.credentials_file import CredentialsFile
from kgitops.gateway.listening.brokers import BrokerAddress, BrokerAddresses, BrokerDialer
from kgitops.gateway.listening.certificates import ServerCertificate
from kgitops.gateway.listening.listeners import GatewayListener
from kgitops.gateway.settings import GatewayOptions
from kgitops.gateway.sockets.memory import FrameMemory
from kgitops.model.errors import UnreachableError

_LOOK_S = 2.0


class BrokersBehind(Struct, frozen=True, kw_only=True):
    """The cluster behind a gateway, as clients' connections reach it."""

    bootstrap: tuple[BrokerAddress, ...]
    by_node: Mapping[int, BrokerAddress] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    """Without a certificate of the gateway's own: a client is never the gateway to a broker."""
    sasl: bool = False


class Gateway:
    """Listens, and connects clients to brokers, in the event loop that it was started in."""

    def __init__(
        self,
        settings: GatewayOptions,
        brokers: BrokersBehind,
        tables: CurrentTables,
        new_rewriter: Callable[[], Rewriter],
        *,
        tell: Callable[[str], None],
        write: Callable[[bytes], object],
        credentials: CredentialsFile | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Prepare; ``tell`` takes sentences for people, ``write`` lines of the access log.

        The ``clock`` decides how long connections live.

        Raises:
            KgitopsError: the certificate can't be used.
        """
        self._settings = settings
        self._tell = tell
        self._credentials = credentials
        limits = settings.limits
        self._certificate = (
            ServerCertificate(settings.certificate, settings.key, settings.client_ca)
            if settings.certificate is not None and settings.key is not None
            else None
        )
        self._addresses = BrokerAddresses(brokers.bootstrap)
        self._addresses.saw(brokers.by_node)
        counts = ConnectionCounts()
        self._parts = SharedParts(
            tables=tables,
            brokers=BrokerDialer(self._addresses, tls=brokers.tls, connect_s=limits.connect_s),
            new_rewriter=new_rewriter,
            log=AccessLog(write),
            limits=limits,
            sasl=brokers.sasl and credentials is None,
            claim=settings.claim,
            credentials=credentials,
            load_balancers=[ipaddress.ip_network(text) for text in settings.load_balancers],
            counts=counts,
            memory=FrameMemory(limits.memory_bytes) if limits.memory_bytes else None,
        )
        self.connections = GatewayConnections(limits, counts, lambda: tables.too_old, clock)
        self._listeners: list[GatewayListener] = []
        self._looking: asyncio.Task[None] | None = None

    @property
    def counts(self) -> ConnectionCounts:
        return self._parts.counts

    @property
    def url(self) -> str:
        """The address that clients begin with."""
        entrance, port = self._settings.entrances[0], self._listeners[0].port
        host = entrance.advertised_host
        host = f"[{host}]" if ":" in host else host
        return f"kafka://{host}:{entrance.advertised_port or port}"

    def learn(self, by_node: Mapping[int, BrokerAddress]) -> None:
        """Brokers are there: open what clients reach them by."""
        self._addresses.saw(by_node)
        for listener in self._listeners:
            try:
                listener.open_nodes(tuple(by_node))
            except UnreachableError as error:
                self._tell(str(error))

    async def start(self) -> None:
        """Open all listeners; none stays open if one can't be.

        Raises:
            UnreachableError: a port is taken, or the address is not this machine's.
        """
        try:
            for entrance in self._settings.entrances:
                listener = GatewayListener(
                    entrance,
                    self._parts,
                    self.connections,
                    self._addresses,
                    certificate=self._certificate,
                    shares_ports=self._settings.workers > 1,
                )
                self._listeners.append(listener)
                await listener.open(self._addresses.nodes)
        except BaseException:
            self._close_listeners()
            raise
        self.connections.start()
        if self._certificate is not None:
            self._looking = asyncio.create_task(self._look(self._certificate))

    async def stop(self) -> None:
        """Take no more connections, and let requests in flight end."""
        if self._looking is not None:
            self._looking.cancel()
        self._close_listeners()
        left = await self.connections.drain()
        if left:
            self._tell(f"{left} connections were cut off with requests in flight")

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()

    async def _look(self, certificate: ServerCertificate) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            certificate.look(self._tell)
            if self._credentials is not None and self._credentials.look(self._tell):
                self.connections.check_members()
