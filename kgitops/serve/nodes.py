"""The nodes of a served cluster, and its controllers: which is active, and which are down."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.image.image import Image
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import UsageError
from kgitops.serve.data.data_plane import DataPlane
from kgitops.serve.encoded_rows import EncodedRowCache
from kgitops.serve.groups.coordinator import GroupCoordinator
from kgitops.serve.views import BrokerViews

FIRST_CONTROLLER = 3000


class Quorum:
    """Controllers by id, used in the event loop; reading the active one is safe in any thread.

    All of them decide from one store, so an election loses nothing (F590-03).
    """

    def __init__(self, controllers: Sequence[int]) -> None:
        self.controllers = tuple(controllers)
        self.active: int | None = self.controllers[0]
        """The controller that decides; None while none does."""
        self.epoch = 1
        """Grows with each election."""
        self._down: set[int] = set()

    def move(self, to: int | None) -> None:
        """Make another controller the active one; None: none is, until the next move.

        Raises:
            UsageError: there is no such controller, or it is down.
        """
        if to is not None:
            self._known(to)
            if to in self._down:
                raise UsageError(f"controller {to} is down; start it first")
        self.active = to
        self.epoch += 1

    def stop(self, controller: int) -> None:
        """Count a controller as down; another one becomes active if it was.

        Raises:
            UsageError: there is no such controller.
        """
        self._known(controller)
        self._down.add(controller)
        if self.active == controller:
            living = (item for item in self.controllers if item not in self._down)
            self.move(next(living, None))

    def start(self, controller: int) -> None:
        """Count a controller as up again; it becomes active if none is.

        Raises:
            UsageError: there is no such controller.
        """
        self._known(controller)
        self._down.discard(controller)
        if self.active is None:
            self.move(controller)

    def _known(self, controller: int) -> None:
        if controller not in self.controllers:
            known = ", ".join(map(str, self.controllers))
            raise UsageError(f"there is no controller {controller}; the controllers are {known}")


class NodeKind(StrEnum):
    """The role of a node, by the word that Kafka's definitions have for its listeners."""

    BROKER = "broker"
    CONTROLLER = "controller"


class Endpoint(Struct, frozen=True):
    """An address that clients connect to."""

    host: str
    port: int

    def __str__(self) -> str:
        """As in ``--bootstrap-server``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Node(Struct, frozen=True, kw_only=True):
    """A broker or a controller, and the name and address of its listener."""

    id: int
    kind: NodeKind
    listener: str
    endpoint: Endpoint


class ServedCluster(Struct, frozen=True, kw_only=True):
    """The cluster behind the listeners, and its nodes: shared by all answers."""

    controller: Controller
    nodes: Mapping[int, Node]
    view: Callable[[], Image]
    """The cluster as the controller sees it now."""
    data: DataPlane
    views: BrokerViews
    controllers: Quorum
    groups: GroupCoordinator
    encoded_rows: EncodedRowCache = field(default_factory=EncodedRowCache)

    def view_of(self, node: Node) -> Image:
        """The cluster as a node sees it now: brokers may lag behind."""
        return self.views.of(node.id) if node.kind is NodeKind.BROKER else self.view()

    def living_brokers(self, image: Image) -> Sequence[tuple[Broker, Endpoint]]:
        """The brokers that are not fenced, with their addresses."""
        return [
            (broker, self.nodes[broker.id].endpoint)
            for broker in image.brokers.brokers.values()
            if not broker.fenced and broker.id in self.nodes
        ]

    def announced_controller(self, image: Image) -> int:
        """The broker that clients take for the controller: in KRaft any broker stands for it.

        -1 when none is alive.
        """
        return min((broker.id for broker, _ in self.living_brokers(image)), default=-1)

    @property
    def active_controller(self) -> Node:
        """The controller that decides; one of those that could while none does."""
        active = self.controllers.active
        return self.quorum[0] if active is None else self.nodes[active]

    @property
    def quorum(self) -> Sequence[Node]:
        """The controllers."""
        return [node for node in self.nodes.values() if node.kind is NodeKind.CONTROLLER]
