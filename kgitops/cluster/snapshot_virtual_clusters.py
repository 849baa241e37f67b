"""The parts of a snapshot that only a cluster with virtual clusters has; never written empty.

So the format of snapshots of other clusters did not change.
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
    """Write the parts that the state has."""
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
    """Read the virtual clusters by name."""
    clusters = array(value, path, _cluster)
    return _unique({cluster.name: cluster for cluster in clusters}, len(clusters), path)


def read_lowered(value: Json, path: str) -> Lowered:
    """Read the lowered ACLs and quotas of virtual clusters on a Kafka without them."""
    fields = members(value, path, ("acls", "quotas", "pending"))
    acls = array(fields["acls"], f"{path}.acls", _acl)
    quotas = array(fields["quotas"], f"{path}.quotas", _quota)
    pending = array(fields["pending"], f"{path}.pending", _pending)
    return Lowered(
        acls=_unique({acl.binding: acl for acl in acls}, len(acls), f"{path}.acls"),
        quotas=_unique(
            {(quota.entity, quota.key): quota for quota in quotas}, len(quotas), f"{path}.quotas"
        ),
        pending=_unique(dict(pending), len(pending), f"{path}.pending"),
    )


def read_group_offsets(value: Json, path: str) -> Mapping[str, GroupOffsets]:
    """Read the committed offsets by physical group id."""
    return {
        group: dict(array(offsets, f"{path}.{group}", _offset))
        for group, offsets in mapping(value, path).items()
    }


def _unique(values: dict[K, V], count: int, path: str) -> dict[K, V]:
    if len(values) < count:
        raise ShapeError(f"{path} has something twice")
    return values


def _cluster_to_json(cluster: VirtualCluster) -> Json:
    return {
        "name": cluster.name,
        "links": [
            {"name": link.name, "topic": link.topic, "topic_id": link.topic_id}
            for _, link in sorted(cluster.links.items())
        ],
        "users": sorted(cluster.users),
        "client_ids": sorted(cluster.client_ids),
        "groups": {name: cluster.groups[name] for name in sorted(cluster.groups)},
        "transactional_ids": sorted(cluster.transactional_ids),
        "options": options_to_json(cluster.options),
    }


def _cluster(value: Json, path: str) -> VirtualCluster:
    fields = members(value, path, _CLUSTER_KEYS)
    links = array(fields["links"], f"{path}.links", _link)
    return VirtualCluster(
        name=text(fields["name"], f"{path}.name"),
        links=_unique({link.name: link for link in links}, len(links), f"{path}.links"),
        users=frozenset(array(fields["users"], f"{path}.users", text)),
        client_ids=frozenset(array(fields["client_ids"], f"{path}.client_ids", text)),
        groups={
            name: text_or_none(source, f"{path}.groups.{name}")
            for name, source in mapping(fields["groups"], f"{path}.groups").items()
        },
        transactional_ids=frozenset(
            array(fields["transactional_ids"], f"{path}.transactional_ids", text)
        ),
        options=read_options(fields["options"], f"{path}.options"),
    )


def _link(value: Json, path: str) -> TopicLink:
    fields = members(value, path, _LINK_KEYS)
    return TopicLink(
        name=text(fields["name"], f"{path}.name"),
        topic=text(fields["topic"], f"{path}.topic"),
        topic_id=text_or_none(fields["topic_id"], f"{path}.topic_id"),
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
    fields = members(value, path, _ACL_KEYS)
    return LoweredAcl(
        binding=read_binding(fields["binding"], f"{path}.binding"),
        virtual_cluster=text(fields["virtual_cluster"], f"{path}.virtual_cluster"),
        sources=array(fields["sources"], f"{path}.sources", text),
        adopted=boolean(fields["adopted"], f"{path}.adopted"),
        present=boolean(fields["present"], f"{path}.present"),
    )


def _quota(value: Json, path: str) -> LoweredQuota:
    fields = members(value, path, _QUOTA_KEYS)
    return LoweredQuota(
        entity=read_entity(fields["entity"], f"{path}.entity"),
        key=text(fields["key"], f"{path}.key"),
        virtual_cluster=text(fields["virtual_cluster"], f"{path}.virtual_cluster"),
        value=_number(fields["value"], f"{path}.value"),
        sources=array(fields["sources"], f"{path}.sources", text),
        hidden=_number(fields["hidden"], f"{path}.hidden"),
        found=_number(fields["found"], f"{path}.found"),
    )


def _pending(value: Json, path: str) -> tuple[LocalName, str]:
    fields = members(value, path, _PENDING_KEYS)
    local = LocalName(
        text(fields["virtual_cluster"], f"{path}.virtual_cluster"),
        text(fields["name"], f"{path}.name"),
    )
    return local, text(fields["topic"], f"{path}.topic")


def _offsets_to_json(offsets: GroupOffsets) -> Json:
    return [
        {"topic": topic, "partition": partition, "offset": str(offset)}
        for (topic, partition), offset in sorted(offsets.items())
    ]


def _offset(value: Json, path: str) -> tuple[tuple[str, int], int]:
    fields = members(value, path, _OFFSET_KEYS)
    place = (
        text(fields["topic"], f"{path}.topic"),
        integer(fields["partition"], f"{path}.partition"),
    )
    return place, integer_text(fields["offset"], f"{path}.offset")


def _number_to_json(number: float | None) -> str | None:
    return None if number is None else quota_text(number)


def _number(value: Json, path: str) -> float | None:
    return None if value is None else read_quota(value, path)
