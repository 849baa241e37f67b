"""Which virtual cluster a caller is in, and what its names mean there."""

from dataclasses import dataclass
from enum import StrEnum

from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster, physical_id
from kgitops.virtual_clusters.image import VirtualClustersImage


class Reason(StrEnum):
    """By what a caller is bound; its user counts before its client id (VC-084)."""

    USER = "user"
    CLIENT_ID = "clientId"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The namespace of one bound caller."""

    virtual_cluster: VirtualCluster
    reason: Reason

    def link(self, name: str) -> TopicLink | None:
        """The topic by that name; there is no falling back to global topics (VC-029)."""
        return self.virtual_cluster.links.get(name)

    def physical_id(self, local_id: str) -> str:
        """The physical group or transactional id (VC-111, VC-120)."""
        return physical_id(self.virtual_cluster.name, local_id)

    def local_id(self, physical: str) -> str | None:
        """The local id behind a physical one; None for one of another virtual cluster or none."""
        prefix = physical_id(self.virtual_cluster.name, "")
        return physical.removeprefix(prefix) if physical.startswith(prefix) else None


def bind(image: VirtualClustersImage, principal: str, client_id: str | None) -> Binding | None:
    """Where the caller is; None: in no virtual cluster (VC-010, VC-088)."""
    for found, reason in (
        (image.users.get(principal), Reason.USER),
        (image.client_ids.get(client_id) if client_id else None, Reason.CLIENT_ID),
    ):
        if found is not None:
            return Binding(virtual_cluster=image.by_name[found], reason=reason)
    return None
