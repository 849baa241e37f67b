"""Client quotas, and what changes of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.model.resources.quotas import CLIENT_ID, IP, USER, VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.records.changes import CHANGED, Sides, changes, differences
from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import DOUBLE, STRING, map_of, record

DEFAULT_ENTITY = "<default>"


@dataclass(frozen=True)
class Quota:
    """The quotas of one entity; ``requested`` are those that the request names."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float]
    requested: Mapping[str, float | None]


def _entity(quota: Quota, _: ClusterState) -> object:
    parts = {kind: DEFAULT_ENTITY if name is None else name for kind, name in quota.entity}
    return {
        "user": parts.get(USER),
        "clientId": parts.get(CLIENT_ID),
        "ip": parts.get(IP),
        "virtualCluster": parts.get(VIRTUAL_CLUSTER),
    }


_QUOTA = {
    "entity": Field(
        record(
            "an entity",
            dict.fromkeys(("user", "clientId", "ip", "virtualCluster"), STRING.or_null),
        ),
        f"Whom it is about: user, clientId, ip, virtualCluster; null where the entity has "
        f"no such part, `'{DEFAULT_ENTITY}'` for the default.",
        _entity,
    ),
    "quotas": Field(
        map_of(DOUBLE),
        "The quotas by Kafka's key, such as producer_byte_rate.",
        lambda quota, _: dict(quota.quotas),
    ),
}
CURRENT_QUOTA = Record("a quota", _QUOTA)
REQUESTED_QUOTA = Record(
    "a quota",
    {
        **_QUOTA,
        "requestedQuotas": Field(
            map_of(DOUBLE.or_null),
            "Only the quotas that the request names; null for a key that it removes.",
            lambda quota, _: dict(quota.requested),
        ),
    },
)


def _quotas(sides: Sides, _: ClusterState) -> object:
    before = {} if sides.before is None else sides.before.quotas
    return differences(before, sides.after.quotas, _same)


def _same(_key: str, before: object, after: object) -> bool:
    return before == after


QUOTA_CHANGE = Record("a change of a quota", {"quotas": Field(changes(DOUBLE), CHANGED, _quotas)})
