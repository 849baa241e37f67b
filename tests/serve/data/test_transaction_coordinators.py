"""Who coordinates transactional ids, and what their open transactions keep from groups."""

from serve.data.test_records import make_topic
from serve.data.test_transactions import TXN, add, commit_offset, end, ids_of, init
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.model.results import ErrorCode
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages


def test_another_broker_is_not_the_coordinator(
    embedded: EmbeddedCluster, client: RawClient, server: KafkaServer
) -> None:
    """It says so for every request about a transactional id, does nothing, and lists none."""
    make_topic(embedded)
    producer = init(client)
    ids = ids_of(producer)
    with raw_client(server.endpoints[1]) as other:
        asked = messages.InitProducerIdRequest(transactional_id=TXN, transaction_timeout_ms=1000)
        answer = other.ask("InitProducerId", 4, asked)
        assert (answer.error_code, answer.producer_id) == (ErrorCode.NOT_COORDINATOR, -1)
        assert add(other, producer) == ErrorCode.NOT_COORDINATOR
        assert end(other, producer, committed=True) == ErrorCode.NOT_COORDINATOR
        offsets = messages.AddOffsetsToTxnRequest(group_id="copies", **ids)
        assert other.ask("AddOffsetsToTxn", 3, offsets).error_code == ErrorCode.NOT_COORDINATOR
        described = messages.DescribeTransactionsRequest(transactional_ids=[TXN])
        (row,) = other.ask("DescribeTransactions", 0, described).transaction_states
        assert row.error_code == ErrorCode.NOT_COORDINATOR
        assert other.ask("ListTransactions", 1).transaction_states == []
        assert init(other, None)[0] > producer[0]
    assert [
        row.transactional_id for row in client.ask("ListTransactions", 1).transaction_states
    ] == [TXN]
    assert add(client, producer) == 0


def test_offsets_that_may_still_change_are_not_stable(
    embedded: EmbeddedCluster, client: RawClient
) -> None:
    """KIP-447: who requires stable ones is told to ask again, until the transaction has ended."""
    admin = EmbeddedAdmin(embedded.controller)
    for name, offset in (("orders", 3), ("bills", 4)):
        make_topic(embedded, name)
        assert admin.offset_commit("copies", {(name, 0): offset})[name, 0].ok
    producer = init(client)
    unstable = {"orders": (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT), "bills": (4, 0)}
    for committed, offset in ((False, 3), (True, 9)):
        assert commit_offset(client, producer, 9) == (0, 0)
        assert fetched(client, stable=True) == fetched(client, stable=True, every=True) == unstable
        assert fetched(client, stable=True, version=7) == unstable
        assert fetched(client, stable=False)["orders"] == (3, 0)
        assert end(client, producer, committed=committed) == 0
        assert fetched(client, stable=True)["orders"] == (offset, 0)
        assert fetched(client, stable=True, every=True)["orders"] == (offset, 0)


def fetched(
    client: RawClient, *, stable: bool, every: bool = False, version: int = 9
) -> dict[str, tuple[int, int]]:
    """Offset and error of each topic's first partition."""
    request = messages.OffsetFetchRequest
    names = ("orders", "bills")
    if version >= 8:
        rows = [
            request.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in names
        ]
        group = request.OffsetFetchRequestGroup(group_id="copies", topics=None if every else rows)
        asked = request(groups=[group], require_stable=stable)
        (topics,) = [group.topics for group in client.ask("OffsetFetch", version, asked).groups]
    else:
        rows = [request.OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in names]
        asked = request(group_id="copies", topics=rows, require_stable=stable)
        topics = client.ask("OffsetFetch", version, asked).topics
    found = {topic.name: topic.partitions[0] for topic in topics}
    return {name: (row.committed_offset, row.error_code) for name, row in found.items()}
