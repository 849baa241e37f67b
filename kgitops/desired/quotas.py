"""Builds the quotas of ``kind: ClientQuota`` documents, checked against Kafka's rules."""

import math
from typing import TYPE_CHECKING

from kgitops.desired.findings import Findings, Path, address, check_name
from kgitops.desired.matching.clients import client_id_mismatch, ip_mismatch, user_mismatch
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.text import shown
from kgitops.model.json.declared import DeletionPolicy, DesiredQuota
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.names import text_problem
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    INTEGRAL_KEYS,
    IP,
    IP_KEYS,
    LONGEST,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
    quota_keys,
    quota_text,
)
from kgitops.model.wording import nearest

if TYPE_CHECKING:
    from kgitops.manifests.kinds.access import ClientQuota, EntityName, QuotaEntity

_ENTITY: Path = ("spec", "entity")
_DEFAULT = "<default>"
_EXACT_IN_A_DOUBLE = 2**53
_MAX_CONNECTION_RATE = 2**31 - 1


def build_quota(
    quota: "ClientQuota", document: Document, findings: Findings
) -> DesiredQuota | None:
    """Build the quotas in normal form; None if the entity is unclear."""
    spec = quota.spec
    entity = _entity(spec.entity, document, findings)
    if entity is None:
        return None
    quotas = {
        key: value
        for key in spec.quotas
        if (value := _value(key, spec.quotas[key], entity, document, findings)) is not None
    }
    return DesiredQuota(
        address=quota_address(entity),
        entity=entity,
        quotas=quotas,
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Delete"),
        deletion_policy_written=spec.deletion_policy is not None,
        labels=quota.metadata.labels,
        located=document,
    )


def _entity(
    entity: "QuotaEntity", document: Document, findings: Findings
) -> ClientQuotaEntity | None:
    named = {
        VIRTUAL_CLUSTER: entity.virtual_cluster,
        USER: entity.user,
        CLIENT_ID: entity.client_id,
        IP: entity.ip,
    }
    parts = {kind: _name(name) for kind, name in named.items() if name is not None}
    if not parts:
        findings.error(
            document,
            _ENTITY,
            "the quota names no entity",
            "add user, clientId, ip or virtualCluster to spec.entity",
        )
        return None
    if IP in parts and len(parts) > 1:
        findings.error(
            document,
            (*_ENTITY, "ip"),
            "an ip can't be combined with a user, a client id or a virtual cluster",
            "declare its quotas in a document of their own",
            key=True,
        )
        return None
    if VIRTUAL_CLUSTER in parts:
        _check_scope(parts, document, findings)
    _check_names(parts, document, findings)
    return make_entity(parts)


def _check_scope(parts: dict[str, str | None], document: Document, findings: Findings) -> None:
    path = (*_ENTITY, "virtualCluster")
    scope = parts[VIRTUAL_CLUSTER]
    if scope is None:
        if len(parts) > 1:
            problem = "the default virtual cluster has a cap and no users or client ids"
            findings.error(document, path, problem, "name the virtual cluster")
    elif scope == CLUSTER_NAME:
        problem = f"{CLUSTER_NAME} has no quotas: it is the physical cluster itself"
        advice = "remove virtualCluster, quotas without it hold everywhere"
        findings.error(document, path, problem, advice)
    else:
        check_name(scope, document, path, findings)


def _name(name: "EntityName") -> str | None:
    return name if isinstance(name, str) and name != _DEFAULT else None


def _check_names(parts: dict[str, str | None], document: Document, findings: Findings) -> None:
    ip = parts.get(IP)
    for kind, field in ((USER, "user"), (CLIENT_ID, "clientId")):
        if problem := text_problem(parts.get(kind) or ""):
            findings.error(document, (*_ENTITY, field), f"the {field} {problem}", "shorten it")
    if ip is not None and address(ip) is None:
        problem = f"{shown(ip)} is not an IP address"
        advice = "write an address such as 10.0.0.1, or {default: true} for all others"
        findings.error(document, (*_ENTITY, "ip"), problem, advice)
    for kind, field, mismatch_of in (
        (USER, "user", user_mismatch),
        (CLIENT_ID, "clientId", client_id_mismatch),
        (IP, "ip", ip_mismatch),
    ):
        name = parts.get(kind)
        if name is not None and (mismatch := mismatch_of(name)) is not None:
            findings.warning(document, (*_ENTITY, field), mismatch.problem, mismatch.advice)


def _value(
    key: str, value: float, entity: ClientQuotaEntity, document: Document, findings: Findings
) -> float | None:
    path = ("spec", "quotas", key)
    allowed = quota_keys(entity)
    if key not in allowed:
        near = nearest(key, sorted(allowed))
        names = ", ".join(sorted(allowed))
        whom = "an ip" if allowed == IP_KEYS else "a user or client id"
        advice = f"did you mean {near}?" if near else f"write one of {names}"
        findings.error(document, path, f"{shown(key)} is not a quota of {whom}", advice, key=True)
        return None
    if problem := value_problem(key, value):
        findings.error(document, path, f"{key} {problem}, not {shown(value)}", "correct the value")
        return None
    return float(value)


def value_problem(key: str, value: float) -> str | None:
    """Explain why a quota can't have this value; None if it can."""
    if not math.isfinite(value) or value <= 0:
        return "must be a number above 0"
    if key in INTEGRAL_KEYS and value != math.floor(value):
        return "must be a whole number"
    if key in IP_KEYS and value > _MAX_CONNECTION_RATE:
        return f"must be at most {_MAX_CONNECTION_RATE}"
    if value > _EXACT_IN_A_DOUBLE and quota_text(value) != str(LONGEST):
        return f"must be at most {_EXACT_IN_A_DOUBLE}, up to which a quota is exact"
    return None
