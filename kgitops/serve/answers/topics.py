"""CreateTopics and DeleteTopics."""

from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.results import RequestResult
from kgitops.serve.answers.values import message_of, topic_id_bytes, topic_id_text
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message


def create_topics(call: ApiCall, request: Message) -> Message:
    """One result for each name; from version 5 on with the topic as it has become (KIP-525)."""
    topics = [_new_topic(topic) for topic in request.topics]
    results = call.admin.create_topics(
        topics,
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
        version=call.version,
    )
    made = {topic.name: topic for topic in topics}
    return messages.CreateTopicsResponse(
        topics=[_created(call, made[name], result) for name, result in results.items()]
    )


def delete_topics(call: ApiCall, request: Message) -> Message:
    """One result for each name or id."""
    if call.version < 6:
        names, ids = request.topic_names, []
    else:
        names = [topic.name for topic in request.topics if topic.name is not None]
        ids = [topic_id_text(topic.topic_id) for topic in request.topics if topic.name is None]
    known = call.admin.topic_names(ids) if ids else {}
    results = call.admin.delete_topics(
        names, topic_ids=ids, timeout_ms=request.timeout_ms, version=call.version
    )
    row = messages.DeleteTopicsResponse.DeletableTopicResult
    return messages.DeleteTopicsResponse(
        responses=[
            row(
                name=key if key in names else known.get(key),
                topic_id=topic_id_bytes(result.topic_id or (None if key in names else key)),
                error_code=result.code,
                error_message=message_of(result),
            )
            for key, result in results.items()
        ]
    )


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


def _created(call: ApiCall, topic: NewTopic, result: RequestResult) -> Message:
    row = messages.CreateTopicsResponse.CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id_bytes(result.topic_id),
        error_code=result.code,
        error_message=message_of(result),
    )
    made = call.image().topics.by_name.get(topic.name)
    if result.ok and made is not None:
        row.num_partitions = len(made.assignment)
        row.replication_factor = len(made.assignment[0])
    return row
