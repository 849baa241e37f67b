"""The parts of a snapshot that only a cluster with virtual clusters has."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.json.codec import JsonObject, WholeNumberText
from kgitops.model.json.objects import (
    BindingDocument,
    Entity,
    ShortestDecimals,
    binding_document,
    binding_of,
    like,
)
from kgitops.model.json.strict import ShapeError
from kgitops.model.lowered import Lowered, LoweredAcl, LoweredQuota
from kgitops.model.registry import Json
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity
from kgitops.model.resources.virtual_clusters import (
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)

K = TypeVar("K")
V = TypeVar("V")


class VirtualClusterPart(JsonObject, frozen=True, kw_only=True):
    """One of ``virtual_clusters``."""

    name: str
    links: tuple[TopicLink, ...]
    users: frozenset[str]
    client_ids: frozenset[str]
    groups: Mapping[str, str | None]
    transactional_ids: frozenset[str]
    options: LoweringOptions


class LoweredAclPart(JsonObject, frozen=True, kw_only=True):
    """One of ``lowered.acls``."""

    binding: BindingDocument
    virtual_cluster: str
    sources: tuple[str, ...]
    adopted: bool
    present: bool


class LoweredQuotaPart(JsonObject, frozen=True, kw_only=True):
    """One of ``lowered.quotas``."""

    entity: Entity
    key: str
    virtual_cluster: str
    value: ShortestDecimals | None
    sources: tuple[str, ...]
    hidden: ShortestDecimals | None
    found: ShortestDecimals | None


class PendingDocument(JsonObject, frozen=True, kw_only=True):
    """One of ``lowered.pending``: the local and the physical name of a topic."""

    virtual_cluster: str
    name: str
    topic: str


class LoweredDocument(JsonObject, frozen=True, kw_only=True):
    """The ACLs and quotas on a Kafka without virtual clusters that stand in for theirs."""

    acls: tuple[LoweredAclPart, ...]
    quotas: tuple[LoweredQuotaPart, ...]
    pending: tuple[PendingDocument, ...]


class OffsetDocument(JsonObject, frozen=True, kw_only=True):
    """One committed offset of a group."""

    topic: str
    partition: int
    offset: WholeNumberText


def by_key(path: str, items: Iterable[tuple[K, V]]) -> dict[K, V]:
    """The items of an array by their keys.

    Raises:
        ShapeError: two have the same key.
    """
    found: dict[K, V] = {}
    for key, value in items:
        if key in found:
            raise ShapeError(f"{path} has {key!r} twice")
        found[key] = value
    return found


def entity_order(entity: ClientQuotaEntity) -> Json:
    """Sorts entities: the default of a type comes before names."""
    return [(kind, name is not None, name or "") for kind, name in entity]


def virtual_cluster_document(cluster: VirtualCluster) -> VirtualClusterPart:
    links = tuple(cluster.links[name] for name in sorted(cluster.links))
    return like(VirtualClusterPart, cluster, links=links)


def virtual_cluster_of(document: VirtualClusterPart) -> VirtualCluster:
    """The virtual cluster in a document; errors as of ``by_key``."""
    links = by_key(
        f"virtual_clusters.{document.name}.links", ((link.name, link) for link in document.links)
    )
    return like(VirtualCluster, document, links=links)


def lowered_document(lowered: Lowered) -> LoweredDocument:
    """The document of what is lowered, without what is missing or begun."""
    acls = [lowered.acls[binding] for binding in sorted(lowered.acls)]
    quotas = sorted(lowered.quotas.values(), key=lambda each: (entity_order(each.entity), each.key))
    return LoweredDocument(
        acls=tuple(
            like(LoweredAclPart, acl, binding=binding_document(acl.binding)) for acl in acls
        ),
        quotas=tuple(map(_quota_document, quotas)),
        pending=tuple(
            PendingDocument(virtual_cluster=local.virtual_cluster, name=local.name, topic=topic)
            for local, topic in sorted(lowered.pending.items())
        ),
    )


def lowered_of(document: LoweredDocument) -> Lowered:
    """The lowered ACLs and quotas in a document; errors as of ``by_key``."""
    acls = (like(LoweredAcl, acl, binding=binding_of(acl.binding)) for acl in document.acls)
    quotas = map(_quota_of, document.quotas)
    local = (LocalName(each.virtual_cluster, each.name) for each in document.pending)
    topics = (each.topic for each in document.pending)
    return Lowered(
        acls=by_key("lowered.acls", ((acl.binding, acl) for acl in acls)),
        quotas=by_key("lowered.quotas", (((each.entity, each.key), each) for each in quotas)),
        pending=by_key("lowered.pending", zip(local, topics, strict=True)),
    )


def _quota_document(quota: LoweredQuota) -> LoweredQuotaPart:
    numbers = (quota.value, quota.hidden, quota.found)
    value, hidden, found = (None if each is None else ShortestDecimals.of(each) for each in numbers)
    entity = dict(quota.entity)
    return like(LoweredQuotaPart, quota, entity=entity, value=value, hidden=hidden, found=found)


def _quota_of(document: LoweredQuotaPart) -> LoweredQuota:
    numbers = (document.value, document.hidden, document.found)
    value, hidden, found = (None if each is None else float(each) for each in numbers)
    entity = make_entity(document.entity)
    return like(LoweredQuota, document, entity=entity, value=value, hidden=hidden, found=found)


def offset_documents(offsets: GroupOffsets) -> tuple[OffsetDocument, ...]:
    """The documents of a group's committed offsets."""
    return tuple(
        OffsetDocument(topic=topic, partition=partition, offset=str(offset))
        for (topic, partition), offset in sorted(offsets.items())
    )


def offsets_of(documents: Iterable[OffsetDocument]) -> GroupOffsets:
    """The committed offsets in the documents of a group."""
    return {(each.topic, each.partition): int(each.offset) for each in documents}
