"""DescribeConfigs and the two AlterConfigs by the names of a virtual cluster (VC-035, VC-154).

What is no topic is left to the physical cluster's rights: no right on a virtual cluster is one on
brokers.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kgitops.cluster.embedded.client import described_configs
from kgitops.cluster.embedded.client.described_configs import DescribedConfigs
from kgitops.cluster.embedded.controls import configs as config_control
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigChanges, ConfigResource
from kgitops.cluster.embedded.image.records import TOPIC
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace, localized
from kgitops.cluster.embedded.refusal import Refusal, duplicate
from kgitops.model.resources.acls import Operation
from kgitops.model.results import RequestResult
from kgitops.virtual_clusters.rights import ApiKey


def incremental_alter_configs(
    tenant: VirtualClusterNamespace, changes: ConfigChanges
) -> dict[ConfigResource, RequestResult]:
    """One result for each resource."""
    times = Counter(resource for resource, _ in changes)
    results: dict[ConfigResource, RequestResult] = {}
    for resource, operations in changes:
        if times[resource] > 1:
            results[resource] = duplicate("Each resource must appear at most once.")
        else:
            results[resource] = _alter(tenant, resource, operations)
    return results


def alter_configs(
    tenant: VirtualClusterNamespace, changes: Mapping[ConfigResource, Mapping[str, str]]
) -> dict[ConfigResource, RequestResult]:
    """One result for each resource, whose other keys are lost."""
    return {resource: _replace(tenant, resource, configs) for resource, configs in changes.items()}


def describe_configs(
    tenant: VirtualClusterNamespace, resources: Sequence[ConfigResource]
) -> dict[ConfigResource, DescribedConfigs]:
    """One answer for each resource."""
    return {resource: _describe(tenant, resource) for resource in resources}


def _alter(
    tenant: VirtualClusterNamespace, resource: ConfigResource, operations: Sequence[AlterConfig]
) -> RequestResult:
    def decide(there: ConfigResource) -> RequestResult:
        changes = [(there, operations)]
        return config_control.incremental_alter_configs(tenant.draft, changes)[there]

    return _altered(tenant, resource, ApiKey.INCREMENTAL_ALTER_CONFIGS, decide)


def _replace(
    tenant: VirtualClusterNamespace, resource: ConfigResource, configs: Mapping[str, str]
) -> RequestResult:
    def decide(there: ConfigResource) -> RequestResult:
        return config_control.alter_configs(tenant.draft, {there: configs})[there]

    return _altered(tenant, resource, ApiKey.ALTER_CONFIGS, decide)


def _altered(
    tenant: VirtualClusterNamespace,
    resource: ConfigResource,
    api_key: ApiKey,
    decide: Callable[[ConfigResource], RequestResult],
) -> RequestResult:
    if resource.type != TOPIC:
        return decide(resource)
    try:
        link = tenant.linked(Operation.ALTER_CONFIGS, resource.name, api_key)
    except Refusal as refusal:
        return refusal.result
    with tenant.authorized(link):
        result = decide(replace(resource, name=link.topic))
    return localized(result, link.topic, link.name)


def _describe(tenant: VirtualClusterNamespace, resource: ConfigResource) -> DescribedConfigs:
    def decide(there: ConfigResource) -> DescribedConfigs:
        return described_configs.describe_configs(tenant.draft, [there])[there]

    if resource.type != TOPIC:
        return decide(resource)
    operation, api_key = Operation.DESCRIBE_CONFIGS, ApiKey.DESCRIBE_CONFIGS
    try:
        link = tenant.linked(operation, resource.name, api_key)
    except Refusal as refusal:
        return DescribedConfigs(result=refusal.result, entries={})
    with tenant.authorized(link):
        return decide(replace(resource, name=link.topic))
