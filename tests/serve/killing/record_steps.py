"""Steps of producers and consumers: records, offsets and transactions, in several partitions."""

from collections.abc import Callable, Iterator
from typing import Any

from serve.data.batches import batch
from serve.killing.step import Client, Step, code, topic_codes

from kgitops.wire import messages
from kgitops.wire.messages import Message

TRANSACTION, GROUP = "t", "g"
IN_TRANSACTION = (("orders", 2), ("payments", 0))
"""The partitions of the transactions."""


def produce(
    values: dict[tuple[str, int], bytes], sequence: int = -1, *, transactional: bool = False
) -> Step:
    """A batch in each partition; of the idempotent producer, or in its transaction."""
    request = messages.ProduceRequest

    def data(client: Client, value: bytes) -> bytes:
        producer = client.transactional if transactional else client.plain
        known = {"producer": producer, "sequence": sequence} if sequence >= 0 else {}
        return batch(value, value, transactional=transactional, **known)

    def asked(client: Client) -> Message:
        topics = [
            request.TopicProduceData(
                name=topic,
                partition_data=[
                    request.PartitionProduceData(
                        index=partition, records=data(client, values[topic, partition])
                    )
                    for name, partition in values
                    if name == topic
                ],
            )
            for topic in dict.fromkeys(name for name, _ in values)
        ]
        name = TRANSACTION if transactional else None
        return request(transactional_id=name, acks=-1, timeout_ms=1000, topic_data=topics)

    return Step(
        api="Produce",
        version=9,
        request=asked,
        codes=lambda answer: (
            row.error_code for topic in answer.responses for row in topic.partition_responses
        ),
        repeats=sequence >= 0,
    )


def init_producer(name: str | None) -> Step:
    def learn(client: Client, answer: Message) -> None:
        found = answer.producer_id, answer.producer_epoch
        if name is None:
            client.plain = found
        else:
            client.transactional = found

    return Step(
        api="InitProducerId",
        version=4,
        request=lambda _: messages.InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=60_000
        ),
        codes=code,
        learn=learn,
        repeats=name is None,  # each time it is another epoch
    )


def commit_offsets() -> Step:
    request = messages.OffsetCommitRequest
    rows = [
        request.OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                request.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=1, committed_metadata="here"
                )
                for index in range(2)
            ],
        )
        for topic in ("orders", "audit")
    ]
    return Step(
        api="OffsetCommit",
        version=8,
        request=lambda _: request(group_id=GROUP, topics=rows),
        codes=topic_codes,
    )


def transaction(value: bytes, first: int, *, committed: bool) -> Iterator[Step]:
    """Records in two partitions, offsets of a group, and the end."""
    yield _of_producer("AddPartitionsToTxn", 3, _added, _added_codes)
    for place in IN_TRANSACTION:
        yield produce({place: value}, first * 2, transactional=True)
    yield _of_producer("AddOffsetsToTxn", 3, {"group_id": GROUP})
    offsets = messages.TxnOffsetCommitRequest
    rows = [
        offsets.TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[
                offsets.TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=5 + first, committed_metadata="here"
                )
            ],
        )
        for topic, index in IN_TRANSACTION
    ]
    yield _of_producer("TxnOffsetCommit", 3, {"group_id": GROUP, "topics": rows}, topic_codes)
    yield _of_producer("EndTxn", 3, {"committed": committed})


def _of_producer(
    api: str,
    version: int,
    fields: dict[str, Any] | Callable[[Client], Message],
    codes: Callable[[Message], Iterator[int]] | None = None,
) -> Step:
    """A request of the producer with transactions."""

    def asked(client: Client) -> Message:
        if callable(fields):
            return fields(client)
        producer_id, epoch = client.transactional
        return messages.message_class(f"{api}Request")(
            transactional_id=TRANSACTION, producer_id=producer_id, producer_epoch=epoch, **fields
        )

    return Step(api=api, version=version, request=asked, codes=codes or code)


def _added(client: Client) -> Message:
    request = messages.AddPartitionsToTxnRequest
    producer_id, epoch = client.transactional
    return request(
        v3_and_below_transactional_id=TRANSACTION,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[
            request.AddPartitionsToTxnTopic(name=topic, partitions=[partition])
            for topic, partition in IN_TRANSACTION
        ],
    )


def _added_codes(answer: Message) -> Iterator[int]:
    topics = answer.results_by_topic_v3_and_below
    return (row.partition_error_code for topic in topics for row in topic.results_by_partition)


def delete_records() -> Step:
    request = messages.DeleteRecordsRequest
    topic = request.DeleteRecordsTopic(
        name="orders",
        partitions=[
            request.DeleteRecordsPartition(partition_index=index, offset=-1) for index in range(2)
        ],
    )
    return Step(
        api="DeleteRecords",
        version=2,
        request=lambda _: request(topics=[topic], timeout_ms=10_000),
        codes=topic_codes,
    )
