"""The sockets that clients connect to: one for a start, and where ports tell brokers, one each."""

import asyncio
import socket

from kgitops.gateway.connections.connection import ProxiedConnection
from kgitops.gateway.connections.open_connections import GatewayConnections
from kgitops.gateway.connections.parts import SharedParts
from kgitops.gateway.listening.addresses import NameAddresses, PortAddresses
from kgitops.gateway.listening.brokers import BrokerAddresses
from kgitops.gateway.listening.certificates import ServerCertificate
from kgitops.gateway.rewriting.exchange import Addresses, RefusedFrameError
from kgitops.gateway.settings import Entrance
from kgitops.gateway.sockets.tls import TlsSession
from kgitops.model.errors import UnreachableError

_BACKLOG = 1024
_HIGHEST_PORT = 65535


class PortListener:
    """One socket of a listener where ports tell brokers; without a node it is for any."""

    def __init__(self, listener: "GatewayListener", node: int | None) -> None:
        self._listener = listener
        self._node = node

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster that it is bound to."""
        return self._listener.entrance.virtual_cluster

    @property
    def addresses(self) -> Addresses:
        """The addresses that its clients are told."""
        return self._listener.addresses

    def tls(self) -> TlsSession | None:
        """The server's end of TLS for one connection."""
        certificate = self._listener.certificate
        return None if certificate is None else TlsSession(certificate.context)

    def node(self, asked_for: str | None) -> int | None:
        """The broker that a client means."""
        names = self._listener.names
        return self._node if names is None else names.node(asked_for)


class GatewayListener:
    """An entrance of the gateway: its address for a start, and those of the brokers by it."""

    def __init__(
        self,
        entrance: Entrance,
        parts: SharedParts,
        opened: GatewayConnections,
        brokers: BrokerAddresses,
        *,
        certificate: ServerCertificate | None,
        shares_ports: bool,
    ) -> None:
        self.entrance = entrance
        self.certificate = certificate
        self.names: NameAddresses | None = None
        self._ports: PortAddresses | None = None
        self._parts, self._opened, self._brokers = parts, opened, brokers
        self._shares_ports = shares_ports
        self._sockets: list[socket.socket] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._stopped = False
        self.port = 0
        """The port for a start, once it is open."""

    async def open(self, nodes: tuple[int, ...]) -> None:
        """Open the socket for a start, and those of the brokers that are known.

        Raises:
            UnreachableError: one can't be opened.
        """
        entrance = self.entrance
        try:
            self.port = self._bind(entrance.port, None)
        except OSError as error:
            raise UnreachableError(
                f"can't listen on {entrance.host}:{entrance.port}: {error.strerror or error}; "
                "choose another address with --listen"
            ) from error
        told = entrance.advertised_port or self.port
        if entrance.sni is not None:
            self.names = NameAddresses(
                self._brokers, entrance.sni, bootstrap=entrance.advertised_host, port=told
            )
            self.addresses: Addresses = self.names
        else:
            self.addresses = self._ports = PortAddresses(
                self._brokers, entrance.advertised_host, self._open_node
            )
        self.open_nodes(nodes)
        if self._starting:
            await asyncio.wait(self._starting)

    def open_nodes(self, nodes: tuple[int, ...]) -> None:
        """Open the ports of brokers that are not open yet, where each has one.

        Raises:
            UnreachableError: one can't be opened.
        """
        ports = self._ports
        if ports is None:
            return
        for node in nodes:
            try:
                ports.port(node)
            except RefusedFrameError as error:
                raise UnreachableError(f"{error}; choose another address with --listen") from error

    def close(self) -> None:
        """Take no more connections."""
        self._stopped = True
        for server in self._servers:
            server.close()

    def _open_node(self, node: int) -> int:
        """Open the port of a broker; the same one again if it is open."""
        return self._bind(self._wanted(node), node)

    def _wanted(self, node: int) -> int:
        """The port of a broker; 0, any, where the one for a start was any."""
        if self.entrance.port == 0:
            return 0
        port = self.entrance.port + 1 + node
        if port > _HIGHEST_PORT:
            raise OverflowError(f"its port would be {port}")
        return port

    def _bind(self, port: int, node: int | None) -> int:
        host = self.entrance.host
        bound = socket.create_server(
            (host, port),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            backlog=_BACKLOG,
            reuse_port=self._shares_ports,
        )
        bound.setblocking(False)
        # Clients that come before the event loop takes them wait in the socket's queue.
        self._sockets.append(bound)
        task = asyncio.get_running_loop().create_task(self._serve(bound, PortListener(self, node)))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return int(bound.getsockname()[1])

    async def _serve(self, bound: socket.socket, door: PortListener) -> None:
        def make() -> asyncio.BaseProtocol:
            return ProxiedConnection(door, self._parts, self._opened).client

        server = await asyncio.get_running_loop().create_server(make, sock=bound, backlog=_BACKLOG)
        self._servers.append(server)
        if self._stopped:
            server.close()
