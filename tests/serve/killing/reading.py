"""Everything that a client can read of a served cluster."""

from collections.abc import Iterator, Mapping

from serve.answers.groups.group_client import fetch as fetch_offsets
from serve.answers.settings import test_acl_answers, test_quota_answers
from serve.answers.settings.asking import describe
from serve.answers.test_scram_answers import describe as describe_scram
from serve.data.batches import fetch
from serve.killing.record_steps import GROUP, TRANSACTION
from serve.raw_client import RawClient
from serve.topic_requests import metadata

from kgitops.wire import messages
from kgitops.wire.batch_records import batch_records
from kgitops.wire.batches import is_commit, read_header
from kgitops.wire.messages import Message

State = Mapping[tuple[object, ...], object]
"""The value of each object: of a topic, a partition's log, an ACL, and so on."""
_TOPIC, _FROM_TOPIC, _EARLIEST = 2, 1, -2


def read_state(client: RawClient, *, compacted_by_key: bool = True) -> State:
    """The state; of compacted topics the last record of each key, as compaction leaves them."""
    return dict(_objects(client, compacted_by_key=compacted_by_key))


def committed_values(client: RawClient, topic: str, partition: int) -> list[bytes | None]:
    """The values that a consumer with ``isolation.level=read_committed`` gets."""
    row = fetch(client, topic=topic, partition=partition, committed=True)
    aborted = sorted((one.first_offset, one.producer_id) for one in row.aborted_transactions or ())
    hidden: set[int] = set()
    values: list[bytes | None] = []
    for one in batches(row.records):
        header = read_header(one)
        while aborted and aborted[0][0] <= header.base_offset:
            hidden.add(aborted.pop(0)[1])
        if header.control:
            if not is_commit(one):
                hidden.discard(header.producer_id)
        elif not (header.transactional and header.producer_id in hidden):
            values += [record.value for record in batch_records(one)]
    return values


def open_transaction(client: RawClient) -> bool:
    """Tell if the producer's transaction has not ended."""
    states = client.ask("ListTransactions", 0).transaction_states
    return any(row.transaction_state == "Ongoing" for row in states)


def batches(data: bytes) -> Iterator[bytes]:
    """The batches of a log."""
    at = 0
    while at < len(data):
        size = read_header(data, at).size
        yield data[at : at + size]
        at += size


def _objects(
    client: RawClient, *, compacted_by_key: bool
) -> Iterator[tuple[tuple[object, ...], object]]:
    told = metadata(client, None)
    yield ("cluster",), told.cluster_id
    for topic in told.topics:
        name = topic.name
        configs = {
            row.name: row.value
            for row in describe(client, _TOPIC, name).configs
            if row.config_source == _FROM_TOPIC
        }
        placed = {
            row.partition_index: (row.leader_id, row.replica_nodes) for row in topic.partitions
        }
        yield ("topic", name), (topic.topic_id, placed, configs)
        by_key = compacted_by_key and configs.get("cleanup.policy") == "compact"
        for partition in placed:
            yield ("log", name, partition), _log(client, name, partition, by_key=by_key)
    for acl in test_acl_answers.describe(client):
        yield ("acl", *acl), True
    quotas = test_quota_answers.describe(client)
    assert isinstance(quotas, dict)
    for entity, rates in quotas.items():
        yield ("quota", entity), rates
    for row in describe_scram(client).results:
        infos = [(info.mechanism, info.iterations) for info in row.credential_infos]
        yield ("scram", row.user), infos
    for key, offset in fetch_offsets(client, 7, GROUP, None).items():
        yield ("offset", *key), offset
    asked = messages.DescribeTransactionsRequest(transactional_ids=[TRANSACTION])
    (row,) = client.ask("DescribeTransactions", 0, asked).transaction_states
    yield ("transaction",), _fields(row)


def _log(client: RawClient, topic: str, partition: int, *, by_key: bool) -> object:
    start = _start(client, topic, partition)
    row = fetch(client, start, topic=topic, partition=partition, committed=True)
    assert row.error_code == 0
    offsets = row.log_start_offset, row.high_watermark, row.last_stable_offset
    everything = fetch(client, start, topic=topic, partition=partition).records
    assert sum(map(len, batches(everything))) == len(everything)
    request = messages.DescribeProducersRequest
    asked = request(topics=[request.TopicRequest(name=topic, partition_indexes=[partition])])
    (told,) = client.ask("DescribeProducers", 0, asked).topics[0].partitions
    if by_key:
        records = [one for data in batches(everything) for one in batch_records(data)]
        return offsets, {one.key: (one.offset, one.value) for one in records}
    aborted = [_fields(one) for one in row.aborted_transactions or ()]
    return offsets, everything, aborted, [_fields(one) for one in told.active_producers]


def _start(client: RawClient, topic: str, partition: int) -> int:
    request = messages.ListOffsetsRequest
    row = request.ListOffsetsPartition(partition_index=partition, timestamp=_EARLIEST)
    asked = request(topics=[request.ListOffsetsTopic(name=topic, partitions=[row])])
    (found,) = client.ask("ListOffsets", 9, asked).topics[0].partitions
    assert found.error_code == 0
    return int(found.offset)


def _fields(row: Message) -> str:
    return repr(row)
