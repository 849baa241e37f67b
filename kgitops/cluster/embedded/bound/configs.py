"""DescribeConfigs and the two AlterConfigs by the names of a virtual cluster (VC-035, VC-154)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgitops.cluster.embedded import config_control, described_configs
from kgitops.cluster.embedded.config_control import ConfigChanges, ConfigResource
from kgitops.cluster.embedded.described_configs import DescribedConfigs
from kgitops.cluster.embedded.namespaces import Tenant, in_local_words
from kgitops.cluster.embedded.records import TOPIC
from kgitops.cluster.embedded.refusal import Refusal, duplicate
from kgitops.model.acls import Operation
from kgitops.model.results import RequestResult
from kgitops.model.virtual_clusters import TopicLink
from kgitops.virtual_clusters.operations import ApiKey


def incremental_alter_configs(
    tenant: Tenant, changes: ConfigChanges
) -> dict[ConfigResource, RequestResult]:
    """Of topics by their links; a broker is altered with a right on the physical cluster."""
    times = Counter(resource for resource, _ in changes)
    results: dict[ConfigResource, RequestResult] = {}
    for resource, operations in changes:
        if times[resource] > 1:
            results[resource] = duplicate("Each resource must appear at most once.")
            continue
        results[resource] = _alter(
            tenant,
            resource,
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            lambda there, these=operations: config_control.incremental_alter_configs(
                tenant.draft, [(there, these)]
            ),
        )
    return results


def alter_configs(
    tenant: Tenant, changes: Mapping[ConfigResource, Mapping[str, str]]
) -> dict[ConfigResource, RequestResult]:
    """The same for the call that replaces."""
    return {
        resource: _alter(
            tenant,
            resource,
            ApiKey.ALTER_CONFIGS,
            lambda there, these=configs: config_control.alter_configs(
                tenant.draft, {there: these}
            ),
        )
        for resource, configs in changes.items()
    }
