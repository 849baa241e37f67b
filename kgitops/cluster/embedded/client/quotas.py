"""AlterClientQuotas and DescribeClientQuotas."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls import quotas as quota_control
from kgitops.cluster.embedded.controls.quotas import (
    EntityMatch,
    EntityParts,
    QuotaAlteration,
    QuotaFilter,
    canonical,
)
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.results import RequestResult


class QuotaCalls(Connection):
    """Calls about quotas; a bound caller's users and clients are those of its virtual cluster."""

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> dict[ClientQuotaEntity, RequestResult]:
        """Set and remove quotas; one result for each entity, as it was named in the request."""
        return self._decide(
            lambda draft: _alter(draft, alterations),
            [alteration.entity for alteration in alterations],
            validate_only=validate_only,
        )

    def describe_client_quotas(
        self, components: Sequence[QuotaFilter] = (), *, strict: bool = False
    ) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        """The quotas of the entities that match.

        Raises:
            Refusal: the filter is not legal, or the principal may not see them.
        """
        return self._read(
            lambda draft: quota_control.describe_client_quotas(
                draft, _filters_in_scope(draft, components), strict=strict
            )
        )


def _alter(
    draft: Draft, alterations: Sequence[QuotaAlteration]
) -> dict[ClientQuotaEntity, RequestResult]:
    scoped = [replace(item, entity=_in_scope(draft, item.entity)) for item in alterations]
    results = quota_control.alter_client_quotas(draft, scoped)
    return {
        canonical(requested.entity): results[canonical(item.entity)]
        for requested, item in zip(alterations, scoped, strict=True)
    }


def _in_scope(draft: Draft, parts: EntityParts) -> EntityParts:
    """Put a bound caller's entity that names no virtual cluster into the caller's own."""
    virtual_cluster = namespace(draft).virtual_cluster
    # An empty entity stays empty, and is refused: with this part it would be the cap.
    if virtual_cluster is None or not parts or any(kind == VIRTUAL_CLUSTER for kind, _ in parts):
        return parts
    return ((VIRTUAL_CLUSTER, virtual_cluster), *parts)


def _filters_in_scope(draft: Draft, components: Sequence[QuotaFilter]) -> Sequence[QuotaFilter]:
    """Restrict a bound caller's filter that names no virtual cluster to the caller's own."""
    virtual_cluster = namespace(draft).virtual_cluster
    if virtual_cluster is None or any(c.entity_type == VIRTUAL_CLUSTER for c in components):
        return components
    own = QuotaFilter(entity_type=VIRTUAL_CLUSTER, match=EntityMatch.EXACT, name=virtual_cluster)
    return [own, *components]
