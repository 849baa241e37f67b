"""What became true of virtual clusters (VC-319): replaying these alone makes the next image."""

from dataclasses import dataclass, field

from kgitops.model.resources.virtual_clusters import EntityType, LoweringOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterRecord:
    """A virtual cluster came to be, or has other ``options``; what is in it stays."""

    name: str
    options: LoweringOptions = field(default_factory=LoweringOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVirtualClusterRecord:
    """A virtual cluster is gone."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterTopicLinkRecord:
    """A link leads to a topic from now on; ``topic`` None: the link is gone."""

    virtual_cluster: str
    link_name: str
    topic: str | None
    topic_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterEntityRecord:
    """A user, client id, group or transactional id belongs to a virtual cluster, or no longer.

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
