"""``kind: ClientQuota``: the quotas of an entity, checked against Kafka's rules."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.desired.clients import client_id_mismatch, ip_mismatch, user_mismatch
from kgitops.desired.findings import Findings, Path, address, check_name
from kgitops.kinds.base import NO_VALUES, Requested, Values, ValuesKind
from kgitops.kinds.exports import Exporting, ExportNotes, Inline, Item, as_document, written_policy
from kgitops.manifests.kinds.fields import Amounts, ErrorText, NotNull, Number, manifest
from kgitops.manifests.kinds.parts import EntityName, Metadata
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredQuota, Record
from kgitops.model.registry import Json
from kgitops.model.requests import AlterClientQuotaRequest, Request
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import quota_address, split_scoped_address
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
    ClientQuotaState,
    make_entity,
    quota_keys,
    quota_number,
    quota_text,
)
from kgitops.model.wording import nearest
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Basis, Change
from kgitops.plan.document.risks import Risk
from kgitops.plan.phases import Phase
from kgitops.plan.shown_values import ContradictionError, Shown, Surroundings, requests_of

_ENTITY: Path = ("spec", "entity")
_DEFAULT = "<default>"
_FIELD_OF = {VIRTUAL_CLUSTER: "virtualCluster", USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_EXACT_IN_A_DOUBLE = 2**53
_MAX_CONNECTION_RATE = 2**31 - 1


@manifest
class QuotaEntity:
    """The entity of the quotas: user, clientId or both, also in a virtual cluster; or ip."""

    user: EntityName = None
    """The user's name without "User:", or {default: true} (or `<default>`) for all others."""
    client_id: EntityName = None
    """The client id, or {default: true} (or `<default>`) for all others."""
    ip: EntityName = None
    """The address, or {default: true} (or `<default>`) for all others; without any other field."""
    virtual_cluster: EntityName = None
    """The virtual cluster that the user or client id belongs to. Alone, the quotas are its cap:
    the total for all its members; {default: true} (or `<default>`) is the cap of all others."""


_RATE = ErrorText("a number above 0", "write a number such as 1048576, or remove the key")
Rate = Annotated[Number, _RATE]


@manifest
class ClientQuotaSpec:
    """The quotas of one entity."""

    entity: QuotaEntity
    """The entity that the quotas are for."""
    quotas: Annotated[dict[str, Rate], MinLen(1), Amounts()]
    """Quota key to its value: producer_byte_rate, consumer_byte_rate, request_percentage,
    controller_mutation_rate; for an ip: connection_creation_rate."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), Protect or Orphan."""


@manifest
class ClientQuota:
    """The quotas of one entity.

    Example:
        apiVersion: kgitops/v1
        kind: ClientQuota
        metadata: {name: billing}
        spec:
          entity: {user: billing, clientId: {default: true}}
          quotas: {consumer_byte_rate: 10485760}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ClientQuota"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: ClientQuotaSpec
    """The quotas."""


class ClientQuotaKind(ValuesKind[DesiredQuota]):
    """The quotas of all entities; other keys of an entity stay."""

    declares, field = DesiredQuota, "quotas"
    files, phases = "quotas", (Phase.QUOTA, Phase.QUOTA_REMOVE)
    scope_path = ("spec", "entity", "virtualCluster")
    adopted, removed, forgotten = risks.QUOTA_ADOPT, risks.QUOTA_REMOVE, risks.QUOTA_FORGET

    @classmethod
    def build(
        cls,
        declared: ClientQuota,
        document: Document,
        findings: Findings,
    ) -> Sequence[DesiredQuota]:
        """Return the quotas in normal form; none if the entity is unclear."""
        spec = declared.spec
        entity = _entity(spec.entity, document, findings)
        if entity is None:
            return ()
        quotas = {
            key: value
            for key in spec.quotas
            if (value := _value(key, spec.quotas[key], entity, document, findings)) is not None
        }
        policy = spec.deletion_policy
        return [
            DesiredQuota(
                address=quota_address(entity),
                entity=entity,
                quotas=quotas,
                deletion_policy=DeletionPolicy(policy or "Delete"),
                deletion_policy_written=policy is not None,
                labels=declared.metadata.labels,
                located=document,
            )
        ]

    def existing(self) -> Iterable[str]:
        """Return the addresses of all entities that have quotas."""
        return map(quota_address, self.current.quotas)

    def scope(self, item: DesiredQuota) -> str | None:
        """Return the virtual cluster that the quota's entity names."""
        return dict(item.entity).get(VIRTUAL_CLUSTER)

    def held(self, record: Record) -> Values:
        """Return the quotas of the entity."""
        state = self.current.quotas.get(make_entity(record["entity"]))
        return {key: quota_text(each) for key, each in state.quotas.items()} if state else NO_VALUES

    @classmethod
    def view(cls, record: Record, values: Values) -> dict[str, Json]:
        """Return the entity with its quotas."""
        return {
            "kind": "ClientQuota",
            "entity": dict(make_entity(record["entity"])),
            "quotas": dict(sorted(values.items())),
        }

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase of a cap, of quotas in a virtual cluster, or of others."""
        removes = Action.DELETE in change.actions
        if split_scoped_address(change.address):
            return Phase.VIRTUAL_CLUSTER_QUOTA_REMOVE if removes else Phase.VIRTUAL_CLUSTER_QUOTA
        if change.address.startswith("quota/virtual-cluster="):
            return Phase.CAP_REMOVE if removes else Phase.CAP
        return cls.phases[removes]

    @classmethod
    def risk(cls, key: str, before: str | None, after: str | None) -> Risk:
        """Return whether the limit comes, goes, rises or falls."""
        del key
        if after is None:
            return risks.QUOTA_REMOVE
        if before is None:
            return risks.QUOTA_CREATE
        return risks.QUOTA_LOWER if float(after) < float(before) else risks.QUOTA_RAISE

    def requests(self, record: Record, requested: Requested) -> Sequence[Request]:
        """Return the request that sets and removes all."""
        quotas = {key: None if text is None else float(text) for key, text in requested.items()}
        return [AlterClientQuotaRequest(entity=make_entity(record["entity"]), quotas=quotas)]

    def owned(self, record: Record, held: Values) -> Sequence[str]:
        """Return the keys last applied; a partial quota still counts for its virtual cluster."""
        entity, partial = make_entity(record["entity"]), self.current.partial_quotas
        return [
            key for key in sorted(self.values(record)) if key in held or (entity, key) in partial
        ]

    def basis_of_rest(self, record: Record, owned: Sequence[str]) -> Basis:
        """Return whether a part of the quotas stays without being shown."""
        entity, partial = make_entity(record["entity"]), self.current.partial_quotas
        return Basis(in_part=any((entity, key) in partial for key in owned))

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each entity, by address."""
        for entity, quota in sorted(current.quotas.items(), key=lambda it: quota_address(it[0])):
            yield AlterClientQuotaRequest(entity=entity, quotas=dict(quota.quotas))

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return the quotas of every entity."""
        items = []
        found = {quota_address(entity): quota for entity, quota in of.state.quotas.items()}
        for at, quota in sorted(found.items()):
            if not of.scope.may_declare(at):
                continue
            if any(name == _DEFAULT for _, name in quota.entity):
                problem = f"left out, in a manifest {_DEFAULT} is the default entity"
                of.notes.add(at, problem, lost=True)
                continue
            last = of.scope.last_applied(at)
            quotas = _exported(at, quota, last.get("quotas", {}), of.notes)
            if quotas:
                spec = {
                    "entity": _entity_json(quota.entity),
                    "quotas": quotas,
                    **written_policy(last),
                }
                items.append(
                    Item(_group(quota), [as_document("ClientQuota", _document_name(quota), spec)])
                )
            elif quota.quotas:
                of.notes.lost.add(at)
        return items

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of an entity's quotas."""
        del around
        requested: dict[str, str | None] = {}
        for request in requests_of(change):
            if not isinstance(request, AlterClientQuotaRequest):
                raise ContradictionError("has a request for something else")
            for key, value in request.quotas.items():
                requested[key] = None if value is None else quota_text(value)
        return cls.shown_values(change, requested)


def _entity(
    entity: QuotaEntity, document: Document, findings: Findings
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


def _name(name: EntityName) -> str | None:
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


def _exported(
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


def _entity_json(entity: ClientQuotaEntity) -> Inline:
    return Inline(
        {
            _FIELD_OF[kind]: Inline({"default": True}) if name is None else name
            for kind, name in entity
        }
    )


def _document_name(quota: ClientQuotaState) -> str:
    """``user-billing-client-id-default``."""
    return "-".join(f"{kind}-{'default' if name is None else name}" for kind, name in quota.entity)


def _group(quota: ClientQuotaState) -> str:
    """The name that the quota is filed under: its entity's, and one for all defaults."""
    return next((name for _, name in quota.entity if name is not None), "")
