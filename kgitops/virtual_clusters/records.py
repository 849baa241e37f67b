"""Records of changes of virtual clusters (VC-319): replaying them gives the next image."""

from msgspec import Struct, field

from kgitops.model.resources.virtual_clusters import EntityType, LoweringOptions


class VirtualClusterRecord(Struct, frozen=True, kw_only=True):
    """A virtual cluster was created, or its ``options`` changed; its entities stay."""

    name: str
    options: LoweringOptions = field(default_factory=LoweringOptions)


class RemoveVirtualClusterRecord(Struct, frozen=True, kw_only=True):
    """A virtual cluster was removed."""

    name: str


class VirtualClusterTopicLinkRecord(Struct, frozen=True, kw_only=True):
    """A link was set to a topic; with ``topic`` None it was removed."""

    virtual_cluster: str
    link_name: str
    topic: str | None
    topic_id: str | None = None


class VirtualClusterEntityRecord(Struct, frozen=True, kw_only=True):
    """A user, client id, group or transactional id was added to a virtual cluster, or removed.

    ``adopts`` is the global group that a group took over.
    """

    virtual_cluster: str
    entity_type: EntityType
    entity_name: str
    remove: bool = False
    adopts: str | None = None


VirtualClusterMetadataRecord = (
    VirtualClusterRecord
    | RemoveVirtualClusterRecord
    | VirtualClusterTopicLinkRecord
    | VirtualClusterEntityRecord
)
