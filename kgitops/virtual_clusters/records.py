"""Records of changes of virtual clusters (VC-319): replaying them gives the next image."""

from dataclasses import dataclass, field

from kgitops.model.resources.virtual_clusters import EntityType, LoweringOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterRecord:
    """A virtual cluster was created, or its ``options`` changed; its entities stay."""

    name: str
    options: LoweringOptions = field(default_factory=LoweringOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVirtualClusterRecord:
    """A virtual cluster was removed."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterTopicLinkRecord:
    """A link was set to a topic; with ``topic`` None it was removed."""

    virtual_cluster: str
    link_name: str
    topic: str | None
    topic_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterEntityRecord:
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
