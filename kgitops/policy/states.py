"""What policies see of objects besides topics; topics are ``kgitops.model.topics``' own states."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    """Who and what belongs to a virtual cluster: ``users`` are principals, the rest names."""

    name: str
    users: frozenset[str] = frozenset()
    client_ids: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    transactional_ids: frozenset[str] = frozenset()
