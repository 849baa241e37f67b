"""Steps of producers and consumers: records, offsets and transactions, in several partitions."""

from collections.abc import Iterator

from serve.data.batches import batch
from serve.killing.step import Client, Step
from serve.plain_requests import Fields

from kgitops.wire.messages import Message

TRANSACTION, GROUP = "t", "g"
IN_TRANSACTION = (("orders", 2), ("payments", 0))
"""The partitions of the transactions."""


def produce(
    values: dict[tuple[str, int], bytes], sequence: int = -1, *, transactional: bool = False
) -> Step:
    """A batch in each partition; of the idempotent producer, or in its transaction."""

    def data(client: Client, value: bytes) -> bytes:
        producer = client.transactional if transactional else client.plain
        known = {"producer": producer, "sequence": sequence} if sequence >= 0 else {}
        return batch(value, value, transactional=transactional, **known)

    def fields(client: Client) -> Fields:
        rows: dict[str, list[Fields]] = {}
        for (topic, partition), value in values.items():
            row = {"index": partition, "records": data(client, value)}
            rows.setdefault(topic, []).append(row)
        topics = [{"name": topic, "partition_data": parts} for topic, parts in rows.items()]
        name = TRANSACTION if transactional else None
        return {"transactional_id": name, "acks": -1, "timeout_ms": 1000, "topic_data": topics}

    return Step("Produce", 9, fields, repeats=sequence >= 0)


def init_producer(name: str | None) -> Step:
    def learn(client: Client, answer: Message) -> None:
        found = answer.producer_id, answer.producer_epoch
        if name is None:
            client.plain = found
        else:
            client.transactional = found

    fields = {"transactional_id": name, "transaction_timeout_ms": 60_000}
    # Each time it is another epoch.
    return Step("InitProducerId", 4, fields, learn, repeats=name is None)


def offsets(partitions: dict[str, list[int]], offset: int) -> Fields:
    """Offsets of the group, with a word about each."""
    kept = {"committed_offset": offset, "committed_metadata": "here"}
    rows = [
        {"name": topic, "partitions": [{"partition_index": index, **kept} for index in indexes]}
        for topic, indexes in partitions.items()
    ]
    return {"group_id": GROUP, "topics": rows}


def commit_offsets() -> Step:
    return Step("OffsetCommit", 8, offsets({"orders": [0, 1], "audit": [0, 1]}, 1))


def transaction(value: bytes, first: int, *, committed: bool) -> Iterator[Step]:
    """Records in two partitions, offsets of a group, and the end."""
    places = {topic: [partition] for topic, partition in IN_TRANSACTION}

    def added(client: Client) -> Fields:
        producer_id, epoch = client.transactional
        return {
            "v3_and_below_transactional_id": TRANSACTION,
            "v3_and_below_producer_id": producer_id,
            "v3_and_below_producer_epoch": epoch,
            "v3_and_below_topics": [{"name": t, "partitions": p} for t, p in places.items()],
        }

    yield Step("AddPartitionsToTxn", 3, added)
    for place in IN_TRANSACTION:
        yield produce({place: value}, first * 2, transactional=True)
    yield _of_producer("AddOffsetsToTxn", {"group_id": GROUP})
    yield _of_producer("TxnOffsetCommit", offsets(places, 5 + first))
    yield _of_producer("EndTxn", {"committed": committed})


def _of_producer(api: str, fields: Fields) -> Step:
    """A request of the producer with transactions."""

    def whole(client: Client) -> Fields:
        producer_id, epoch = client.transactional
        ids = {"producer_id": producer_id, "producer_epoch": epoch}
        return {"transactional_id": TRANSACTION, **ids, **fields}

    return Step(api, 3, whole)


def delete_records() -> Step:
    rows = [{"partition_index": index, "offset": -1} for index in range(2)]
    topics = {"name": "orders", "partitions": rows}
    return Step("DeleteRecords", 2, {"topics": topics, "timeout_ms": 10_000})
