"""Decides AlterClientQuotas and answers DescribeClientQuotas (F590-50…52)."""

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import ClientQuotaRecord
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.cluster.embedded.rights import check_virtual_clusters_enabled
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.quotas import (
    ENTITY_TYPES,
    IP,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
)
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey, VirtualClusterScope
from kgitops.virtual_clusters.well_formed import entity_problem, quota_problem

_PARTS, _BYTE = 4, 255
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*")

EntityParts = tuple[tuple[str, str | None], ...]
"""(entity type, name) as in a request, in any order; a None name is the default entity."""


class QuotaAlteration(Struct, frozen=True, kw_only=True):
    """Changes of one entity's quotas: (key, value), None removes the key."""

    entity: EntityParts
    operations: Sequence[tuple[str, float | None]]


class EntityMatch(StrEnum):
    """The way a DescribeClientQuotas component selects entities."""

    EXACT = "exact"
    DEFAULT = "default"
    ANY = "any"


class QuotaFilter(Struct, frozen=True, kw_only=True):
    """One component: entities that have this type, with this name, the default one, or any."""

    entity_type: str
    match: EntityMatch = EntityMatch.ANY
    name: str | None = None

    def matches(self, entity: ClientQuotaEntity) -> bool:
        """Return whether the entity has such a part."""
        parts = dict(entity)
        if self.entity_type not in parts:
            return False
        match self.match:
            case EntityMatch.EXACT:
                return parts[self.entity_type] == self.name and self.name is not None
            case EntityMatch.DEFAULT:
                return parts[self.entity_type] is None
            case EntityMatch.ANY:
                return True


def alter_client_quotas(
    draft: Draft, alterations: Sequence[QuotaAlteration]
) -> dict[ClientQuotaEntity, RequestResult]:
    """One result for each entity: all of its keys change, or none."""
    entities = [canonical(alteration.entity) for alteration in alterations]
    times = Counter(entities)
    results: dict[ClientQuotaEntity, RequestResult] = {}
    for entity, alteration in zip(entities, alterations, strict=True):
        if times[entity] > 1:
            results[entity] = duplicate(f"Ignoring duplicate entity {_shown(entity)}")
        else:
            results[entity] = attempt(alter, draft, alteration)
    return results


def alter(draft: Draft, alteration: QuotaAlteration) -> None:
    """Change the quotas of one entity.

    Raises:
        Refusal: the entity, a key or a value is not legal.
    """
    if not _may_alter(draft, alteration.entity):
        raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    if any(kind == VIRTUAL_CLUSTER for kind, _ in alteration.entity):
        check_virtual_clusters_enabled(draft)
    entity = _checked_entity(alteration.entity)
    keys = [key for key, _ in alteration.operations]
    if len(set(keys)) < len(keys):
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity {_shown(entity)}")
    for key, value in alteration.operations:
        if value is not None or draft.options.seed:
            _refuse(quota_problem(entity, key, value))
    before = draft.delta.quotas.of(entity)
    request = AlterClientQuotaRequest(entity=entity, quotas=dict(alteration.operations))
    draft.judge(request)
    for key, value in alteration.operations:
        if before.get(key) != value:
            draft.write(ClientQuotaRecord(entity=entity, key=key, value=value))
    draft.accept(request)


def describe_client_quotas(
    draft: Draft, components: Sequence[QuotaFilter], *, strict: bool
) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
    """The quotas of the entities that match every component; ``strict``: without any other part.

    Raises:
        Refusal: as a whole.
    """
    visible = _visible(draft, components)
    _check_types([component.entity_type for component in components])
    return {
        entity: quotas
        for entity, quotas in draft.image.quotas.quotas.items()
        if visible(entity)
        and all(component.matches(entity) for component in components)
        and not (strict and len(entity) != len(components))
    }


def _check_types(types: Sequence[str]) -> None:
    """Refuse a filter as ClientQuotasImage.describe does."""
    for index, type_ in enumerate(types):
        if not type_:
            raise Refusal(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if type_ in types[:index]:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"Entity type {type_} cannot appear more than once in the filter.",
            )
        if type_ not in ENTITY_TYPES:
            raise Refusal(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {type_}")
    if IP in types and len(types) > 1:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component.",
        )


def _shown(entity: EntityParts) -> str:
    """An entity as Kafka's ClientQuotaEntity is printed."""
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _may_alter(draft: Draft, parts: EntityParts) -> bool:
    """Administrators of a virtual cluster may limit its members, not raise its cap (VC-214)."""
    virtual_cluster = dict(parts).get(VIRTUAL_CLUSTER)
    if virtual_cluster is not None and len(parts) > 1:
        return draft.authorizer.allows_request(
            ApiKey.ALTER_CLIENT_QUOTAS, VirtualClusterScope(virtual_cluster)
        )
    return draft.authorizer.allows_cluster(Operation.ALTER_CONFIGS)


def _visible(
    draft: Draft, components: Sequence[QuotaFilter]
) -> Callable[[ClientQuotaEntity], bool]:
    """A test of visible entities: all, or those of virtual clusters with a right (VC-160b).

    Raises:
        Refusal: nothing can be shown (31).
    """
    if draft.authorizer.allows_cluster(Operation.DESCRIBE_CONFIGS):
        return lambda _: True
    named = {item.name for item in components if item.entity_type == VIRTUAL_CLUSTER and item.name}
    shown = {
        name
        for name in named or draft.image.virtual_clusters.by_name
        if draft.authorizer.allows_request(ApiKey.DESCRIBE_CLIENT_QUOTAS, VirtualClusterScope(name))
    }
    if not shown:
        raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return lambda entity: dict(entity).get(VIRTUAL_CLUSTER) in shown


def canonical(parts: EntityParts) -> EntityParts:
    """The entity in its one order; unchanged if it is not well-formed."""
    if _is_well_formed(parts):
        return make_entity(dict(parts))
    return tuple(parts)


def _is_well_formed(parts: EntityParts) -> bool:
    types = [kind for kind, _ in parts]
    return bool(types) and len(set(types)) == len(types) and set(types) <= set(ENTITY_TYPES)


def _checked_entity(parts: EntityParts) -> ClientQuotaEntity:
    unknown = [kind for kind, _ in parts if kind not in ENTITY_TYPES]
    if unknown:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {unknown[0]}"
        )
    if not parts:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    if not _is_well_formed(parts):
        raise Refusal(ErrorCode.INVALID_REQUEST, "Invalid client quota entity.")
    entity = make_entity(dict(parts))
    _refuse(entity_problem(entity))
    for kind, name in entity:
        if kind == IP and name is not None and not _is_ip_or_host(name):
            _refuse(f"{name} is not a valid IP or resolvable host.")
    return entity


def _refuse(problem: str | None) -> None:
    if problem:
        raise Refusal(ErrorCode.INVALID_REQUEST, problem)


def _is_ip_or_host(name: str) -> bool:
    if "%" in name:  # an interface of the broker's machine, of which there is none here
        return False
    if name.replace(".", "").isdigit():
        return _is_numeric(name.split("."))
    try:
        ipaddress.ip_address(name)
    except ValueError:
        # Kafka asks the name service, which the embedded cluster does not have.
        return bool(_HOST_NAME.fullmatch(name))
    return True


def _is_numeric(parts: Sequence[str]) -> bool:
    """True if InetAddress reads an IPv4 address: decimal, the last part fills the missing ones."""
    if len(parts) > _PARTS or not all(part.isascii() and part.isdigit() for part in parts):
        return False
    *first, last = map(int, parts)
    return max(first, default=0) <= _BYTE and last < (_BYTE + 1) ** (_PARTS - len(first))
