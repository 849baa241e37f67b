"""AlterClientQuotas and DescribeClientQuotas."""

from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.client.bound import quotas as bound_quotas
from kgitops.cluster.embedded.client.calls.connection import Connection, either
from kgitops.cluster.embedded.controls import quotas as quota_control
from kgitops.cluster.embedded.controls.quotas import QuotaAlteration, QuotaFilter
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.results import RequestResult


class QuotaCalls(Connection):
    """What is asked about quotas; a bound caller means those within its virtual cluster."""

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> dict[ClientQuotaEntity, RequestResult]:
        """Set and remove quotas."""
        return self._decide(
            either(
                lambda draft: quota_control.alter_client_quotas(draft, alterations),
                lambda tenant: bound_quotas.alter_client_quotas(tenant, alterations),
            ),
            [alteration.entity for alteration in alterations],
            validate_only=validate_only,
        )

    def describe_client_quotas(
        self, components: Sequence[QuotaFilter] = (), *, strict: bool = False
    ) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        """The quotas of the entities that match.

        Raises:
            Refusal: the filter is not legal, or the principal may not know.
        """
        return self._read(
            either(
                lambda draft: quota_control.describe_client_quotas(
                    draft, components, strict=strict
                ),
                lambda tenant: bound_quotas.describe_client_quotas(
                    tenant, components, strict=strict
                ),
            )
        )
