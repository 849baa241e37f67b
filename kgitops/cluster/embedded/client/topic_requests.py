"""CreateTopics, DeleteTopics and CreatePartitions by the caller's names.

In a virtual cluster topics are created together with a link, and deleting one removes its link.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.controls import partitions as partition_control
from kgitops.cluster.embedded.controls import topic_deletion as topic_deletion_control
from kgitops.cluster.embedded.controls import topics as topic_control
from kgitops.cluster.embedded.controls import virtual_clusters as virtual_cluster_control
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.entries import ConfigEntry
from kgitops.cluster.embedded.effective.topics import topic_default_entries, topic_entries
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.namespaces import (
    GlobalNamespace,
    VirtualClusterNamespace,
    namespace,
    virtual_cluster_namespace,
)
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, TopicLink
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey


def create_topics(draft: Draft, topics: Sequence[NewTopic]) -> dict[str, RequestResult]:
    """Create topics; in a virtual cluster with generated names, and a link to each (VC-056)."""
    here = virtual_cluster_namespace(draft)
    if here is None:
        return topic_control.create_topics(draft, topics)
    by_name = {topic.name: topic for topic in topics}
    return _each_once([topic.name for topic in topics], lambda name: _create(here, by_name[name]))


class CreatedTopic(Struct, frozen=True, kw_only=True):
    """A topic as CreateTopics made it, or would; ``configs`` None: the caller may not see them."""

    num_partitions: int
    replication_factor: int
    configs: Sequence[ConfigEntry] | None


def created_topics(draft: Draft, results: Mapping[str, RequestResult]) -> dict[str, CreatedTopic]:
    """The topics that these results say were created (A4-47)."""
    here = namespace(draft)
    return {name: _created(here, name) for name, result in results.items() if result.ok}


def _created(here: GlobalNamespace, name: str) -> CreatedTopic:
    draft, physical = here.draft, name
    if here.virtual_cluster is not None:
        owner = draft.delta.virtual_clusters.get(here.virtual_cluster)
        if owner is not None:
            physical = owner.links[name].topic
    topic = draft.delta.topics.get(physical)
    assert topic is not None  # noqa: S101 (it was created in this draft)
    may_see = here.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name)
    return CreatedTopic(
        num_partitions=len(topic.assignment),
        replication_factor=len(topic.assignment[0]),
        configs=_configs(draft, topic.configs) if may_see else None,
    )


def _configs(draft: Draft, own: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
    defaults = topic_default_entries(draft, str(controller_id(draft.image)))
    return tuple(topic_entries(own, defaults).values())


def delete_topics(
    draft: Draft, names: Sequence[str], topic_ids: Sequence[str]
) -> dict[str, RequestResult]:
    """Delete topics by name or by id; in a virtual cluster links go and topics stay (VC-031).

    There an id means the link that leads to the topic, if there is exactly one (VC-039).
    """
    here = virtual_cluster_namespace(draft)
    if here is None:
        by_name = topic_deletion_control.delete_topics(draft, names)
        return by_name | topic_deletion_control.delete_topic_ids(draft, topic_ids)
    by_name = _each_once(names, lambda name: _delete(here, name))
    return by_name | _each_once(topic_ids, lambda topic_id: _delete_id(here, topic_id))


def create_partitions(draft: Draft, items: Sequence[NewPartitions]) -> dict[str, RequestResult]:
    """Add partitions, for all virtual clusters that share the topic (VC-036)."""
    here = virtual_cluster_namespace(draft)
    if here is None:
        return partition_control.create_partitions(draft, items)
    by_name = {item.topic: item for item in items}
    return _each_once(
        [item.topic for item in items], lambda name: _add_partitions(here, by_name[name])
    )


def creatable(draft: Draft, names: Iterable[str]) -> frozenset[str]:
    """Those of these names that the caller has the right to create."""
    here = virtual_cluster_namespace(draft)
    if here is not None:
        return frozenset(name for name in names if _may_create(here, name))
    if draft.authorizer.allows_cluster(Operation.CREATE):
        return frozenset(names)
    if draft.options.seed:
        return frozenset()  # KIP-4 knows of no right to create a single topic (A4-32).
    may = draft.authorizer.allows_topic
    return frozenset(name for name in names if may(Operation.CREATE, name))


def _may_create(here: VirtualClusterNamespace, name: str) -> bool:
    return here.allows_request(ApiKey.CREATE_TOPICS) or here.may(
        Operation.CREATE, ResourceType.TOPIC, name
    )


def _create(here: VirtualClusterNamespace, topic: NewTopic) -> RequestResult:
    if not _may_create(here, topic.name):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if here.link(topic.name) is not None:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    local = replace(topic, virtual_cluster=here.name)
    with here.authorized():
        return topic_control.create_topics(here.draft, [local])[topic.name]


def _delete(here: VirtualClusterNamespace, name: str) -> RequestResult:
    return _unlink(here, here.linked(Operation.DELETE, name))


def _delete_id(here: VirtualClusterNamespace, topic_id: str) -> RequestResult:
    topic = here.draft.delta.topics.by_id(topic_id)
    links = here.local_topics(topic.name) if topic else ()
    if not any(here.may(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in links):
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    if not all(here.may(Operation.DELETE, ResourceType.TOPIC, name) for name in links):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if len(links) > 1:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"The topic ID means {len(links)} topics: {', '.join(links)}; delete them by name.",
        )
    return _unlink(here, here.existing_link(links[0]))


def _unlink(here: VirtualClusterNamespace, link: TopicLink) -> RequestResult:
    request = AlterVirtualClusterRequest(
        virtual_cluster=here.name,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=link.name,
    )
    topic = here.find_topic(link.name)
    with here.authorized():
        result = attempt(virtual_cluster_control.alter, here.draft, request)
    if result.ok:
        return RequestResult(topic_id=topic.topic_id if topic else None)
    return here.localized(result, link.name)


def _add_partitions(here: VirtualClusterNamespace, item: NewPartitions) -> RequestResult:
    return here.decide_on(
        Operation.ALTER,
        item.topic,
        lambda topic: partition_control.create(here.draft, replace(item, topic=topic)),
    )


def _each_once(
    keys: Iterable[str], decide: Callable[[str], RequestResult]
) -> dict[str, RequestResult]:
    return {
        key: duplicate("Duplicate topic.") if times > 1 else attempt(decide, key)
        for key, times in Counter(keys).items()
    }
