"""What only a snapshot of a cluster with virtual clusters has: parts that are never written empty.

So the snapshot of a cluster without them is what it always was.
"""

from collections.abc import Mapping
from typing import TypeVar

from kgitops.model.cluster_state import ClusterState, GroupOffsets
from kgitops.model.json.objects import binding_to_json, read_binding, read_entity, read_quota
from kgitops.model.json.strict import (
    ShapeError,
    array,
    boolean,
    integer,
    integer_text,
    mapping,
    members,
    text,
    text_or_none,
)
from kgitops.model.json.virtual_clusters import options_to_json, read_options
from kgitops.model.lowered import Lowered, LoweredAcl, LoweredQuota
from kgitops.model.registry import Json
from kgitops.model.resources.quotas import ClientQuotaEntity, quota_text
from kgitops.model.resources.virtual_clusters import LocalName, TopicLink, VirtualCluster

K = TypeVar("K")
V = TypeVar("V")

VIRTUAL_CLUSTER_KEYS = ("virtual_clusters", "lowered", "group_offsets", "settings")
_CLUSTER_KEYS = ("name", "links", "users", "client_ids", "groups", "transactional_ids", "options")
_LINK_KEYS = ("name", "topic", "topic_id")
_ACL_KEYS = ("binding", "virtual_cluster", "sources", "adopted", "present")
_QUOTA_KEYS = ("entity", "key", "virtual_cluster", "value", "sources", "hidden", "found")
_PENDING_KEYS = ("virtual_cluster", "name", "topic")
_OFFSET_KEYS = ("topic", "partition", "offset")


def virtual_clusters_to_json(state: ClusterState) -> dict[str, Json]:
    """What the state has of these parts."""
    parts: dict[str, Json] = {
        "virtual_clusters": [
            _cluster_to_json(state.virtual_clusters[name])
            for name in sorted(state.virtual_clusters)
        ],
        "lowered": None if state.lowered is None else _lowered_to_json(state.lowered),
        "group_offsets": {
            group: _offsets_to_json(state.group_offsets[group])
            for group in sorted(state.group_offsets)
        },
        "settings": {key: state.settings[key] for key in sorted(state.settings)},
    }
    return {key: part for key, part in parts.items() if part}


def read_virtual_clusters(value: Json, path: str) -> Mapping[str, VirtualCluster]:
    """The virtual clusters by name."""
    found = array(value, path, _cluster)
    return _once({cluster.name: cluster for cluster in found}, len(found), path)


def read_lowered(value: Json, path: str) -> Lowered:
    """What stands for virtual clusters on a Kafka without them."""
    given = members(value, path, ("acls", "quotas", "pending"))
    acls = array(given["acls"], f"{path}.acls", _acl)
    quotas = array(given["quotas"], f"{path}.quotas", _quota)
    pending = array(given["pending"], f"{path}.pending", _pending)
    return Lowered(
        acls=_once({acl.binding: acl for acl in acls}, len(acls), f"{path}.acls"),
        quotas=_once(
            {(quota.entity, quota.key): quota for quota in quotas}, len(quotas), f"{path}.quotas"
        ),
        pending=_once(dict(pending), len(pending), f"{path}.pending"),
    )


def read_group_offsets(value: Json, path: str) -> Mapping[str, GroupOffsets]:
    """What groups have committed, by physical group id."""
    return {
        group: dict(array(offsets, f"{path}.{group}", _offset))
        for group, offsets in mapping(value, path).items()
    }


def _once(found: dict[K, V], times: int, path: str) -> dict[K, V]:
    if len(found) < times:
        raise ShapeError(f"{path} has something twice")
    return found


def _cluster_to_json(found: VirtualCluster) -> Json:
    return {
        "name": found.name,
        "links": [
            {"name": link.name, "topic": link.topic, "topic_id": link.topic_id}
            for _, link in sorted(found.links.items())
        ],
        "users": sorted(found.users),
        "client_ids": sorted(found.client_ids),
        "groups": {name: found.groups[name] for name in sorted(found.groups)},
        "transactional_ids": sorted(found.transactional_ids),
        "options": options_to_json(found.options),
    }


def _cluster(value: Json, path: str) -> VirtualCluster:
    given = members(value, path, _CLUSTER_KEYS)
    links = array(given["links"], f"{path}.links", _link)
    return VirtualCluster(
        name=text(given["name"], f"{path}.name"),
        links=_once({link.name: link for link in links}, len(links), f"{path}.links"),
        users=frozenset(array(given["users"], f"{path}.users", text)),
        client_ids=frozenset(array(given["client_ids"], f"{path}.client_ids", text)),
        groups={
            name: text_or_none(source, f"{path}.groups.{name}")
            for name, source in mapping(given["groups"], f"{path}.groups").items()
        },
        transactional_ids=frozenset(
            array(given["transactional_ids"], f"{path}.transactional_ids", text)
        ),
        options=read_options(given["options"], f"{path}.options"),
    )


def _link(value: Json, path: str) -> TopicLink:
    given = members(value, path, _LINK_KEYS)
    return TopicLink(
        name=text(given["name"], f"{path}.name"),
        topic=text(given["topic"], f"{path}.topic"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
    )


def _lowered_to_json(lowered: Lowered) -> Json:
    return {
        "acls": [
            {
                "binding": binding_to_json(binding),
                "virtual_cluster": acl.virtual_cluster,
                "sources": list(acl.sources),
                "adopted": acl.adopted,
                "present": acl.present,
            }
            for binding, acl in sorted(lowered.acls.items())
        ],
        "quotas": [
            {
                "entity": dict(quota.entity),
                "key": quota.key,
                "virtual_cluster": quota.virtual_cluster,
                "value": _number_to_json(quota.value),
                "sources": list(quota.sources),
                "hidden": _number_to_json(quota.hidden),
                "found": _number_to_json(quota.found),
            }
            for _, quota in sorted(lowered.quotas.items(), key=_quota_order)
        ],
        "pending": [
            {"virtual_cluster": local.virtual_cluster, "name": local.name, "topic": topic}
            for local, topic in sorted(lowered.pending.items())
        ],
    }


def _quota_order(item: tuple[tuple[ClientQuotaEntity, str], LoweredQuota]) -> Json:
    (entity, key), _ = item
    return [(kind, name is not None, name or "") for kind, name in entity], key


def _acl(value: Json, path: str) -> LoweredAcl:
    given = members(value, path, _ACL_KEYS)
    return LoweredAcl(
        binding=read_binding(given["binding"], f"{path}.binding"),
        virtual_cluster=text(given["virtual_cluster"], f"{path}.virtual_cluster"),
        sources=array(given["sources"], f"{path}.sources", text),
        adopted=boolean(given["adopted"], f"{path}.adopted"),
        present=boolean(given["present"], f"{path}.present"),
    )


def _quota(value: Json, path: str) -> LoweredQuota:
    given = members(value, path, _QUOTA_KEYS)
    return LoweredQuota(
        entity=read_entity(given["entity"], f"{path}.entity"),
        key=text(given["key"], f"{path}.key"),
        virtual_cluster=text(given["virtual_cluster"], f"{path}.virtual_cluster"),
        value=_number(given["value"], f"{path}.value"),
        sources=array(given["sources"], f"{path}.sources", text),
        hidden=_number(given["hidden"], f"{path}.hidden"),
        found=_number(given["found"], f"{path}.found"),
    )


def _pending(value: Json, path: str) -> tuple[LocalName, str]:
    given = members(value, path, _PENDING_KEYS)
    local = LocalName(
        text(given["virtual_cluster"], f"{path}.virtual_cluster"),
        text(given["name"], f"{path}.name"),
    )
    return local, text(given["topic"], f"{path}.topic")


def _offsets_to_json(offsets: GroupOffsets) -> Json:
    return [
        {"topic": topic, "partition": partition, "offset": str(offset)}
        for (topic, partition), offset in sorted(offsets.items())
    ]


def _offset(value: Json, path: str) -> tuple[tuple[str, int], int]:
    given = members(value, path, _OFFSET_KEYS)
    place = text(given["topic"], f"{path}.topic"), integer(given["partition"], f"{path}.partition")
    return place, integer_text(given["offset"], f"{path}.offset")


def _number_to_json(number: float | None) -> str | None:
    return None if number is None else quota_text(number)


def _number(value: Json, path: str) -> float | None:
    return None if value is None else read_quota(value, path)
