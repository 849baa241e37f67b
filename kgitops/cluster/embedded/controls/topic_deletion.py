"""Decides DeleteTopics (spec §3.5)."""

from collections import Counter
from collections.abc import Callable, Sequence

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.image.records import MarkTopicRecord, RemoveTopicRecord
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.model.requests import DeleteTopicRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.links import refuse_linked
from kgitops.virtual_clusters.refusals import VirtualClusterRefusal


def delete_topics(draft: Draft, names: Sequence[str]) -> dict[str, RequestResult]:
    """Delete by name; one result for each name."""
    return _each_once(draft, names, "Duplicate topic name.", _delete_by_name)


def delete_topic_ids(draft: Draft, topic_ids: Sequence[str]) -> dict[str, RequestResult]:
    """Delete by topic id; one result for each id."""
    return _each_once(draft, topic_ids, "Duplicate topic id.", _delete_by_id)


def finish_deletions(draft: Draft) -> None:
    """Remove the topics whose deletion was held up."""
    for topic in draft.image.topics.by_name.values():
        if topic.marked_for_deletion:
            draft.write(RemoveTopicRecord(topic_id=topic.topic_id))


def _each_once(
    draft: Draft, keys: Sequence[str], twice: str, delete: Callable[[Draft, str], RequestResult]
) -> dict[str, RequestResult]:
    results: dict[str, RequestResult] = {}
    for key, times in Counter(keys).items():
        # KIP-4 treats names as a set; KRaft refuses a repeated one (C-02).
        if times > 1 and not draft.options.seed:
            results[key] = duplicate(twice)
        else:
            results[key] = attempt(delete, draft, key)
    return results


def _delete_by_name(draft: Draft, name: str) -> RequestResult:
    topic = draft.delta.topics.get(name)
    if not _may_delete(draft, name):
        hidden = not draft.authorizer.allows_topic(Operation.DESCRIBE, name)
        if hidden and draft.options.seed:
            topic = None
        else:
            raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if topic is None:
        code = (
            ErrorCode.INVALID_TOPIC_EXCEPTION
            if draft.options.seed
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        raise Refusal(code, "This server does not host this topic-partition.")
    _delete(draft, topic)
    return RequestResult(topic_id=topic.topic_id)


def _delete_by_id(draft: Draft, topic_id: str) -> RequestResult:
    topic = draft.delta.topics.by_id(topic_id)
    hidden = topic is not None and not draft.authorizer.allows_topic(Operation.DESCRIBE, topic.name)
    if topic is None or (hidden and draft.options.seed):
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    if not _may_delete(draft, topic.name):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    _delete(draft, topic)
    return RequestResult(topic_id=topic.topic_id)


def _may_delete(draft: Draft, name: str) -> bool:
    everything = not draft.options.seed and draft.authorizer.allows_cluster(Operation.DELETE)
    return everything or draft.authorizer.allows_topic(Operation.DELETE, name)


def _delete(draft: Draft, topic: TopicImage) -> None:
    if draft.options.static_configs.get("delete.topic.enable", "true") == "false":
        raise Refusal(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    if topic.marked_for_deletion:
        return
    try:
        refuse_linked(draft.delta.virtual_clusters, topic.name)
    except VirtualClusterRefusal as refused:
        raise Refusal(refused.code, str(refused)) from None
    request = DeleteTopicRequest(topic=topic.name, topic_id=topic.topic_id)
    draft.judge(request)
    # KRaft removes at once; only the seed has deletions that are accepted and not done yet (C-09).
    if draft.faults.hold_deletions and draft.options.seed:
        draft.write(MarkTopicRecord(topic_id=topic.topic_id))
    else:
        draft.write(RemoveTopicRecord(topic_id=topic.topic_id))
    draft.accept(request)
