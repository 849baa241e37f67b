"""Client quotas as a bound caller speaks of them: its users and clients are those of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgitops.cluster.embedded.controls import quotas as quota_control
from kgitops.cluster.embedded.controls.quotas import (
    EntityParts,
    Match,
    QuotaAlteration,
    QuotaFilter,
    canonical,
)
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.results import RequestResult


def alter_client_quotas(
    tenant: VirtualClusterNamespace, alterations: Sequence[QuotaAlteration]
) -> dict[ClientQuotaEntity, RequestResult]:
    """One result for each entity, as it was asked for."""
    here = [replace(item, entity=_here(tenant, item.entity)) for item in alterations]
    results = quota_control.alter_client_quotas(tenant.draft, here)
    return {
        canonical(asked.entity): results[canonical(item.entity)]
        for asked, item in zip(alterations, here, strict=True)
    }


def describe_client_quotas(
    tenant: VirtualClusterNamespace, components: Sequence[QuotaFilter], *, strict: bool
) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
    """The quotas of the virtual cluster that match.

    Raises:
        Refusal: as a whole.
    """
    if all(component.entity_type != VIRTUAL_CLUSTER for component in components):
        own = QuotaFilter(entity_type=VIRTUAL_CLUSTER, match=Match.EXACT, name=tenant.name)
        components = [own, *components]
    return quota_control.describe_client_quotas(tenant.draft, components, strict=strict)


def _here(tenant: VirtualClusterNamespace, parts: EntityParts) -> EntityParts:
    # Nothing at all is no entity: with this part it would be the cap.
    if not parts or any(kind == VIRTUAL_CLUSTER for kind, _ in parts):
        return parts
    return ((VIRTUAL_CLUSTER, tenant.name), *parts)
