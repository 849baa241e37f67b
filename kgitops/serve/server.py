"""The listeners of a served cluster: one for each broker, and one for each controller."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.errors import UnreachableError, UsageError
from kgitops.serve.data.data_plane import DataPlane
from kgitops.serve.dispatch import Dispatcher
from kgitops.serve.forwarding.metrics import ForwardingMetrics, metrics_text
from kgitops.serve.forwarding.options import ForwardingOptions
from kgitops.serve.groups.coordinator import GroupCoordinator
from kgitops.serve.groups.settings import GroupSettings
from kgitops.serve.listening.open_connections import ConnectionLimits
from kgitops.serve.listening.protocol import KafkaProtocol
from kgitops.serve.listening.reading_settings import listener_settings
from kgitops.serve.listening.settings import ListenerSettings, check_exposure
from kgitops.serve.login.listeners import ListenerMaker, with_rights
from kgitops.serve.nodes import FIRST_CONTROLLER, Endpoint, Node, NodeKind, Quorum, ServedCluster
from kgitops.serve.views import BrokerViews, Lag

_LOOPBACK = "127.0.0.1"
_SECONDS_BETWEEN_LOOKS = 1
"""At transactions that are open for too long; Kafka looks every ten seconds."""
_log = logging.getLogger("kgitops.serve")

T = TypeVar("T")


class ServeOptions(Struct, frozen=True, kw_only=True):
    """The address of the first broker, the others' ports follow; port 0 takes free ones.

    None is for what the cluster's ``listeners`` config says, else 127.0.0.1:9092.
    """

    host: str | None = None
    port: int | None = None
    allow_anonymous: bool = False
    """Listen beyond loopback even if clients need not log in."""
    folder: Path = Path()
    """The folder that files of the cluster's configs are relative to."""
    limits: ConnectionLimits | None = None
    """Instead of those of the cluster's configs."""
    forwarding: ForwardingOptions = field(default_factory=ForwardingOptions)


class KafkaServer:
    """An embedded cluster with open listeners, in the event loop that it was started in."""

    def __init__(self, cluster: EmbeddedCluster, options: ServeOptions) -> None:
        """Prepare the listeners.

        Raises:
            KgitopsError: the cluster's configs have settings of listeners that are not valid.
            UsageError: a listener would be open to a network without a login.
        """
        self._embedded = cluster
        self._controller = cluster.controller
        self._settings = _settings(cluster, options)
        check_exposure(self._settings, allow_anonymous=options.allow_anonymous)
        self._unserved = self._controller.options
        self._servers: dict[int, asyncio.Server] = {}
        self._nodes: dict[int, Node] = {}
        self._data = DataPlane(self._controller)
        self._transactions: asyncio.Task[None] | None = None
        forwarding = options.forwarding
        newest = self._controller.recent_image
        groups = GroupCoordinator(GroupSettings.of(self._controller.options.static_configs))
        groups.shares.wake = self._data.waiting.wake
        self._controller.members = groups
        self.cluster = ServedCluster(
            controller=self._controller,
            nodes=self._nodes,
            view=newest,
            data=self._data,
            views=BrokerViews(newest, Lag(seconds=forwarding.lag_ms / 1000)),
            controllers=Quorum(range(FIRST_CONTROLLER, FIRST_CONTROLLER + forwarding.controllers)),
            groups=groups,
        )
        self._dispatcher = Dispatcher(self.cluster, forwarding)
        self._listeners = ListenerMaker(
            self._settings, self._dispatcher.answer, newest, self.cluster.controller.salt_secret
        )
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
        self._loop = asyncio.get_running_loop()
        image = self._controller.image()
        # The registry of a kgitops that is connected to a Kafka is a topic.
        self._controller.options = replace(
            with_rights(self._unserved, self._settings), registry_topic=True
        )
        await self._dispatcher.decide(self._data.compact)
        try:
            for index, broker in enumerate(sorted(image.brokers.brokers)):
                port = self._settings.port + index if self._settings.port else 0
                await self._listen(broker, NodeKind.BROKER, self._settings.host, port)
            for controller in self.cluster.controllers.controllers:
                await self._listen(controller, NodeKind.CONTROLLER, _LOOPBACK, 0)
            for server in self._servers.values():
                await server.start_serving()
        except OSError as error:  # another process bound the same port at the same time
            await self.stop()
            raise UnreachableError(
                f"can't listen: {error.strerror or error}; choose another address with --listen"
            ) from error
        except BaseException:
            await self.stop()
            raise
        self.endpoints = tuple(
            node.endpoint for node in self._nodes.values() if node.kind is NodeKind.BROKER
        )
        self._transactions = asyncio.create_task(self._abort_expired_transactions())

    async def stop(self) -> None:
        """Close the listeners and connections, and wait for the decisions being taken."""
        if self._transactions:
            self._transactions.cancel()
        self._dispatcher.close_channels()
        for server in self._servers.values():
            server.close()
        for connection in self._listeners.open:
            connection.end()
        self.cluster.groups.close()
        self._controller.members = None
        await asyncio.get_running_loop().run_in_executor(None, self._dispatcher.close)
        self._controller.options = self._unserved

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the server's event loop, from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def forwarding_metrics(self) -> Mapping[int, ForwardingMetrics]:
        """Metrics of forwarding, by broker."""
        return self._dispatcher.forwarding_metrics

    def metrics_text(self) -> str:
        """All metrics in Prometheus's text format; to be called in the event loop."""
        return metrics_text(self.forwarding_metrics)

    async def stop_node(self, node_id: int) -> None:
        """Simulate that a node dies: its listener and its connections are closed.

        A broker sees nothing new until it is started again; another controller becomes active.

        Raises:
            UsageError: there is no such node.
        """
        node = self._known(node_id)
        if node.kind is NodeKind.CONTROLLER:
            self.cluster.controllers.stop(node_id)
        else:
            self.cluster.views.hold(node_id)
        server = self._servers.pop(node_id, None)
        if server is not None:
            server.close()
        self.drop_connections(node_id)

    async def start_node(self, node_id: int) -> None:
        """Start a node again, at the same address.

        Raises:
            UnreachableError: its port is taken meanwhile.
            UsageError: there is no such node.
        """
        node = self._known(node_id)
        if node_id not in self._servers:
            host = self._settings.host if node.kind is NodeKind.BROKER else _LOOPBACK
            await self._listen(node_id, node.kind, host, node.endpoint.port)
            await self._servers[node_id].start_serving()
        if node.kind is NodeKind.CONTROLLER:
            self.cluster.controllers.start(node_id)
        else:
            self.cluster.views.release(node_id)

    def drop_connections(self, node_id: int) -> None:
        """Close the connections that a node has.

        Raises:
            UsageError: there is no such node.
        """
        self._known(node_id)
        for connection in self._listeners.open:
            if connection.connection.node.id == node_id:
                connection.end()

    async def fence(self, brokers: frozenset[int], *, fenced: bool) -> None:
        """Fence brokers, which takes them out of Metadata, or unfence them.

        Raises:
            KgitopsError: the store can't be written.
        """
        now = {item.id for item in self.cluster.view().brokers.brokers.values() if item.fenced}
        wanted = now | brokers if fenced else now - brokers
        await asyncio.get_running_loop().run_in_executor(None, self._embedded.fence, *wanted)

    def _known(self, node_id: int) -> Node:
        node = self._nodes.get(node_id)
        if node is None:
            known = ", ".join(map(str, self._nodes))
            raise UsageError(f"there is no node {node_id}; the nodes are {known}")
        return node

    async def _abort_expired_transactions(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            if self._data.expired(self._controller.recent_image()):
                await self._dispatcher.decide(self._data.abort_expired)

    async def _listen(self, node_id: int, kind: NodeKind, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        listener = self._listeners.make(kind, lambda: self._nodes[node_id])
        try:
            server = await loop.create_server(
                lambda: KafkaProtocol(listener),
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
        self._servers[node_id] = server
        port = server.sockets[0].getsockname()[1]
        advertised = self._settings.advertised_host if kind is NodeKind.BROKER else None
        self._nodes[node_id] = Node(
            id=node_id,
            kind=kind,
            listener=self._settings.name if kind is NodeKind.BROKER else "CONTROLLER",
            endpoint=Endpoint(advertised or host, port),
        )


def _settings(cluster: EmbeddedCluster, options: ServeOptions) -> ListenerSettings:
    """The listener of the cluster's configs, with what the options say otherwise."""
    settings = listener_settings(cluster.controller.options.static_configs, options.folder)
    return replace(
        settings,
        host=settings.host if options.host is None else options.host,
        port=settings.port if options.port is None else options.port,
        limits=options.limits or settings.limits,
    )
