"""One request with all that an answer to it needs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import Image
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.nodes import Node, ServedCluster
from kgitops.virtual_clusters.resolution import bind
from kgitops.wire.frames import RequestFrame
from kgitops.wire.messages import Message

T = TypeVar("T")

Later = Callable[[], Awaitable[Message]]
"""An answer that something is waited for, in the event loop."""
Decide = Callable[[Callable[[], Message]], Awaitable[Message]]
"""Calls a function in the thread in which the cluster changes."""
CreateTopics = Callable[[Sequence[str]], Awaitable[Mapping[str, ErrorCode]]]
"""Has the controller create topics that a client asked for: the errors of those that it refused."""


class ApiCall(Struct, frozen=True, kw_only=True):
    """A client's request at a node, in a version of its API."""

    cluster: ServedCluster
    node: Node
    admin: EmbeddedAdmin
    """The client's own connection to the embedded cluster: with its principal and host."""
    version: int
    principal: str
    host: str
    client_id: str | None = None
    decide: Decide
    """For an answer that has to change the cluster, although most like it only read."""
    create_topics: CreateTopics | None = None
    """None where the node decides itself."""
    on_close: dict[object, Callable[[], None]] = field(default_factory=dict)
    """Called in the event loop once the client's connection is closed."""

    @property
    def seed(self) -> bool:
        """True if the cluster follows the seed KIPs to the letter."""
        return self.cluster.controller.options.seed

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster that the client is in, as this node sees it now (VC-091)."""
        binding = bind(self.image().virtual_clusters, self.principal, self.client_id)
        return binding.virtual_cluster.name if binding else None

    def image(self) -> Image:
        """The cluster as this node sees it now."""
        return self.cluster.view_of(self.node)

    def allows(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Return whether the client has a right, in the names of the physical cluster."""
        return self.read(lambda draft: draft.authorizer.allows(operation, kind, name))

    def read(self, look: Callable[[Draft], T]) -> T:
        """Return what a function finds in the cluster, with the client's rights and names."""
        return self.cluster.controller.read(
            look,
            self.image(),
            principal=self.principal,
            host=self.host,
            client_id=self.client_id,
        )

    def with_admin(self, admin: EmbeddedAdmin) -> "ApiCall":
        """The request over another connection to the embedded cluster."""
        return replace(self, admin=admin)


def decide_in(thread: Executor) -> Decide:
    """Have functions called in the thread of decisions, from the event loop."""

    def decide(function: Callable[[], Message]) -> Awaitable[Message]:
        return asyncio.get_running_loop().run_in_executor(thread, function)

    return decide


def make_call(
    cluster: ServedCluster,
    frame: RequestFrame,
    node: Node,
    decide: Decide,
    *,
    principal: str,
    host: str,
    create_topics: CreateTopics | None = None,
    on_close: dict[object, Callable[[], None]] | None = None,
) -> ApiCall:
    """A client's request at a node, with a connection of its own to the embedded cluster."""
    admin = EmbeddedAdmin(
        cluster.controller,
        principal=principal,
        host=host,
        client_id=frame.client_id,
        view=lambda: cluster.view_of(node),
    )
    return ApiCall(
        cluster=cluster,
        node=node,
        admin=admin,
        version=frame.version,
        principal=principal,
        host=host,
        client_id=frame.client_id,
        decide=decide,
        create_topics=create_topics,
        on_close={} if on_close is None else on_close,
    )
