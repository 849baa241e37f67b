"""Virtual clusters with their members as documents, and their links."""

from collections.abc import Mapping

from kgitops.kinds.exports import (
    Document,
    ExportNotes,
    ExportScope,
    Inline,
    Item,
    as_document,
    written_policy,
)
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import MembersMode
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.addresses import (
    local_topic_address,
    member_address,
    virtual_cluster_address,
)
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    LoweringOptions,
    VirtualCluster,
    generated_parts,
)

_BINDING_FIELDS = {
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "clientId",
    EntityType.TRANSACTIONAL_ID: "transactionalId",
}
_MEMBER_KINDS = (*_BINDING_FIELDS, EntityType.GROUP)


_WITHOUT = "left out, with the members that this project does not manage"


def local_topics(state: ClusterState, owners: Mapping[str, Owner]) -> dict[str, LocalName]:
    """The physical topics that were created in a virtual cluster, with their local names.

    A project's own record decides; else the link with the topic's own name, if it is the only one.
    """
    candidates: dict[str, list[LocalName]] = {}
    applied: dict[str, LocalName] = {}
    for name, virtual_cluster in state.virtual_clusters.items():
        for link in virtual_cluster.links.values():
            local = LocalName(name, link.name)
            owner = owners.get(local_topic_address(local))
            if owner is not None and not owner.spent:
                applied[link.topic] = local
            parts = generated_parts(link.topic)
            if parts is not None and parts[1] == link.name:
                candidates.setdefault(link.topic, []).append(local)
    only = {topic: locals_[0] for topic, locals_ in candidates.items() if len(locals_) == 1}
    return {**only, **applied}


def export_virtual_clusters(
    state: ClusterState, scope: ExportScope, notes: ExportNotes
) -> list[Item]:
    """Every virtual cluster that the project may declare, with those members that it may.

    Members with a deletionPolicy are documents of their own, and so are those that the project
    manages in a virtual cluster of another project.
    """
    items = []
    for name in sorted(state.virtual_clusters):
        virtual_cluster = state.virtual_clusters[name]
        documents: list[Document] = []
        declared = scope.may_declare(virtual_cluster_address(name))
        if declared:
            spec = _spec(virtual_cluster, scope)
            documents.append(as_document("VirtualCluster", name, spec))
        else:
            notes.add(virtual_cluster_address(name), _WITHOUT)
        documents += (
            _member_document(virtual_cluster, kind, member, last)
            for kind in _MEMBER_KINDS
            for member in sorted(virtual_cluster.members(kind))
            if (last := scope.last_applied(member_address(name, kind, member)))
            and (written_policy(last) or not declared)
        )
        if documents:
            items.append(Item(name, documents))
    return items


def _member_document(
    virtual_cluster: VirtualCluster, kind: EntityType, name: str, last: Mapping[str, Json]
) -> Document:
    policy, scope = written_policy(last), virtual_cluster.name
    if kind is EntityType.GROUP:
        spec = {**_adoption(virtual_cluster.groups[name], last), **policy}
        return as_document("ConsumerGroup", name, spec, scope)
    spec = {_BINDING_FIELDS[kind]: name, **policy}
    return as_document("VirtualClusterBinding", f"{kind}-{name}", spec, scope)


def export_links(state: ClusterState, scope: ExportScope, notes: ExportNotes) -> list[Item]:
    """Every link but those of topics that were created in their virtual cluster."""
    del notes
    made = local_topics(state, scope.ownership.owners)
    items = []
    for name in sorted(state.virtual_clusters):
        for link in sorted(state.virtual_clusters[name].links.values(), key=lambda it: it.name):
            local = LocalName(name, link.name)
            address = member_address(name, EntityType.TOPIC, link.name)
            if made.get(link.topic) == local or not scope.may_declare(address):
                continue
            owner = made.get(link.topic)
            target = (
                {"virtualCluster": owner.virtual_cluster, "topic": owner.name}
                if owner
                else {"physicalTopic": link.topic}
            )
            spec = {"target": Inline(target), **written_policy(scope.last_applied(address))}
            items.append(
                Item(f"{name}.{link.name}", [as_document("TopicLink", link.name, spec, name)])
            )
    return items


def sharers(state: ClusterState, made: Mapping[str, LocalName]) -> dict[str, list[str]]:
    """For each topic made in a virtual cluster the others that link to it (VC-040), by name."""
    names_by_topic: dict[str, set[str]] = {}
    for name, one in state.virtual_clusters.items():
        for link in one.links.values():
            if link.topic in made and made[link.topic].virtual_cluster != name:
                names_by_topic.setdefault(link.topic, set()).add(name)
    return {topic: sorted(names) for topic, names in names_by_topic.items()}


def _spec(virtual_cluster: VirtualCluster, scope: ExportScope) -> dict[str, Json]:
    spec: dict[str, Json] = {}
    last = scope.last_applied(virtual_cluster_address(virtual_cluster.name))
    members = {
        "mode": last.get("mode") if last.get("mode") != MembersMode.AUTHORITATIVE else None,
        "users": _members(virtual_cluster, EntityType.USER, scope),
        "clientIds": _members(virtual_cluster, EntityType.CLIENT_ID, scope),
        "groups": _members(virtual_cluster, EntityType.GROUP, scope),
        "transactionalIds": _members(virtual_cluster, EntityType.TRANSACTIONAL_ID, scope),
    }
    written = {key: value for key, value in members.items() if value}
    if written:
        spec["members"] = written
    options = _options(virtual_cluster.options)
    if options:
        spec["lowering"] = options
    return {**spec, **written_policy(last)}


def _members(
    virtual_cluster: VirtualCluster, entity_type: EntityType, scope: ExportScope
) -> list[Json]:
    members: list[Json] = []
    for name in sorted(virtual_cluster.members(entity_type)):
        address = member_address(virtual_cluster.name, entity_type, name)
        last = scope.last_applied(address)
        if scope.may_declare(address) and not written_policy(last):
            members.append(_member(virtual_cluster, entity_type, name, last))
    return members


def _member(
    virtual_cluster: VirtualCluster, entity_type: EntityType, name: str, last: Mapping[str, Json]
) -> Json:
    """The short form if it is complete.

    ACLs that were copied for a user are documents of their own now (VC-197), and not copied again.
    """
    if entity_type is EntityType.GROUP:
        adoption = _adoption(virtual_cluster.groups[name], last)
        return Inline({"name": name, **adoption}) if adoption else name
    return name


def _adoption(adopts: str | None, last: Mapping[str, Json]) -> dict[str, Json]:
    """The global group that a group took over; its offsets are not copied again."""
    if adopts is None:
        return {}
    return {"adopt": adopts} | ({} if last.get("copyOffsets") else {"copyOffsets": False})


def _options(options: LoweringOptions) -> dict[str, Json]:
    default = LoweringOptions()
    written: dict[str, Json] = {}
    if options.cap_lowering is not default.cap_lowering:
        written["capLowering"] = options.cap_lowering.value
    if options.deny_wins is not default.deny_wins:
        written["denyWins"] = options.deny_wins
    return written
