"""DescribeClientQuotas: the quotas of every entity, including defaults and combinations."""

from collections.abc import Mapping

from kafka.protocol.admin import DescribeClientQuotasRequest
from msgspec import Struct, field

from kgitops.cluster.kafka.answers import readable
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked
from kgitops.model.resources.quotas import (
    ENTITY_TYPES,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
    quota_keys,
)


class QuotaListing(Struct, frozen=True, kw_only=True):
    """All client quotas by entity, in the order of the entities."""

    by_entity: Mapping[ClientQuotaEntity, ClientQuotaState] = field(default_factory=dict)
    not_checked: tuple[NotChecked, ...] = ()


def quotas_request() -> Message:
    """Build the request for all quotas: a filter without components matches every entity."""
    return DescribeClientQuotasRequest(components=[], strict=False)


def quotas_of(wire: Wire, request: Message, answer: Message) -> QuotaListing:
    """Read the quotas from the answer.

    Entity types and keys that this kgitops does not know can't be declared, so they are left alone
    and reported.

    Raises:
        UnreachableError: the principal may not read them.
    """
    response = readable(wire, request, answer, what="the client quotas")
    states: list[ClientQuotaState] = []
    unknown: set[str] = set()
    for entry in response.entries or ():
        kinds = {part.entity_type: part.entity_name for part in entry.entity}
        strange = kinds.keys() - set(ENTITY_TYPES)
        if strange:
            unknown |= {f"entity type {kind}" for kind in strange}
            continue
        entity = make_entity(kinds)
        known = quota_keys(entity)
        quotas = {row.key: row.value for row in entry.values if row.key in known}
        unknown |= {f"key {row.key}" for row in entry.values if row.key not in known}
        if quotas:
            states.append(ClientQuotaState(entity=entity, quotas=quotas))
    states.sort(
        key=lambda state: [(kind, name is not None, name or "") for kind, name in state.entity]
    )
    return QuotaListing(
        by_entity={state.entity: state for state in states}, not_checked=_not_checked(unknown)
    )


def _not_checked(unknown: set[str]) -> tuple[NotChecked, ...]:
    if not unknown:
        return ()
    return (
        NotChecked(
            problem="some client quotas are of a kind that this kgitops does not know and are left "
            f"alone: {', '.join(sorted(unknown))}",
            advice="upgrade kgitops to manage them",
        ),
    )
