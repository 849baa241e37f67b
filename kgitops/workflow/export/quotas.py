"""Client quotas as documents, one for each entity."""

from collections.abc import Mapping

from kgitops.desired.quotas import value_problem
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    IP,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    quota_keys,
    quota_number,
)
from kgitops.workflow.export.files import Inline, Item
from kgitops.workflow.export.scope import ExportNotes, ExportScope, as_document, written_policy

_FIELD_OF = {VIRTUAL_CLUSTER: "virtualCluster", USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_DEFAULT = "<default>"


def export_quotas(state: ClusterState, scope: ExportScope, notes: ExportNotes) -> list[Item]:
    """The quotas of every entity that the project may declare."""
    items = []
    for address, quota in sorted((quota_address(key), it) for key, it in state.quotas.items()):
        if not scope.may_declare(address):
            continue
        if any(name == _DEFAULT for _, name in quota.entity):
            problem = f"left out, in a manifest {_DEFAULT} is the default entity"
            notes.add(address, problem, lost=True)
            continue
        last = scope.last_applied(address)
        quotas = _quotas(address, quota, last.get("quotas", {}), notes)
        if quotas:
            spec = {"entity": _entity(quota.entity), "quotas": quotas, **written_policy(last)}
            items.append(Item(_group(quota), [as_document("ClientQuota", _name(quota), spec)]))
        elif quota.quotas:
            notes.lost.add(address)
    return items


def _quotas(
    address: str, quota: ClientQuotaState, last: Mapping[str, str], notes: ExportNotes
) -> dict[str, Json]:
    quotas = {}
    for key, value in sorted(quota.quotas.items()):
        is_known = key in quota_keys(quota.entity)
        problem = value_problem(key, value) if is_known else "is not a quota that kgitops knows"
        if problem is None:
            quotas[key] = quota_number(value)
        elif key in last:
            # A key that was applied and is not declared any more would be removed.
            quotas[key] = quota_number(float(last[key]))
            actual = f"{value!r} was found" if is_known else "it was found"
            notes.add(address, f"{key} {problem}, {actual}; the value last applied is written")
        else:
            notes.add(address, f"{key} {problem}; it is left out and stays as it is")
    return quotas


def _entity(entity: ClientQuotaEntity) -> Inline:
    return Inline(
        {
            _FIELD_OF[kind]: Inline({"default": True}) if name is None else name
            for kind, name in entity
        }
    )


def _name(quota: ClientQuotaState) -> str:
    """``user-billing-client-id-default``."""
    return "-".join(f"{kind}-{'default' if name is None else name}" for kind, name in quota.entity)


def _group(quota: ClientQuotaState) -> str:
    """The name that the quota is filed under: its entity's, and one for all defaults."""
    return next((name for _, name in quota.entity if name is not None), "")
