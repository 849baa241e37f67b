"""Objects other than topics as policies see them; for topics these are the model's states."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct, field

from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink, VirtualCluster


class BrokerState(Struct, frozen=True, kw_only=True):
    """A broker's configs (P201-82)."""

    configs: Mapping[str, str] = field(default_factory=dict)


class RequestedBrokerState(BrokerState, frozen=True, kw_only=True):
    """A broker as it would be after a request (P201-83).

    ``configs`` is the true state afterwards; ``requested_configs`` only what the request names,
    None for a key that it removes.
    """

    requested_configs: Mapping[str, str | None] = field(default_factory=dict)


class QuotaState(Struct, frozen=True, kw_only=True):
    """The quotas of one entity, by Kafka's key."""

    quotas: Mapping[str, float] = field(default_factory=dict)


class RequestedQuotaState(QuotaState, frozen=True, kw_only=True):
    """The quotas as they would be; ``requested_quotas`` has None for a key that is removed."""

    requested_quotas: Mapping[str, float | None] = field(default_factory=dict)


class VirtualClusterState(Struct, frozen=True, kw_only=True):
    """A virtual cluster with its members and links.

    ``users`` are principals; ``links`` are by link name, and each knows its physical topic; the
    rest are names within the virtual cluster.
    """

    name: str
    users: frozenset[str] = frozenset()
    client_ids: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    transactional_ids: frozenset[str] = frozenset()
    links: Mapping[str, TopicLink] = field(default_factory=dict)
    options: LoweringOptions = field(default_factory=LoweringOptions)


class VirtualClusterChange(StrEnum):
    """The change of a member of a virtual cluster, or of the virtual cluster itself."""

    ADD = "add"
    REMOVE = "remove"
    COPY_OFFSETS = "copyOffsets"
    DELETE_GROUP = "deleteGroup"
    OPTIONS = "options"


def virtual_cluster_state(virtual_cluster: VirtualCluster) -> VirtualClusterState:
    """A read-only view of the virtual cluster."""
    return VirtualClusterState(
        name=virtual_cluster.name,
        users=virtual_cluster.users,
        client_ids=virtual_cluster.client_ids,
        groups=frozenset(virtual_cluster.groups),
        transactional_ids=virtual_cluster.transactional_ids,
        links=MappingProxyType(virtual_cluster.links),
        options=virtual_cluster.options,
    )
