"""Client quotas: the entities that they apply to, their keys, and their spelling."""

import math
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct, field

VIRTUAL_CLUSTER = "virtual-cluster"
USER = "user"
CLIENT_ID = "client-id"
IP = "ip"
ENTITY_TYPES = (VIRTUAL_CLUSTER, USER, CLIENT_ID, IP)

ClientQuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name) pairs in the order of ENTITY_TYPES; a None name is the default (F590-50)."""

# Kafka's QuotaConfigs; the values of INTEGRAL_KEYS are whole numbers (F590-51).
INTEGRAL_KEYS = frozenset({"producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"})
CLIENT_KEYS = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
IP_KEYS = frozenset({"connection_creation_rate"})
LONGEST = 2**63 - 1
"""Kafka's largest long, with which people write that there is no limit."""


class ClientQuotaState(Struct, frozen=True, kw_only=True):
    """The quotas of one entity, by Kafka's key, each a positive double."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float] = field(default_factory=dict)


def make_entity(parts: Mapping[str, str | None]) -> ClientQuotaEntity:
    """The entity of ``parts``, in the order of ENTITY_TYPES."""
    return tuple((kind, parts[kind]) for kind in ENTITY_TYPES if kind in parts)


def quota_keys(entity: ClientQuotaEntity) -> frozenset[str]:
    """The quota keys that Kafka knows for this entity."""
    return IP_KEYS if any(kind == IP for kind, _ in entity) else CLIENT_KEYS


def quota_number(value: float) -> int | float:
    """A quota as manifests have it: a whole number where it is one."""
    return int(quota_text(value)) if value.is_integer() else value


def quota_text(value: float) -> str:
    """The shortest decimal string of a quota: ``10485760``, ``12.5``, never an exponent."""
    if value == float(LONGEST):  # the double is one more
        return str(LONGEST)
    if value == math.floor(value):
        return str(int(value))
    # repr gives the shortest text that reads back as the same double, also below 1e-4.
    return format(Decimal(repr(value)), "f")
