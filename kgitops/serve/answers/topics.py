"""CreateTopics, DeleteTopics and CreatePartitions."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.client.pending import POLL_SECONDS, PendingResults, Results
from kgitops.cluster.embedded.client.topic_requests import CreatedTopic
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.values import CONFIG_SOURCES, message_of, topic_id_bytes, topic_id_text
from kgitops.serve.call import ApiCall, Later
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message

_WITH_CONFIGS = 5
"""The version of CreateTopics from which on the answer tells what was made (KIP-525)."""
_WITH_IDS = 6
"""The version of DeleteTopics that takes ids."""


def create_topics(call: ApiCall, request: Message) -> Message | Later:
    """One result for each name; from version 5 on with the topic as it has become (A4-47)."""
    created: dict[str, CreatedTopic] = {}
    pending = call.admin.begin_to_create_topics(
        [_new_topic(topic) for topic in request.topics],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
        version=call.version,
        created=created if call.version >= _WITH_CONFIGS else None,
    )
    times = Counter(topic.name for topic in request.topics)

    def answer(results: Results) -> Message:
        names = list(results)
        if not call.seed:
            # Kafka's controller adds those last that it refuses before it looks at them.
            names.sort(key=lambda name: (times[name] > 1, _is_denied(results[name])))
        return messages.CreateTopicsResponse(
            topics=[_created(call, name, results[name], created.get(name)) for name in names]
        )

    return _when_over(pending, answer)


def delete_topics(call: ApiCall, request: Message) -> Message | Later:
    """One result for each name or id; a name that an id means as well is refused."""
    asked = _asked_to_delete(call, request)
    pending = call.admin.begin_to_delete_topics(
        asked.names,
        topic_ids=asked.ids,
        timeout_ms=request.timeout_ms,
        validate_only=False,
        version=call.version,
    )

    def answer(results: Results) -> Message:
        row = messages.DeleteTopicsResponse.DeletableTopicResult
        rows = list(asked.refused)
        for key, result in results.items():
            by_name = key in asked.names
            known = asked.known.get(key) if result.message != _TWICE else None
            rows.append(
                row(
                    name=key if by_name else known,
                    topic_id=topic_id_bytes(result.topic_id if by_name else key),
                    error_code=result.code,
                    error_message=message_of(result),
                )
            )
        return messages.DeleteTopicsResponse(responses=rows)

    return _when_over(pending, answer)


def create_partitions(call: ApiCall, request: Message) -> Message | Later:
    """One result for each topic."""
    pending = call.admin.begin_to_create_partitions(
        [
            NewPartitions(
                topic=topic.name,
                count=topic.count,
                assignments=None
                if topic.assignments is None
                else [row.broker_ids for row in topic.assignments],
            )
            for topic in request.topics
        ],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )
    times = Counter(topic.name for topic in request.topics)

    def answer(results: Results) -> Message:
        row = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
        # As Kafka's controller has them: what it refuses without a look comes first.
        names = sorted(results, key=lambda name: times[name] == 1)
        return messages.CreatePartitionsResponse(
            results=[
                row(
                    name=name,
                    error_code=results[name].code,
                    error_message=message_of(results[name]),
                )
                for name in names
            ]
        )

    return _when_over(pending, answer)


def _when_over(pending: PendingResults, answer: Callable[[Results], Message]) -> Message | Later:
    """The answer, once nothing is waited for: not in a thread that others wait for."""
    if pending.is_over():
        return answer(pending.results())

    async def later() -> Message:
        while not pending.is_over():
            await asyncio.sleep(POLL_SECONDS)
        return answer(pending.results())

    return later


def _new_topic(topic: Message) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple(
            (row.partition_index, tuple(row.broker_ids)) for row in topic.assignments
        ),
        configs={row.name: row.value for row in topic.configs},
    )


def _created(
    call: ApiCall, name: str, result: RequestResult, created: CreatedTopic | None
) -> Message:
    row = messages.CreateTopicsResponse.CreatableTopicResult(
        name=name,
        topic_id=topic_id_bytes(result.topic_id),
        error_code=result.code,
        error_message=message_of(result),
    )
    if created is None or not result.ok:
        return row
    if created.configs is None:
        row.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        # Null is KIP-525's; Kafka sends an empty list.
        row.configs = None if call.seed else []
        return row
    row.num_partitions = created.num_partitions
    row.replication_factor = created.replication_factor
    config = messages.CreateTopicsResponse.CreatableTopicConfigs
    row.configs = [
        config(
            name=entry.key,
            value=entry.value,
            config_source=CONFIG_SOURCES[entry.source],
            read_only=False,
            is_sensitive=False,
        )
        for entry in sorted(created.configs, key=lambda entry: entry.key)
    ]
    return row


def _is_denied(result: RequestResult) -> bool:
    return result.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


class _AskedToDelete(Struct, frozen=True):
    """Names and ids to delete, the names of the ids, and the rows that are refused before."""

    names: Sequence[str]
    ids: Sequence[str] = ()
    known: dict[str, str] = {}
    refused: Sequence[Message] = ()


_TWICE = "Duplicate topic id."


def _asked_to_delete(call: ApiCall, request: Message) -> _AskedToDelete:
    if call.version < _WITH_IDS:
        return _AskedToDelete(request.topic_names)
    names, ids, refused = [], [], []
    for topic in request.topics:
        named, identified = topic.name is not None, topic.topic_id != NIL_UUID
        if named and identified:
            message = "You may not specify both topic name and topic id."
            refused.append(_refused(topic.name, topic.topic_id, message))
        elif named:
            names.append(topic.name)
        elif identified:
            ids.append(topic_id_text(topic.topic_id))
        else:
            message = "Neither topic name nor id were specified."
            refused.append(_refused(None, NIL_UUID, message))
    known = call.admin.topic_names(set(ids)) if ids else {}
    may = call.admin.allowed_operations(ResourceType.TOPIC, {*known.values()} & {*names})
    for topic_id, name in known.items():
        if Operation.DELETE not in may.get(name, ()):
            continue
        if not call.seed:
            message = "The provided topic name maps to an ID that was already supplied."
            refused.append(_refused(name, topic_id_bytes(topic_id), message))
            names = [other for other in names if other != name]
        if ids.count(topic_id) == 1 or call.seed:
            # To KIP-4 the topics to delete are a set (A4-61), and this one is in it already.
            ids = [other for other in ids if other != topic_id]
    return _AskedToDelete(names, ids, known, refused)


def _refused(name: str | None, topic_id: bytes, message: str) -> Message:
    return messages.DeleteTopicsResponse.DeletableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=message,
    )
