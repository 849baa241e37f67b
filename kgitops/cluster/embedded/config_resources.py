"""The resources that have configs: who may see and alter them, and which there are (KIP-1142)."""

from collections.abc import Collection, Iterator

from kgitops.cluster.embedded.controls.configs import ConfigResource
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
)
from kgitops.cluster.embedded.namespaces import GlobalNamespace, VirtualClusterNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters.rights import ApiKey

RESOURCE_TYPES = (GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC)
"""All types, in the order in which Kafka lists resources."""


def check_cluster_right(draft: Draft, operation: Operation) -> None:
    """Refuse callers without the right on the physical cluster.

    Raises:
        Refusal: the caller does not have it (31).
    """
    if not draft.authorizer.allows_cluster(operation):
        raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")


def physical_group(here: GlobalNamespace, operation: Operation, group: str, api_key: ApiKey) -> str:
    """The physical id of a group, which need not exist (VC-154).

    Raises:
        Refusal: the caller has no right to its configs (30).
    """
    if isinstance(here, VirtualClusterNamespace) and here.allows_request(api_key):
        return here.physical_id(group)
    return here.group(operation, group)


def list_resources(draft: Draft, types: Collection[str]) -> list[ConfigResource]:
    """The resources of these types; groups and client metrics are those that have configs.

    Raises:
        Refusal: the caller may not see them (31).
    """
    here = namespace(draft)
    physical = draft.authorizer.allows_cluster(Operation.DESCRIBE_CONFIGS)
    local = isinstance(here, VirtualClusterNamespace) and here.allows_request(
        ApiKey.DESCRIBE_CONFIGS
    )
    if not physical and not local:
        raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return [
        ConfigResource(type=type_, name=name)
        for type_ in RESOURCE_TYPES
        if type_ in types and (physical or type_ in (GROUP, TOPIC))
        for name in _names(here, type_)
    ]


def _names(here: GlobalNamespace, type_: str) -> Iterator[str]:
    image = here.draft.image
    match type_:
        case "topic":
            yield from here.topics()
        case "group":
            local = (here.local_group(group) for group in sorted(image.configs.groups))
            yield from (name for name in local if name is not None)
        case "client_metrics":
            yield from sorted(image.configs.client_metrics)
        case _:
            yield from (str(broker) for broker in image.brokers.brokers)
