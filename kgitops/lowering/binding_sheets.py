"""Binding sheets: the physical names that clients of a virtual cluster must configure (VC-048)."""

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct

from kgitops.lowering.acls.scoped_acls import ScopedAcls
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.resources.acls import ResourceType
from kgitops.model.resources.virtual_clusters import VirtualCluster, physical_id


class BindingSheet(Struct, frozen=True, kw_only=True):
    """One member's local names with their physical ones; all other ids begin with the prefix.

    ``transactional_id_prefix`` is empty if no transactional id or ACL on one is declared.
    """

    principal: str
    virtual_cluster: str
    topics: Mapping[str, str]
    groups: Mapping[str, str]
    group_prefix: str
    transactional_ids: Mapping[str, str]
    transactional_id_prefix: str


def binding_sheets(state: ClusterState) -> tuple[BindingSheet, ...]:
    """The sheets of all members of all virtual clusters, in the order of their principals."""
    scoped = ScopedAcls(state.acls)
    sheets = [
        _sheet(virtual_cluster, principal, scoped)
        for virtual_cluster in state.virtual_clusters.values()
        for principal in virtual_cluster.users
    ]
    return tuple(sorted(sheets, key=lambda sheet: (sheet.principal, sheet.virtual_cluster)))


def to_json(sheets: Iterable[BindingSheet]) -> dict[str, Json]:
    """The sheets as JSON, by principal."""
    return {
        sheet.principal: {
            "virtual_cluster": sheet.virtual_cluster,
            "topics": dict(sheet.topics),
            "groups": dict(sheet.groups),
            "group_prefix": sheet.group_prefix,
            "transactional_ids": dict(sheet.transactional_ids),
            "transactional_id_prefix": sheet.transactional_id_prefix,
        }
        for sheet in sheets
    }


def to_yaml(sheets: Iterable[BindingSheet]) -> str:
    """The sheets as YAML, by principal, with all names in quotes."""
    lines: list[str] = []
    for principal, sheet in to_json(sheets).items():
        lines.append(f"{_quoted(principal)}:")
        for key, value in sheet.items():
            if isinstance(value, str):
                lines.append(f"  {key}: {_quoted(value)}")
            elif not value:
                lines.append(f"  {key}: {{}}")
            else:
                lines.append(f"  {key}:")
                lines += [f"    {_quoted(k)}: {_quoted(v)}" for k, v in value.items()]
    return "".join(f"{line}\n" for line in lines)


def _sheet(virtual_cluster: VirtualCluster, principal: str, scoped: ScopedAcls) -> BindingSheet:
    prefix = physical_id(virtual_cluster.name, "")
    transactions = bool(virtual_cluster.transactional_ids) or any(
        binding.resource_type is ResourceType.TRANSACTIONAL_ID
        for binding in scoped.in_virtual_cluster(virtual_cluster.name).of(principal)
    )
    return BindingSheet(
        principal=principal,
        virtual_cluster=virtual_cluster.name,
        topics={name: virtual_cluster.links[name].topic for name in sorted(virtual_cluster.links)},
        groups={group: f"{prefix}{group}" for group in sorted(virtual_cluster.groups)},
        group_prefix=prefix,
        transactional_ids={
            local: f"{prefix}{local}" for local in sorted(virtual_cluster.transactional_ids)
        },
        transactional_id_prefix=prefix if transactions else "",
    )


def _quoted(text: str) -> str:
    # JSON's strings are YAML's in double quotes.
    return json.dumps(text)
