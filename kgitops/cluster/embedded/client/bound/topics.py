"""CreateTopics, DeleteTopics, CreatePartitions and Metadata by the names of a virtual cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kgitops.cluster.embedded.client import metadata
from kgitops.cluster.embedded.client.metadata import TopicMetadata
from kgitops.cluster.embedded.controls import partitions as partition_control
from kgitops.cluster.embedded.controls import topics as topic_control
from kgitops.cluster.embedded.controls import virtual_clusters as virtual_cluster_control
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace, localized
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, TopicLink
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey


def create_topics(
    tenant: VirtualClusterNamespace, topics: Sequence[NewTopic]
) -> dict[str, RequestResult]:
    """Topics with names of their own, and a link to each (VC-056)."""
    by_name = {topic.name: topic for topic in topics}
    return _each_once([topic.name for topic in topics], lambda name: _create(tenant, by_name[name]))


def delete_topics(
    tenant: VirtualClusterNamespace, names: Sequence[str]
) -> dict[str, RequestResult]:
    """Links go, topics stay (VC-031)."""
    return _each_once(names, lambda name: _delete(tenant, name))


def delete_topic_ids(
    tenant: VirtualClusterNamespace, topic_ids: Sequence[str]
) -> dict[str, RequestResult]:
    """The link that leads to the topic goes, where there is one and no other (VC-039)."""
    return _each_once(topic_ids, lambda topic_id: _delete_id(tenant, topic_id))


def create_partitions(
    tenant: VirtualClusterNamespace, items: Sequence[NewPartitions]
) -> dict[str, RequestResult]:
    """Add partitions for everyone who shares the topic (VC-036)."""
    by_name = {item.topic: item for item in items}
    return _each_once(
        [item.topic for item in items], lambda name: _add_partitions(tenant, by_name[name])
    )


def describe_topics(
    tenant: VirtualClusterNamespace, names: Sequence[str] | None, *, version: int
) -> tuple[TopicMetadata, ...]:
    """The links of these names; None: all (VC-038)."""
    if names is None or (version == 0 and not names):
        links = sorted(tenant.binding.virtual_cluster.links)
        names = [n for n in links if tenant.may(Operation.DESCRIBE, ResourceType.TOPIC, n)]
    return tuple(_describe(tenant, name, version) for name in dict.fromkeys(names))


def _create(tenant: VirtualClusterNamespace, topic: NewTopic) -> RequestResult:
    if not tenant.request(ApiKey.CREATE_TOPICS) and not tenant.may(
        Operation.CREATE, ResourceType.TOPIC, topic.name
    ):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if tenant.link(topic.name) is not None:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    local = replace(topic, virtual_cluster=tenant.name)
    with tenant.authorized():
        return topic_control.create_topics(tenant.draft, [local])[topic.name]


def _delete(tenant: VirtualClusterNamespace, name: str) -> RequestResult:
    return _unlink(tenant, tenant.linked(Operation.DELETE, name))


def _delete_id(tenant: VirtualClusterNamespace, topic_id: str) -> RequestResult:
    topic = tenant.draft.delta.topics.by_id(topic_id)
    links = tenant.local_topics(topic.name) if topic else ()
    if not any(tenant.may(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in links):
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    if not all(tenant.may(Operation.DELETE, ResourceType.TOPIC, name) for name in links):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if len(links) > 1:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"The topic ID means {len(links)} topics: {', '.join(links)}; delete them by name.",
        )
    return _unlink(tenant, tenant.existing(links[0]))


def _unlink(tenant: VirtualClusterNamespace, link: TopicLink) -> RequestResult:
    request = AlterVirtualClusterRequest(
        virtual_cluster=tenant.name,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=link.name,
    )
    with tenant.authorized():
        result = attempt(virtual_cluster_control.alter, tenant.draft, request)
    return localized(result, link.topic, link.name)


def _add_partitions(tenant: VirtualClusterNamespace, item: NewPartitions) -> RequestResult:
    link = tenant.linked(Operation.ALTER, item.topic)
    with tenant.authorized(link):
        physical = replace(item, topic=link.topic)
        result = attempt(partition_control.create, tenant.draft, physical)
    return localized(result, link.topic, link.name)


def _describe(tenant: VirtualClusterNamespace, name: str, version: int) -> TopicMetadata:
    if not tenant.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
        return TopicMetadata(name=name, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if topic_name_problem(name):
        return TopicMetadata(name=name, error=ErrorCode.INVALID_TOPIC_EXCEPTION)
    link = tenant.link(name)
    if link is None:
        return TopicMetadata(name=name, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    with tenant.authorized(link):
        [topic] = metadata.describe_topics(tenant.draft, [link.topic], version=version)
    return replace(topic, name=name)


def _each_once(
    keys: Iterable[str], decide: Callable[[str], RequestResult]
) -> dict[str, RequestResult]:
    return {
        key: duplicate("Duplicate topic.") if times > 1 else attempt(decide, key)
        for key, times in Counter(keys).items()
    }
