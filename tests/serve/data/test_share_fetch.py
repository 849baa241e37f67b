"""ShareFetch and ShareAcknowledge over sockets: sessions, locks, deliveries (KIP-932)."""

import threading
import time
from collections.abc import Iterator

import pytest
from cluster.embedded.bound.tenancies import change, execute, link
from patience import eventually, patience_s
from serve.data.batches import batch, produce
from serve.data.test_records import make_topic, recent
from serve.groups.shares import acquired, beat, codes, share_acknowledge, share_fetch
from serve.plain_requests import ask
from serve.raw_client import RawClient
from serve.served import ServedCluster, served
from serve.topic_requests import create, new_topic

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.values import topic_id_bytes

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


class Group:
    """A cluster of one broker with the topic ``orders``, which the group ``g`` reads."""

    def __init__(self, cluster: ServedCluster, client: RawClient) -> None:
        self.cluster = cluster
        self.client = client
        make_topic(cluster.embedded)
        topic = cluster.embedded.controller.image().topics.by_name["orders"]
        self.topic_id = topic_id_bytes(topic.topic_id)

    def configure(self, **configs: object) -> None:
        """Set configs of the group, without ``share.`` before them."""
        rows = [
            {"name": f"share.{key.replace('_', '.')}", "config_operation": 0, "value": str(value)}
            for key, value in configs.items()
        ]
        resources = {"resource_type": 32, "resource_name": "g", "configs": rows}
        answer = ask(self.client, "IncrementalAlterConfigs", 1, resources=resources)
        assert answer.responses[0].error_code == 0, answer

    def produce(self, *values: bytes) -> None:
        """Produce one batch."""
        assert produce(self.client, batch(*values, first_ms=recent())).error_code == 0


@pytest.fixture
def group() -> Iterator[Group]:
    """One whose first member has joined, with locks that may be short."""
    configs = {"group.share.min.record.lock.duration.ms": "1"}
    with served(brokers=3, static_configs=configs) as cluster, cluster.client() as client:
        made = Group(cluster, client)
        made.configure(auto_offset_reset="earliest")
        with cluster.client(_coordinator(client)) as coordinator:
            assert beat(coordinator).error_code == 0
        yield made


def _coordinator(client: RawClient) -> int:
    answer = ask(client, "FindCoordinator", 6, key_type=0, coordinator_keys=["g"])
    node: int = answer.coordinators[0].node_id
    return node


def test_records_are_acquired_and_acknowledged(group: Group) -> None:
    """Another member gets those that are released, and none that is accepted or rejected."""
    client, topic_id = group.client, group.topic_id
    group.produce(b"a", b"b", b"c")
    answer = share_fetch(client, topic_id)
    assert acquired(answer) == [(0, 2, 1)]
    assert answer.acquisition_lock_timeout_ms == 30_000
    assert b"b" in answer.responses[0].partitions[0].records
    assert acquired(share_fetch(client, topic_id, member="b")) == []
    answer = share_acknowledge(
        client, topic_id, 1, {0: [(0, 2, [ACCEPT, RELEASE, REJECT])]}, version=1
    )
    assert codes(answer) == {0: 0}
    group.produce(b"d")
    assert acquired(share_fetch(client, topic_id, 1, member="b")) == [(1, 1, 2), (3, 3, 1)]
    acks = {0: [(1, 1, [ACCEPT]), (3, 3, [ACCEPT])]}
    answer = share_fetch(client, topic_id, 2, member="b", acks=acks)
    assert codes(answer, "acknowledge_error_code") == {0: 0}
    assert acquired(share_fetch(client, topic_id, 2)) == []


def test_refused_acknowledgements(group: Group) -> None:
    """With one code for a partition, and no record of it changed."""
    client, topic_id = group.client, group.topic_id
    group.produce(b"a", b"b", b"c")
    share_fetch(client, topic_id)
    share_fetch(client, topic_id, member="b")
    state = ErrorCode.INVALID_RECORD_STATE
    cases = [
        ([(0, 2, [ACCEPT])], state, "b"),
        ([(0, 3, [ACCEPT])], ErrorCode.INVALID_REQUEST, "a"),
        ([(2, 1, [ACCEPT])], ErrorCode.INVALID_REQUEST, "a"),
        ([(1, 2, [ACCEPT]), (0, 0, [ACCEPT])], ErrorCode.INVALID_REQUEST, "a"),
        ([(0, 1, [ACCEPT]), (1, 2, [ACCEPT])], state, "a"),
        ([(0, 2, [ACCEPT, ACCEPT])], ErrorCode.INVALID_REQUEST, "a"),
        ([(0, 2, [])], ErrorCode.INVALID_REQUEST, "a"),
        ([(0, 2, [5])], ErrorCode.INVALID_REQUEST, "a"),
        ([(0, 2, [-1])], ErrorCode.INVALID_REQUEST, "a"),
        ([(0, 2, [RENEW])], ErrorCode.INVALID_REQUEST, "a"),
    ]
    epochs = {"a": 1, "b": 1}
    for ranges, code, member in cases:
        acks = {0: ranges}
        answer = share_acknowledge(client, topic_id, epochs[member], acks, member=member)
        assert codes(answer) == {0: code}, ranges
        epochs[member] += 1
    answer = share_fetch(client, topic_id, epochs["a"], acks={0: [(0, 5, [ACCEPT])], 7: []})
    errors = codes(answer, "acknowledge_error_code")
    assert errors == {0: ErrorCode.INVALID_REQUEST, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert codes(answer)[7] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    good = share_acknowledge(client, topic_id, epochs["a"] + 1, {0: [(0, 2, [ACCEPT])]})
    assert codes(good) == {0: 0}
    unknown = share_acknowledge(client, bytes(range(16)), epochs["a"] + 2, {0: [(0, 0, [ACCEPT])]})
    assert codes(unknown) == {0: ErrorCode.UNKNOWN_TOPIC_ID}


def test_sessions(group: Group) -> None:
    """Every request has the next epoch; the last one releases what was acquired."""
    client, topic_id = group.client, group.topic_id
    acks = {0: [(0, 0, [ACCEPT])]}
    assert share_fetch(client, topic_id, 1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert share_fetch(client, topic_id, -1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    answer = share_acknowledge(client, topic_id, 1, acks)
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert share_fetch(client, topic_id, acks=acks).error_code == ErrorCode.INVALID_REQUEST
    for member in ("", "x" * 37):
        answer = share_fetch(client, topic_id, member=member)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
    group.produce(b"a", b"b", b"c")
    assert acquired(share_fetch(client, topic_id)) == [(0, 2, 1)]
    invalid = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert share_acknowledge(client, topic_id, 0, acks).error_code == invalid
    assert share_fetch(client, topic_id, 2).error_code == invalid
    assert share_acknowledge(client, topic_id, 2, acks).error_code == invalid
    answer = share_fetch(client, topic_id, -1, acks=acks)
    assert (acquired(answer), codes(answer, "acknowledge_error_code")) == ([], {0: 0})
    assert share_fetch(client, topic_id, 1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert acquired(share_fetch(client, topic_id, member="b")) == [(1, 2, 2)]
    answer = share_acknowledge(client, topic_id, -1, {0: [(1, 1, [ACCEPT])]}, member="b")
    assert codes(answer) == {0: 0}
    assert acquired(share_fetch(client, topic_id)) == [(2, 2, 3)]


def test_a_session_tells_only_news(group: Group) -> None:
    """A partition without records is in its first answer alone, and a forgotten one in none."""
    client, topic_id = group.client, group.topic_id
    assert codes(share_fetch(client, topic_id)) == {0: 0}
    assert codes(share_fetch(client, topic_id, 1)) == {}
    group.produce(b"a")
    forgotten = {"topic_id": topic_id, "partitions": [0]}
    answer = share_fetch(client, topic_id, 2, forgotten_topics_data=forgotten)
    assert codes(answer) == {}
    assert acquired(share_fetch(client, topic_id, 3, acks={0: []})) == [(0, 0, 1)]


def test_a_broker_has_so_many_sessions(group: Group) -> None:
    """``group.share.max.share.sessions``."""
    configs = {"group.share.max.share.sessions": "1"}
    with served(brokers=1, static_configs=configs) as cluster, cluster.client() as client:
        assert share_fetch(client, bytes(16)).error_code == 0
        answer = share_fetch(client, bytes(16), member="b")
        assert answer.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        assert share_fetch(client, bytes(16)).error_code == 0
    with group.cluster.client() as client:
        assert share_fetch(client, group.topic_id, member="b").error_code == 0


def test_a_closed_connection_ends_its_sessions(group: Group) -> None:
    """What its members had acquired is for others at once."""
    group.produce(b"a")
    with group.cluster.client() as other:
        assert acquired(share_fetch(other, group.topic_id, member="b")) == [(0, 0, 1)]
        assert acquired(share_fetch(group.client, group.topic_id)) == []
    answer = share_fetch(group.client, group.topic_id, 1, max_wait_ms=20_000)
    assert acquired(answer) == [(0, 0, 2)]
    answer = share_fetch(group.client, group.topic_id, 1, member="b")
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_closed_connection_leaves_newer_sessions_alone(group: Group) -> None:
    """The member has reconnected before its old connection is closed."""
    group.produce(b"a")
    connections = group.cluster.server._listeners.open
    before = len(connections)
    with group.cluster.client() as other:
        share_fetch(other, group.topic_id, max_records=0)
        assert acquired(share_fetch(group.client, group.topic_id)) == [(0, 0, 1)]
    eventually(lambda: len(connections) <= before, what="the end of the old connection")
    answer = share_acknowledge(group.client, group.topic_id, 1, {0: [(0, 0, [ACCEPT])]})
    assert codes(answer) == {0: 0}


def test_locks_end_and_are_renewed(group: Group) -> None:
    """``share.record.lock.duration.ms``; a member that waits gets the records then."""
    client, topic_id = group.client, group.topic_id
    group.configure(record_lock_duration_ms=1500)
    group.produce(b"a", b"b")
    begin = time.monotonic()
    answer = share_fetch(client, topic_id)
    assert (acquired(answer), answer.acquisition_lock_timeout_ms) == ([(0, 1, 1)], 1500)
    time.sleep(0.3)
    renewal = share_acknowledge(client, topic_id, 1, {0: [(1, 1, [RENEW])]}, is_renew_ack=True)
    assert (codes(renewal), renewal.acquisition_lock_timeout_ms) == ({0: 0}, 1500)
    answer = share_fetch(client, topic_id, member="b", max_wait_ms=20_000)
    assert acquired(answer) == [(0, 0, 2)]
    assert time.monotonic() - begin > 1.49
    late = share_acknowledge(client, topic_id, 2, {0: [(0, 0, [ACCEPT])]})
    assert codes(late) == {0: ErrorCode.INVALID_RECORD_STATE}
    answer = share_fetch(client, topic_id, 1, member="b", max_wait_ms=20_000)
    assert (1, 1, 2) in acquired(answer)
    assert time.monotonic() - begin > 1.79


def test_renewals_are_requests_of_their_own(group: Group) -> None:
    """A ShareFetch with one fetches nothing, and groups may refuse them."""
    client, topic_id = group.client, group.topic_id
    group.produce(b"a")
    share_fetch(client, topic_id)
    group.produce(b"b")
    acks = {0: [(0, 0, [RENEW])]}
    answer = share_fetch(client, topic_id, 1, acks=acks, is_renew_ack=True)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0}
    answer = share_fetch(client, topic_id, 1, acks=acks, is_renew_ack=True, **nothing)
    assert (acquired(answer), codes(answer, "acknowledge_error_code")) == ([], {0: 0})
    group.configure(renew_acknowledge_enable="false")
    answer = share_acknowledge(client, topic_id, 2, acks, is_renew_ack=True)
    assert codes(answer) == {0: ErrorCode.INVALID_RECORD_STATE}


def test_the_last_delivery(group: Group) -> None:
    """``share.delivery.count.limit``."""
    client, topic_id = group.client, group.topic_id
    group.configure(delivery_count_limit=2)
    group.produce(b"a")
    group.produce(b"b")
    release = {0: [(0, 0, [RELEASE]), (1, 1, [ACCEPT])]}
    assert acquired(share_fetch(client, topic_id)) == [(0, 1, 1)]
    assert acquired(share_fetch(client, topic_id, 1, acks=release)) == [(0, 0, 2)]
    answer = share_fetch(client, topic_id, 2, acks={0: [(0, 0, [RELEASE])]})
    assert acquired(answer) == []
    group.produce(b"c")
    assert acquired(share_fetch(client, topic_id, 3)) == [(2, 2, 1)]


def test_limits_of_records(group: Group) -> None:
    """Batches are whole unless the client wants a strict limit, or there are no more locks."""
    client, topic_id = group.client, group.topic_id
    group.configure(partition_max_record_locks=100)
    for _ in range(3):
        group.produce(*(b"x" for _ in range(40)))
    assert acquired(share_fetch(client, topic_id, max_records=0)) == []
    assert acquired(share_fetch(client, topic_id, 1, max_records=10)) == [(0, 39, 1)]
    strict = {"max_records": 10, "share_acquire_mode": 1}
    answer = share_fetch(client, topic_id, 2, **strict)
    assert acquired(answer) == [(40, 49, 1)]
    # The rest of the batch is in flight, too, and takes the last locks.
    assert acquired(share_fetch(client, topic_id, 3)) == [(50, 79, 1)]
    assert acquired(share_fetch(client, topic_id, 4)) == [(80, 119, 1)]
    group.produce(b"y")
    assert acquired(share_fetch(client, topic_id, 5)) == []
    acks = {0: [(0, 99, [ACCEPT])]}
    assert acquired(share_fetch(client, topic_id, 6, acks=acks)) == [(120, 120, 1)]


def test_a_fetch_waits_as_long_as_the_client_says(group: Group) -> None:
    begin = time.monotonic()
    assert acquired(share_fetch(group.client, group.topic_id, max_wait_ms=200)) == []
    assert time.monotonic() - begin > 0.19


@pytest.mark.parametrize("released", [False, True])
def test_a_fetch_waits_until_a_record_is_produced_or_released(
    group: Group, *, released: bool
) -> None:
    client, topic_id = group.client, group.topic_id
    answers = []

    def fetch() -> None:
        answers.append(share_fetch(client, topic_id, 1, max_wait_ms=20_000))

    with group.cluster.client() as other:
        if released:
            produce(other, batch(b"a", first_ms=recent()))
            share_fetch(other, topic_id, member="b")
        assert acquired(share_fetch(client, topic_id)) == []
        fetching = threading.Thread(target=fetch)
        fetching.start()
        time.sleep(0.1)
        if released:
            share_acknowledge(other, topic_id, 1, {0: [(0, 0, [RELEASE])]}, member="b")
        else:
            produce(other, batch(b"a", first_ms=recent()))
        fetching.join(patience_s())
        assert acquired(answers[0])[0][:2] == (0, 0)


@pytest.mark.parametrize(
    ("reset", "first"), [("earliest", 0), ("latest", 2), ("by_duration:PT30S", 1)]
)
def test_the_first_offset_of_a_group(group: Group, reset: str, first: int) -> None:
    """``share.auto.offset.reset``."""
    group.configure(auto_offset_reset=reset)
    now_ms = int(time.time() * 1000)
    for age_ms in (60_000, 10_000):
        assert produce(group.client, batch(b"a", first_ms=now_ms - age_ms)).error_code == 0
    share_fetch(group.client, group.topic_id, max_records=0)
    group.produce(b"c")
    assert acquired(share_fetch(group.client, group.topic_id)) == [(first, 2, 1)]


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_records_of_transactions(group: Group, level: str) -> None:
    """``share.isolation.level``: those that are aborted are never delivered, open ones wait."""
    client, topic_id = group.client, group.topic_id
    group.configure(isolation_level=level)
    node = _transactions_at(client)
    with group.cluster.client(node) as coordinator:
        started = ask(
            coordinator,
            "InitProducerId",
            4,
            transactional_id="t",
            transaction_timeout_ms=60_000,
        )
        producer = started.producer_id, started.producer_epoch
        sequence, read = 0, []
        for epoch, committed in enumerate((False, True)):
            topics = {"name": "orders", "partitions": [0]}
            how = {
                "v3_and_below_transactional_id": "t",
                "v3_and_below_producer_id": producer[0],
                "v3_and_below_producer_epoch": producer[1],
                "v3_and_below_topics": topics,
            }
            ask(coordinator, "AddPartitionsToTxn", 3, **how)
            data = batch(
                b"a",
                b"b",
                producer=producer,
                sequence=sequence,
                transactional=True,
                first_ms=recent(),
            )
            sequence += 2
            assert produce(client, data, transactional_id="t").error_code == 0
            if level == "read_committed":
                assert acquired(share_fetch(client, topic_id, epoch and 2)) == []
            ask(
                coordinator,
                "EndTxn",
                3,
                transactional_id="t",
                producer_id=producer[0],
                producer_epoch=producer[1],
                committed=committed,
            )
            read.append(acquired(share_fetch(client, topic_id, _next(level, epoch))))
    if level == "read_committed":
        # Only the markers' offsets are acquired of the first; members skip these.
        assert read == [[(2, 2, 1)], [(3, 5, 1)]]
    else:
        assert read == [[(0, 2, 1)], [(3, 5, 1)]]


def _next(level: str, epoch: int) -> int:
    return epoch * 2 + 1 if level == "read_committed" else epoch


def _transactions_at(client: RawClient) -> int:
    answer = ask(client, "FindCoordinator", 6, key_type=1, coordinator_keys=["t"])
    node: int = answer.coordinators[0].node_id
    return node


def test_deleted_records_are_not_delivered(group: Group) -> None:
    """DeleteRecords moves the group's start, too."""
    client, topic_id = group.client, group.topic_id
    group.produce(b"a", b"b", b"c")
    share_fetch(client, topic_id, max_records=0)
    row = {"name": "orders", "partitions": {"partition_index": 0, "offset": 2}}
    answer = ask(client, "DeleteRecords", 2, topics=row, timeout_ms=1000)
    assert answer.topics[0].partitions[0].error_code == 0
    assert acquired(share_fetch(client, topic_id, 1)) == [(2, 2, 1)]


def test_partitions_that_are_led_elsewhere(group: Group) -> None:
    """The answer names the leader and its address."""
    with group.cluster.client(2) as client:
        answer = share_fetch(client, group.topic_id)
        (row,) = answer.responses[0].partitions
        assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert row.current_leader.leader_id == 1
        (endpoint,) = answer.node_endpoints
        assert endpoint.port == group.cluster.endpoint(1).port
        answer = share_acknowledge(client, group.topic_id, 1, {0: [(0, 0, [ACCEPT])]})
        assert codes(answer) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
        assert answer.node_endpoints[0].node_id == 1


def test_partitions_that_the_group_does_not_read(group: Group) -> None:
    """No member of it has subscribed to the topic, or there is no such group or topic."""
    client, topic_id = group.client, group.topic_id
    answer = share_fetch(client, topic_id, group="absent")
    assert codes(answer) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    make_topic(group.cluster.embedded, "clicks")
    clicks = group.cluster.embedded.controller.image().topics.by_name["clicks"]
    answer = share_fetch(client, topic_id_bytes(clicks.topic_id))
    assert codes(answer) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert codes(share_fetch(client, bytes(range(16)))) == {0: ErrorCode.UNKNOWN_TOPIC_ID}
    assert codes(share_fetch(client, topic_id, acks={0: [], 5: []})) == {0: 0, 5: 3}


def test_a_new_session_ends_a_fetch_that_waits(group: Group) -> None:
    """The member has reconnected: its old request acquires nothing."""
    answers = []

    def fetch() -> None:
        answers.append(share_fetch(group.client, group.topic_id, max_wait_ms=20_000))

    fetching = threading.Thread(target=fetch)
    fetching.start()
    time.sleep(0.1)
    with group.cluster.client() as other:
        assert acquired(share_fetch(other, group.topic_id)) == []
        data = batch(b"a", first_ms=recent())
        assert produce(other, data).error_code == 0
        fetching.join(patience_s())
        assert acquired(answers[0]) == []
        assert acquired(share_fetch(other, group.topic_id, 1)) == [(0, 0, 1)]


def test_share_groups_of_a_virtual_cluster() -> None:
    """Its members name a link; outside, the group has its physical id."""
    with served(brokers=1) as cluster:
        outside, mine = cluster.embedded, {"group_id": "g", "topics": None}
        with cluster.client() as other:
            assert create(other, new_topic("orders", 1, 1))[0].error_code == 0
        execute(outside, req.CreateVirtualClusterRequest(virtual_cluster="sales"))
        link(outside, "sales", "sales-orders", "orders")
        change(outside, "sales", EntityType.CLIENT_ID, "inside")
        topic = outside.controller.image().topics.by_name["orders"]
        with cluster.client(client_id="inside") as client, cluster.client() as other:
            answer = beat(client, subscribed_topic_names=["sales-orders"])
            assert answer.assignment.topic_partitions[0].partitions == [0]
            assert produce(other, batch(b"a", first_ms=recent())).error_code == 0
            described = ask(client, "DescribeShareGroupOffsets", 1, groups=mine)
            assert described.groups[0].topics[0].topic_name == "sales-orders"
            assert codes(share_fetch(client, topic_id_bytes(topic.topic_id))) == {0: 0}
            (listed,) = ask(other, "ListGroups", 5, types_filter=["share"]).groups
            assert listed.group_id == "sales:g"
            missing = share_fetch(other, topic_id_bytes(topic.topic_id))
            assert codes(missing) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
