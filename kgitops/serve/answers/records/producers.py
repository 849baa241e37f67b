"""InitProducerId and DescribeProducers."""

import asyncio
from itertools import count

from kgitops.cluster.embedded.broker_messages import name_refusal
from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.cluster.embedded.client.transactions import NO_PRODUCER, ProducerId
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.records.places import (
    PartitionError,
    find_place,
    looked_up,
    yield_to_event_loop,
)
from kgitops.serve.answers.records.transactions import refused_here
from kgitops.serve.call import ApiCall
from kgitops.serve.data.producers import ProducerState
from kgitops.wire import messages
from kgitops.wire.messages import Message

_WITH_CURRENT = 3
_WITH_FENCED = 4


def init_producer_id(call: ApiCall, request: Message) -> Message:
    """A producer id; a transactional id's earlier producer is fenced."""
    current = None
    if call.version >= _WITH_CURRENT and request.producer_id != NO_PRODUCER:
        current = ProducerId(producer_id=request.producer_id, epoch=request.producer_epoch)
    name = request.transactional_id
    refused = None if name is None else refused_here(call, name)
    if refused is not None:
        return messages.InitProducerIdResponse(
            error_code=refused.code, producer_id=NO_PRODUCER, producer_epoch=NO_PRODUCER
        )
    given = call.admin.init_producer_id(
        name,
        timeout_ms=request.transaction_timeout_ms,
        current=current,
    )
    call.cluster.data.refresh_open()
    code = given.result.code
    if code is ErrorCode.PRODUCER_FENCED and call.version < _WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return messages.InitProducerIdResponse(
        error_code=code, producer_id=given.producer_id, producer_epoch=given.epoch
    )


async def describe_producers(call: ApiCall, request: Message) -> Message:
    """The producers that have written to each partition (KIP-664); each is told once."""
    response = messages.DescribeProducersResponse
    image = call.image()
    loop = asyncio.get_running_loop()
    by_name: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        by_name.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    found = await looked_up(
        request.topics, lambda: call.admin.authorize_topics(Operation.READ, by_name)
    )
    topics, steps = [], count()
    for name, partitions in by_name.items():
        await yield_to_event_loop(next(steps))
        rows = []
        for partition in partitions:
            await yield_to_event_loop(next(steps))
            row = response.PartitionResponse(partition_index=partition)
            try:
                _check_name(found[name], name)
                place = find_place(call, image, found[name], partition)
                states = await loop.run_in_executor(None, call.cluster.data.producers, place.key)
                row.active_producers = [_producer(id_, held) for id_, held in states.items()]
            except PartitionError as error:
                row.error_code = error.code
                row.error_message = error.message
                unknown = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if unknown and found[name].topic is None:
                    row.error_message = "This server does not host this topic-partition."
            rows.append(row)
        topics.append(response.TopicResponse(name=name, partitions=rows))
    return response(topics=topics)


def _check_name(access: TopicAccess, name: str) -> None:
    illegal = name_refusal(name)
    if illegal and access.result.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise PartitionError(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)


def _producer(producer_id: int, held: ProducerState) -> Message:
    return messages.DescribeProducersResponse.ProducerState(
        producer_id=producer_id,
        producer_epoch=held.epoch,
        last_sequence=held.last_sequence,
        last_timestamp=held.last_timestamp,
        coordinator_epoch=0 if held.first_offset is not None else -1,
        current_txn_start_offset=-1 if held.first_offset is None else held.first_offset,
    )
