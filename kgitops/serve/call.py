"""One request with all that an answer to it needs."""

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.image.image import Image
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, ResourceType
from kgitops.serve.nodes import Node, ServedCluster
from kgitops.wire.frames import RequestFrame


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

    @property
    def seed(self) -> bool:
        """True if the cluster follows the seed KIPs to the letter."""
        return self.cluster.controller.options.seed

    def image(self) -> Image:
        """The cluster as this node sees it now."""
        return self.cluster.view_of(self.node)

    def allows(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Tell if the client has a right, in the names of the physical cluster."""
        return self.cluster.controller.read(
            lambda draft: draft.authorizer.allows(operation, kind, name),
            self.image(),
            principal=self.principal,
            host=self.host,
            client_id=self.client_id,
        )

    def with_admin(self, admin: EmbeddedAdmin) -> "ApiCall":
        """The request over another connection to the embedded cluster."""
        return replace(self, admin=admin)


def make_call(
    cluster: ServedCluster, frame: RequestFrame, node: Node, *, principal: str, host: str
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
    )
