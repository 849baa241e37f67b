"""The two AlterConfigs and DescribeConfigs."""

from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.client import described_configs
from kgitops.cluster.embedded.client.bound import configs as bound_configs
from kgitops.cluster.embedded.client.calls.connection import Connection, either
from kgitops.cluster.embedded.client.described_configs import DescribedConfigs
from kgitops.cluster.embedded.controls import configs as config_control
from kgitops.cluster.embedded.controls.configs import ConfigChanges, ConfigResource
from kgitops.model.results import RequestResult


class ConfigCalls(Connection):
    """What is asked about configs."""

    def incremental_alter_configs(
        self, changes: ConfigChanges, *, validate_only: bool = False
    ) -> dict[ConfigResource, RequestResult]:
        """Set, delete, append to and subtract from configs of topics and brokers."""
        return self._decide(
            either(
                lambda draft: config_control.incremental_alter_configs(draft, changes),
                lambda tenant: bound_configs.incremental_alter_configs(tenant, changes),
            ),
            [resource for resource, _ in changes],
            validate_only=validate_only,
        )

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
    ) -> dict[ConfigResource, RequestResult]:
        """Replace all configs of a resource: deprecated, as keys that are not listed are lost."""
        return self._decide(
            either(
                lambda draft: config_control.alter_configs(draft, changes),
                lambda tenant: bound_configs.alter_configs(tenant, changes),
            ),
            changes,
            validate_only=validate_only,
        )

    def describe_configs(
        self, resources: Sequence[ConfigResource]
    ) -> dict[ConfigResource, DescribedConfigs]:
        """Every config in effect, with its source."""
        return self._read(
            either(
                lambda draft: described_configs.describe_configs(draft, resources),
                lambda tenant: bound_configs.describe_configs(tenant, resources),
            )
        )
