"""Writes the records below ``vcs/``: a full key with canonical JSON, or None to remove it.

==========================  =====================================================================
``vcs/vc/<vc>``             a virtual cluster and its ``spec.lowering``
``vcs/link/<vc>/<link>``    a link; PENDING without topic id: its topic is being created (VC-063)
``vcs/user/<principal>``    the virtual cluster of a user; ``vcs/client/<id>`` of a client id
``vcs/group/<physical>``    a group, and the global one that it took over; ``vcs/txn/<physical>``
``vcs/vcacl/<hash>``        a declared binding (VC-327)
``vcs/acl/<hash>``          a physical binding for such; no other is ever deleted (VC-175)
``vcs/vcquota/<entity>/<key>``  a declared quota
``vcs/quota/<entity>/<key>``    a physical value for such; null: the global one is only hidden
``vcs/quota-shadow/…``      the global value that it hides, to be restored (VC-220)
==========================  =====================================================================
"""

from collections.abc import Mapping
from enum import StrEnum

from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.objects import binding_to_json
from kgitops.model.json.virtual_clusters import options_to_json
from kgitops.model.lowered import LoweredAcl, LoweredQuota
from kgitops.model.registry import SCHEMA_VERSION, Json
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import encode
from kgitops.model.resources.quotas import ClientQuotaEntity, quota_text
from kgitops.model.resources.virtual_clusters import (
    DEFAULT,
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
    physical_id,
)

Record = tuple[str, Mapping[str, Json] | None]
QuotaKey = tuple[ClientQuotaEntity, str]
"""One quota: the entity, and Kafka's key."""
PREFIX = "vcs/"


class RecordStatus(StrEnum):
    """The progress of a recorded object (VC-329).

    PENDING: it does not exist yet. DELETING: it still exists. Both last until the physical changes
    are done.
    """

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DELETING = "DELETING"


def removal(record: Record) -> Record:
    """The removal of a record."""
    return record[0], None


def virtual_cluster_record(name: str, options: LoweringOptions) -> Record:
    """The record of a virtual cluster."""
    return _record("vc", encode(name), {"options": options_to_json(options)})


def link_record(
    virtual_cluster: str, link: TopicLink, status: RecordStatus = RecordStatus.ACTIVE
) -> Record:
    """The record of a link to a physical topic."""
    return _record(
        "link",
        f"{encode(virtual_cluster)}/{encode(link.name)}",
        {"topic": link.topic, "topic_id": link.topic_id, "status": status.value},
    )


def user_record(
    virtual_cluster: str, user: str, status: RecordStatus = RecordStatus.ACTIVE
) -> Record:
    """The record of a user's virtual cluster; its key allows only one (VC-080)."""
    value = {"virtual_cluster": virtual_cluster, "status": status.value}
    return _record("user", encode(user), value)


def member_record(local: LocalName, entity_type: EntityType, adopts: str | None = None) -> Record:
    """The record of a client id, group or transactional id of a virtual cluster."""
    physical = physical_id(local.virtual_cluster, local.name)
    match entity_type:
        case EntityType.CLIENT_ID:
            value = {"virtual_cluster": local.virtual_cluster}
            return _record("client", encode(local.name), value)
        case EntityType.GROUP:
            value = {"virtual_cluster": local.virtual_cluster, "name": local.name}
            return _record("group", encode(physical), {**value, "adopts": adopts})
        case EntityType.TRANSACTIONAL_ID:
            value = {"virtual_cluster": local.virtual_cluster, "name": local.name}
            return _record("txn", encode(physical), value)
        case EntityType.TOPIC | EntityType.USER:
            raise ValueError(f"a {entity_type} has a record of its own kind")


def acl_record(binding: AclBinding, status: RecordStatus = RecordStatus.ACTIVE) -> Record:
    """The record of a declared binding of virtual clusters."""
    value = {"binding": binding_to_json(binding), "status": status.value}
    return _record("vcacl", acl_hash(binding), value)


def lowered_acl_record(acl: LoweredAcl) -> Record:
    """The record of a physical binding for bindings of a virtual cluster."""
    value = {
        "binding": binding_to_json(acl.binding),
        "virtual_cluster": acl.virtual_cluster,
        "sources": list(acl.sources),
        "adopted": acl.adopted,
    }
    return _record("acl", acl_hash(acl.binding), value)


def quota_record(
    entity: ClientQuotaEntity, key: str, value: float, status: RecordStatus = RecordStatus.ACTIVE
) -> Record:
    """The record of a declared quota of a virtual cluster."""
    return _record(
        "vcquota",
        _quota_key(entity, key),
        {"entity": dict(entity), "key": key, "value": quota_text(value), "status": status.value},
    )


def lowered_quota_record(quota: LoweredQuota) -> Record:
    """The record of a physical value for quotas of a virtual cluster."""
    value = {
        "entity": dict(quota.entity),
        "key": quota.key,
        "virtual_cluster": quota.virtual_cluster,
        "value": None if quota.value is None else quota_text(quota.value),
        "sources": list(quota.sources),
    }
    return _record("quota", _quota_key(quota.entity, quota.key), value)


def shadow_record(entity: ClientQuotaEntity, key: str, value: float) -> Record:
    """The record of the global value that a lowered one hides."""
    hidden = {"entity": dict(entity), "key": key, "value": quota_text(value)}
    return _record("quota-shadow", _quota_key(entity, key), hidden)


def acl_hash(binding: AclBinding) -> str:
    """The hash of a binding, for record keys."""
    return sha256(canonical_json(binding_to_json(binding))).removeprefix("sha256:")


def _quota_key(entity: ClientQuotaEntity, key: str) -> str:
    parts = (f"{kind}={DEFAULT if name is None else _literal(name)}" for kind, name in entity)
    return f"{','.join(parts)}/{encode(key)}"


def _literal(name: str) -> str:
    return "%3Cdefault%3E" if name == DEFAULT else encode(name)


def _record(kind: str, name: str, value: Mapping[str, Json]) -> Record:
    return f"{PREFIX}{kind}/{name}", {"schema_version": SCHEMA_VERSION, **value}
