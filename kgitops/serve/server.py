"""The listeners of a served cluster: one for each broker, and one for each controller."""

import asyncio
import logging

from msgspec import Struct

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.errors import UnreachableError
from kgitops.serve.dispatch import Dispatcher
from kgitops.serve.listening.connection import ClientConnection
from kgitops.serve.listening.limits import ConnectionLimits
from kgitops.serve.listening.protocol import KafkaProtocol
from kgitops.serve.nodes import FIRST_CONTROLLER, Endpoint, Node, NodeKind, ServedCluster

_LOOPBACK = "127.0.0.1"
_ENDING_SECONDS = 5
_log = logging.getLogger("kgitops.serve")


class ServeOptions(Struct, frozen=True, kw_only=True):
    """The address of the first broker, the others' ports follow; port 0 takes free ones."""

    host: str = _LOOPBACK
    port: int = 9092
    limits: ConnectionLimits = ConnectionLimits()


class KafkaServer:
    """An embedded cluster with open listeners, in the event loop that it was started in."""

    def __init__(self, cluster: EmbeddedCluster, options: ServeOptions) -> None:
        self._controller = cluster.controller
        self._options = options
        self._servers: list[asyncio.Server] = []
        self._connections: set[KafkaProtocol] = set()
        self._nodes: dict[int, Node] = {}
        served = ServedCluster(
            controller=self._controller, nodes=self._nodes, view=self._controller.recent_image
        )
        self._dispatcher = Dispatcher(served)
        self.endpoints: tuple[Endpoint, ...] = ()
        """Those of the brokers, once the server has started."""

    @property
    def url(self) -> str:
        """The cluster for ``kgitops -c``."""
        return f"kafka://{','.join(map(str, self.endpoints))}"

    async def start(self) -> None:
        """Open all listeners; none stays open if one can't be.

        Raises:
            UnreachableError: a port is taken, or the address is not this machine's.
        """
        image = self._controller.image()
        try:
            for index, broker in enumerate(sorted(image.brokers.brokers)):
                port = self._options.port + index if self._options.port else 0
                await self._listen(broker, NodeKind.BROKER, self._options.host, port)
            await self._listen(FIRST_CONTROLLER, NodeKind.CONTROLLER, _LOOPBACK, 0)
        except BaseException:
            await self.stop()
            raise
        self.endpoints = tuple(
            node.endpoint for node in self._nodes.values() if node.kind is NodeKind.BROKER
        )
        for server in self._servers:
            await server.start_serving()

    async def stop(self) -> None:
        """Close the listeners and connections, and wait for the decisions being taken."""
        for server in self._servers:
            server.close()
        for connection in list(self._connections):
            connection.end()
        await asyncio.get_running_loop().run_in_executor(None, self._dispatcher.close)

    async def _listen(self, node_id: int, kind: NodeKind, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(
                lambda: KafkaProtocol(
                    self._dispatcher.answer,
                    self._options.limits,
                    lambda peer: ClientConnection(node=self._nodes[node_id], host=peer),
                    self._connections,
                ),
                host,
                port,
                start_serving=False,
            )
        except OSError as error:
            address = Endpoint(host, port)
            raise UnreachableError(
                f"can't listen on {address}: {error.strerror or error}; end what listens there, or "
                "choose another address with --listen (port 0 takes a free one)"
            ) from error
        self._servers.append(server)
        port = server.sockets[0].getsockname()[1]
        listener = "CONTROLLER" if kind is NodeKind.CONTROLLER else "PLAINTEXT"
        self._nodes[node_id] = Node(
            id=node_id, kind=kind, listener=listener, endpoint=Endpoint(host, port)
        )
