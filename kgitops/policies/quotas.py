"""Ceilings of client quotas."""

from kgitops.model.resources.quotas import CLIENT_KEYS, IP_KEYS, quota_text
from kgitops.policy import (
    AlterClientQuotaRequest,
    ClientQuotaManagementPolicy,
    ClusterState,
    PolicyViolation,
)
from kgitops.policy.readers import flag, number
from kgitops.policy.settings import Configured, Setting, optional
from kgitops.policy.units import byte_size


class QuotaCeilings(Configured, ClientQuotaManagementPolicy):
    """No quota is above what the cluster can give to one client."""

    remediation = "Ask for less, or have the ceiling raised."

    producer_byte_rate = optional(
        byte_size, "the most bytes a second to produce, such as 50MiB", key="producer_byte_rate"
    )
    consumer_byte_rate = optional(
        byte_size, "the most bytes a second to consume, such as 50MiB", key="consumer_byte_rate"
    )
    request_percentage = optional(
        number, "the most percent of a broker's threads", key="request_percentage"
    )
    controller_mutation_rate = optional(
        number, "the most partitions changed a second", key="controller_mutation_rate"
    )
    connection_creation_rate = optional(
        number, "the most new connections a second", key="connection_creation_rate"
    )
    removable = Setting(flag, "whether a quota with a ceiling may be removed", "true")

    def settle(self) -> None:
        """Some ceiling must be given."""
        self._ceilings = {
            setting.key: ceiling
            for setting in self.settings()
            if setting.key in CLIENT_KEYS | IP_KEYS
            and (ceiling := getattr(self, setting.attribute)) is not None
        }
        if not self._ceilings:
            raise ValueError("there is no ceiling (write one, such as producer_byte_rate: 50MiB)")

    def validate_alter_client_quota(
        self, request: AlterClientQuotaRequest, cluster_state: ClusterState
    ) -> None:
        """Look at the quotas that the request sets or removes."""
        for key, quota in sorted(request.requested_state.requested_quotas.items()):
            ceiling = self._ceilings.get(key)
            if ceiling is None:
                continue
            if quota is None:
                if not self.removable:
                    raise PolicyViolation(
                        f"{key} must not be removed; set it, to {quota_text(ceiling)} at most",
                        field=f"quotas.{key}",
                    )
            elif quota > ceiling:
                raise PolicyViolation(
                    f"{key} is {quota_text(quota)}; at most {quota_text(ceiling)} is allowed",
                    field=f"quotas.{key}",
                )
