"""Metadata: the brokers and where the partitions of topics are."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from kgitops.cluster.embedded.client.metadata import (
    LiveBrokers,
    LookedUpTopic,
    PartitionMetadata,
    TopicLookup,
)
from kgitops.model.resources.acls import ResourceType
from kgitops.model.resources.names import is_internal
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.cluster import cluster_operations
from kgitops.serve.answers.values import operation_bits, topic_id_bytes, topic_id_text
from kgitops.serve.call import ApiCall, Later
from kgitops.serve.encoded_rows import EncodedRowCache
from kgitops.wire import messages
from kgitops.wire.codec import write_part
from kgitops.wire.messages import NIL_UUID, Message
from kgitops.wire.writing import Written

_CLUSTER_OPERATIONS = range(8, 11)
"""The versions that tell the operations on the cluster; DescribeCluster does since."""
_WITH_IDS = 12
"""The version from which on topics can be asked for by id."""
_DENIED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def metadata(call: ApiCall, request: Message) -> Message | Later:
    """The topics that were asked for, by name or id, or all that the client may see.

    Names of no topics are created, if the client and the brokers' configs allow that.
    """
    if _is_invalid(call, request):
        return _refused(request)
    found = _find(call, request)
    by_name = request.topics is not None and not any(item.topic_id for item in found.topics)
    missing = call.admin.missing(found) if by_name and request.allow_auto_topic_creation else ()
    may_create = call.admin.creatable(missing) if missing else frozenset[str]()
    denied = dict.fromkeys(frozenset(missing) - may_create, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not may_create:
        return _answer(call, request, _with_denied(found, denied))
    create_topics = call.create_topics

    async def ask_controller() -> Message:
        if create_topics is None:
            return await call.decide(create)
        return answer_again(await create_topics(sorted(may_create)))

    def create() -> Message:
        results = call.admin.create_missing(found)
        return answer_again({name: result.code for name, result in results.items()})

    def answer_again(codes: Mapping[str, ErrorCode]) -> Message:
        return _answer(call, request, _with_denied(_find(call, request), {**codes, **denied}))

    return ask_controller


def _with_denied(found: TopicLookup, codes: Mapping[str, ErrorCode]) -> TopicLookup:
    """The topics found; those that the client may not create are said to be denied."""
    topics = [
        replace(item, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if item.topic is None and codes.get(item.name or "") in _DENIED
        else item
        for item in found.topics
    ]
    return replace(found, topics=topics) if codes else found


def _is_invalid(call: ApiCall, request: Message) -> bool:
    """True if a topic has neither name nor id, or an id in a version without such requests."""
    for topic in request.topics or ():
        if topic.name is None and (call.version < _WITH_IDS or topic.topic_id == NIL_UUID):
            return True
        if topic.topic_id != NIL_UUID and call.version < _WITH_IDS:
            return True
    return False


def _refused(request: Message) -> Message:
    row = messages.MetadataResponse.MetadataResponseTopic
    return messages.MetadataResponse(
        topics=[
            row(
                name=topic.name or "",
                topic_id=topic.topic_id,
                error_code=ErrorCode.INVALID_REQUEST,
            )
            for topic in request.topics
        ]
    )


def _find(call: ApiCall, request: Message) -> TopicLookup:
    """The topics of a request; if one is asked for by id, then all are, as in Kafka."""
    if request.topics is None or (call.version == 0 and not request.topics):
        return call.admin.find_topics(None)
    asked = dict.fromkeys(topic.topic_id for topic in request.topics)
    ids = [topic_id_text(topic_id) for topic_id in asked if topic_id != NIL_UUID]
    if ids:
        return call.admin.find_topic_ids(ids)
    return call.admin.find_topics(list(dict.fromkeys(topic.name for topic in request.topics)))


def _answer(call: ApiCall, request: Message, found: TopicLookup) -> Message:
    response = messages.MetadataResponse
    image = found.image
    controller = call.cluster.controller
    living = LiveBrokers(image.brokers.brokers.values(), controller.faults, call.version)
    if request.include_topic_authorized_operations:
        topics = _with_operations(call, found.topics, living)
    else:
        topics = topic_rows(found, living, call.version, call.cluster.encoded_rows)
    answer = response(
        brokers=[
            response.MetadataResponseBroker(
                node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack
            )
            for broker, endpoint in call.cluster.living_brokers(image)
        ],
        cluster_id=controller.cluster_id,
        controller_id=call.cluster.announced_controller(image),
        topics=topics,
    )
    if call.version in _CLUSTER_OPERATIONS and request.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = cluster_operations(call)
    return answer


def _with_operations(
    call: ApiCall, topics: Sequence[LookedUpTopic], living: LiveBrokers
) -> list[Message]:
    """Rows with the operations that the client may do; those of errors that say more have none."""
    names = [item.name for item in topics if item.name is not None and item.error not in _DENIED]
    operations = call.admin.allowed_operations(ResourceType.TOPIC, names)
    rows = []
    for item in topics:
        row = topic_row(item, living, call.version)
        if item.name in operations:
            row.topic_authorized_operations = operation_bits(operations[item.name])
        rows.append(row)
    return rows


def topic_rows(
    found: TopicLookup, living: LiveBrokers, version: int, written: EncodedRowCache
) -> list[Message]:
    """The rows of these topics without authorized operations, as far as possible written before."""
    kept = written.of((version, living), len(found.image.topics.by_name))
    partitions: dict[PartitionMetadata, Written] = {}

    def partition_row(partition: PartitionMetadata) -> Message:
        row = partitions.get(partition)
        if row is None:
            made = _partition_row(partition)
            row = partitions[partition] = write_part(made, "MetadataResponse", version)
        return row

    rows: list[Message] = []
    for item in found.topics:
        topic = item.topic
        if topic is None or item.name is None:
            rows.append(topic_row(item, living, version))
            continue
        held = kept.get(item.name)
        if held is None or held[0] is not topic:
            row = topic_row(item, living, version, partition_row)
            held = kept[item.name] = topic, write_part(row, "MetadataResponse", version)
        rows.append(held[1])
    return rows


def _partition_row(partition: PartitionMetadata) -> Message:
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=partition.error,
        partition_index=partition.id,
        leader_id=partition.leader,
        leader_epoch=0,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=partition.offline,
    )


def topic_row(
    found: LookedUpTopic,
    living: LiveBrokers,
    version: int,
    partition_row: Callable[[PartitionMetadata], Message] = _partition_row,
) -> Message:
    """Metadata's row of a topic, or of the error in its place."""
    row = messages.MetadataResponse.MetadataResponseTopic
    topic = found.topic
    if topic is None:
        hidden = found.error in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_ID)
        return row(
            error_code=found.error,
            # No version before had a place for a topic without a name.
            name=found.name if found.name is not None or version >= 12 else "",
            topic_id=topic_id_bytes(found.topic_id),
            is_internal=not hidden and is_internal(found.name or ""),
        )
    return row(
        name=found.name,
        topic_id=topic_id_bytes(topic.topic_id),
        is_internal=is_internal(topic.name),
        partitions=list(map(partition_row, living.partitions(topic))),
    )
