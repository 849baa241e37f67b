"""What policies see of objects besides topics; topics are the model's own states."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink, VirtualCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState:
    """A broker's configs (P201-82)."""

    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedBrokerState(BrokerState):
    """A broker as it would be after a request (P201-83).

    ``configs`` is the true state afterwards; ``requested_configs`` only what the request names,
    None for a key that it removes.
    """

    requested_configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaState:
    """The quotas of one entity, by Kafka's key."""

    quotas: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedQuotaState(QuotaState):
    """The quotas as they would be; ``requested_quotas`` has None for a key that is removed."""

    requested_quotas: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterState:
    """Who and what belongs to a virtual cluster.

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
    """What is to happen to a member of a virtual cluster, or to the virtual cluster itself."""

    ADD = "add"
    REMOVE = "remove"
    COPY_OFFSETS = "copyOffsets"
    DELETE_GROUP = "deleteGroup"
    OPTIONS = "options"


def virtual_cluster_state(found: VirtualCluster) -> VirtualClusterState:
    """The virtual cluster such that whoever gets it can't change what it holds."""
    return VirtualClusterState(
        name=found.name,
        users=found.users,
        client_ids=found.client_ids,
        groups=frozenset(found.groups),
        transactional_ids=found.transactional_ids,
        links=MappingProxyType(found.links),
        options=found.options,
    )
