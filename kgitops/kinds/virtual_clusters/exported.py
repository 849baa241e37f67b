"""Virtual clusters with their members as documents, and their links."""

from collections.abc import Mapping

from kgitops.kinds.exports import (
    Document,
    Exporting,
    ExportScope,
    Inline,
    Item,
    as_document,
    written_policy,
)
from kgitops.model.json.declared import MembersMode
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import member_address, virtual_cluster_address
from kgitops.model.resources.virtual_clusters import EntityType, LoweringOptions, VirtualCluster

_BINDING_FIELDS = {
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "clientId",
    EntityType.TRANSACTIONAL_ID: "transactionalId",
}
_MEMBER_KINDS = (*_BINDING_FIELDS, EntityType.GROUP)


_WITHOUT = "left out, with the members that this project does not manage"


def export_virtual_clusters(of: Exporting) -> list[Item]:
    """Every virtual cluster that the project may declare, with those members that it may.

    Members with a deletionPolicy are documents of their own, and so are those that the project
    manages in a virtual cluster of another project.
    """
    items, state, scope = [], of.state, of.scope
    for name in sorted(state.virtual_clusters):
        virtual_cluster = state.virtual_clusters[name]
        documents: list[Document] = []
        declared = scope.may_declare(virtual_cluster_address(name))
        if declared:
            spec = _spec(virtual_cluster, scope)
            documents.append(as_document("VirtualCluster", name, spec))
        else:
            of.notes.add(virtual_cluster_address(name), _WITHOUT)
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
