"""The same requests of share group members to a real broker and to a served cluster (KIP-932)."""

import time
from collections.abc import Callable, Iterator, Sequence
from uuid import uuid4

import pytest
from kafka_clusters import StartKafka
from patience import eventually
from serve.data.batches import batch, produce
from serve.data.test_records import recent
from serve.groups.shares import acquired, share_acknowledge, share_fetch
from serve.plain_requests import ask
from serve.raw_client import RawClient, raw_client
from serve.served import client_of
from serve.topic_requests import create, new_topic

from kgitops.model.results import ErrorCode
from kgitops.serve.nodes import Endpoint
from kgitops.wire.messages import Message

pytestmark = pytest.mark.kafka

Seen = list[object]
CONFIGS = {
    "share.auto.offset.reset": "earliest",
    "share.partition.max.record.locks": "100",
}
_SETTLES_SECONDS = 1
"""Kafka releases the records of a session after it has answered."""

_NOT_LOADED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


@pytest.fixture(scope="module")
def broker(own_kafka: StartKafka) -> Iterator[RawClient]:
    """A connection to a real broker."""
    host, port = own_kafka(brokers=1).servers.rsplit(":", 1)
    with raw_client(Endpoint(host=host, port=int(port))) as client:
        yield client


class Member:
    """Two members of a new group that reads a new topic; what they see, without generated names."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        word = uuid4().hex[:8]
        self.topic, self.group = f"orders-{word}", f"g-{word}"
        self.first, self.second = "A" * 22, "B" * 22
        self.topic_id = bytes(create(client, new_topic(self.topic, 1, 1))[0].topic_id)
        rows = [{"name": k, "config_operation": 0, "value": v} for k, v in CONFIGS.items()]
        resource = {"resource_type": 32, "resource_name": self.group, "configs": rows}
        ask(client, "IncrementalAlterConfigs", 1, resources=resource)
        self.wait_for_coordinator()
        self.seen: Seen = []

    def wait_for_coordinator(self) -> None:
        """Wait until the group's coordinator has loaded its partition."""

        def described() -> Message:
            ask(self.client, "FindCoordinator", 6, coordinator_keys=[self.group])
            return ask(self.client, "ShareGroupDescribe", 1, group_ids=[self.group])

        eventually(
            described,
            lambda answer: answer.groups[0].error_code not in _NOT_LOADED,
            what="a coordinator that has loaded the group",
        )

    def note(self, *values: object) -> None:
        """Remember something, with the group's name as ``G``."""
        plain = [
            value.replace(self.group, "G") if isinstance(value, str) else value for value in values
        ]
        self.seen.append(tuple(plain))

    def beat(self, epoch: int, member: str | None = None, **fields: object) -> Message:
        """Send a heartbeat."""
        names = [self.topic] if epoch == 0 else None
        how = {
            "group_id": self.group,
            "member_id": self.first if member is None else member,
            "member_epoch": epoch,
            "subscribed_topic_names": names,
        }
        return ask(self.client, "ShareGroupHeartbeat", 1, **{**how, **fields})

    def join(self) -> int:
        """Join until there is an assignment; the epoch."""
        epoch = 0

        def beat() -> Message:
            nonlocal epoch
            answer = self.beat(epoch)
            assert answer.error_code == 0
            epoch = answer.member_epoch
            return answer

        eventually(
            beat,
            lambda answer: answer.assignment and answer.assignment.topic_partitions,
            what="an assignment",
        )
        return epoch

    def refused(self, answer: Message) -> None:
        """Remember the error of a request."""
        self.note(answer.error_code, answer.error_message)

    def produce(self, *values: bytes) -> None:
        """Produce one batch."""
        data = batch(*values, first_ms=recent())
        assert produce(self.client, data, topic=self.topic).error_code == 0

    def fetch(self, epoch: int, *, second: bool = False, **fields: object) -> None:
        """Fetch, and remember what was acquired, and every row."""
        member = self.second if second else self.first
        how = {"member": member, "group": self.group, "max_wait_ms": 1500, "max_bytes": 1 << 20}
        answer = share_fetch(self.client, self.topic_id, epoch, **{**how, **fields})
        if answer.error_code:
            self.note(answer.error_code)
            return
        rows = [
            (
                row.partition_index,
                row.error_code,
                row.acknowledge_error_code,
                row.current_leader.leader_id,
                bool(row.records),
            )
            for topic in answer.responses
            for row in topic.partitions
        ]
        self.note(acquired(answer), sorted(rows))

    def acknowledge(
        self, epoch: int, *ranges: tuple[int, int, Sequence[int]], **how: object
    ) -> None:
        """Acknowledge records of partition 0, and remember the result."""
        acks = {0: ranges} if ranges else {}
        member = {"member": self.first, "group": self.group, **how}
        answer = share_acknowledge(self.client, self.topic_id, epoch, acks, **member)
        rows = [(r.error_code, r.error_message) for t in answer.responses for r in t.partitions]
        self.note(answer.error_code, rows)

    def lag(self) -> None:
        """Remember the lag of the group; Kafka's start offset is that of its last snapshot."""
        asked = {"group_id": self.group, "topics": None}
        answer = ask(self.client, "DescribeShareGroupOffsets", 1, groups=asked)
        rows = [row for topic in answer.groups[0].topics for row in topic.partitions]
        self.note(answer.groups[0].error_code, [(r.partition_index, r.lag) for r in rows])


def heartbeats(member: Member) -> None:
    """Those that are refused, and the first one."""
    member.refused(member.beat(1))
    member.refused(member.beat(-1))
    for fields in (
        {"member_id": ""},
        {"member_id": "x" * 40},
        {"group_id": ""},
        {"rack_id": ""},
        {"subscribed_topic_names": []},
    ):
        member.refused(member.beat(0, **fields))
    member.refused(member.beat(-2))
    answer = member.beat(0)
    member.note(answer.member_epoch, answer.heartbeat_interval_ms, answer.assignment is not None)
    epoch = member.join()
    member.refused(member.beat(5, member.second))
    member.refused(member.beat(-1, member.second))
    member.note(member.beat(epoch + 50).error_code)
    answer = member.beat(-1)
    member.note(answer.error_code, answer.member_epoch)


def sessions(member: Member) -> None:
    """Epochs in and out of order, and what is released at the end."""
    member.join()
    member.lag()
    member.fetch(1)
    member.fetch(-1)
    member.acknowledge(1, (0, 0, [1]))
    member.fetch(0, acks={0: [(0, 0, [1])]})
    member.fetch(0, member="")
    member.fetch(0)
    member.fetch(1)
    member.produce(b"a", b"b", b"c")
    member.produce(b"d")
    member.fetch(2)
    member.fetch(2)
    member.acknowledge(0)
    member.acknowledge(9)
    member.fetch(3, acks={0: [(0, 0, [1])], 7: []})
    member.fetch(4, acks={7: [(1, 1, [1])]})
    member.fetch(-1, acks={0: [(1, 1, [1])]})
    time.sleep(_SETTLES_SECONDS)
    member.fetch(0, second=True)
    member.acknowledge(-1, (2, 2, [1]), member=member.second)
    time.sleep(_SETTLES_SECONDS)
    member.fetch(0)
    member.lag()


def acknowledgements(member: Member) -> None:
    """Ranges and types that are refused, and some that are not."""
    member.join()
    member.produce(b"a", b"b", b"c")
    member.fetch(0)
    ranges: list[list[tuple[int, int, Sequence[int]]]] = [
        [(0, 3, [1])],
        [(2, 1, [1])],
        [(1, 2, [1]), (0, 0, [1])],
        [(0, 1, [1]), (1, 2, [1])],
        [(0, 2, [1, 1])],
        [(0, 2, [])],
        [(0, 2, [5])],
        [(0, 2, [-1])],
        [(0, 2, [4])],
        [(5, 6, [1])],
        [(0, 0, [1]), (2, 2, [2])],
        [(0, 0, [1])],
    ]
    for epoch, of_request in enumerate(ranges, 1):
        member.acknowledge(epoch, *of_request)
    member.lag()
    member.fetch(0, second=True)
    member.acknowledge(1, (1, 1, [1]), member=member.second)
    epoch = len(ranges) + 1
    member.acknowledge(epoch, (1, 1, [4]), is_renew_ack=True)
    renewal = {"acks": {0: [(1, 1, [4])]}, "is_renew_ack": True}
    member.fetch(epoch + 1, **renewal)
    nothing = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    member.fetch(epoch + 1, **renewal, **nothing)
    member.fetch(epoch + 2, acks={0: [(1, 1, [3])]})
    member.lag()


def limits(member: Member) -> None:
    """Whole batches, strict limits, and the limit of locks."""
    member.join()
    for _ in range(3):
        member.produce(*(b"x" for _ in range(40)))
    member.fetch(0, max_records=0)
    member.fetch(1, max_records=10)
    member.fetch(2, max_records=10, share_acquire_mode=1)
    member.fetch(3)
    member.produce(b"y")
    member.fetch(4)
    member.fetch(5)
    member.fetch(6, acks={0: [(0, 49, [1])]})
    member.lag()


def other_requests(member: Member) -> None:
    """Those of consumers and of administrators, at a share group."""
    client, group, topic = member.client, member.group, member.topic
    partition = {"partition_index": 0}
    rows = {"topic_name": topic, "partitions": [{**partition, "start_offset": 1}]}
    rows["partitions"] += [{"partition_index": 9, "start_offset": 1}]

    def alter() -> None:
        answer = ask(client, "AlterShareGroupOffsets", 0, group_id=group, topics=rows)
        parts = [(r.error_code, r.error_message) for t in answer.responses for r in t.partitions]
        member.note(answer.error_code, answer.error_message, parts)

    def delete() -> None:
        names = [{"topic_name": topic}, {"topic_name": "absent"}]
        answer = ask(client, "DeleteShareGroupOffsets", 0, group_id=group, topics=names)
        parts = [(row.error_code, row.error_message) for row in answer.responses]
        member.note(answer.error_code, answer.error_message, parts)

    def describe() -> None:
        answer = ask(client, "ShareGroupDescribe", 1, group_ids=[group])
        row = answer.groups[0]
        member.note(row.error_code, row.error_message, row.group_state, row.assignor_name)

    delete()
    describe()
    member.join()
    describe()
    alter()
    delete()
    (listed,) = [
        row
        for row in ask(client, "ListGroups", 5, types_filter=["Share"]).groups
        if row.group_id == group
    ]
    member.note(listed.group_state, listed.group_type, listed.protocol_type)
    member.note(ask(client, "DeleteGroups", 2, groups_names=[group]).results[0].error_code)
    join = {"session_timeout_ms": 9000, "rebalance_timeout_ms": 9000, "protocol_type": "consumer"}
    protocol = {"name": "range", "metadata": b""}
    answer = ask(client, "JoinGroup", 9, group_id=group, protocols=protocol, **join)
    member.note(answer.error_code)
    beat = {"member_id": member.first, "rebalance_timeout_ms": 1000, "topic_partitions": []}
    answer = ask(
        client,
        "ConsumerGroupHeartbeat",
        1,
        group_id=group,
        subscribed_topic_names=[topic],
        **beat,
    )
    member.refused(answer)
    named = {"name": topic, "partitions": {**partition, "committed_offset": 1}}
    answer = ask(client, "OffsetCommit", 9, group_id=group, topics=named)
    member.note(answer.topics[0].partitions[0].error_code)
    asked = {"group_id": group, "topics": {"name": topic, "partition_indexes": [0]}}
    member.note(ask(client, "OffsetFetch", 9, groups=asked).groups[0].error_code)
    named = {"name": topic, "partitions": partition}
    member.note(ask(client, "OffsetDelete", 0, group_id=group, topics=named).error_code)
    member.refused(ask(client, "DescribeGroups", 6, groups=[group]).groups[0])
    member.refused(ask(client, "ConsumerGroupDescribe", 1, group_ids=[group]).groups[0])
    member.beat(-1)
    alter()
    member.lag()
    delete()
    member.lag()
    member.note(ask(client, "DeleteGroups", 2, groups_names=[group]).results[0].error_code)
    alter()
    describe()


@pytest.mark.parametrize(
    "program", [heartbeats, sessions, acknowledgements, limits, other_requests]
)
def test_share_groups_are_served_as_by_kafka(
    broker: RawClient, program: Callable[[Member], None]
) -> None:
    """Codes, messages, records and deliveries are the same."""
    real = Member(broker)
    program(real)
    with client_of(brokers=1) as client:
        served = Member(client)
        program(served)
    for number, (ours, theirs) in enumerate(zip(served.seen, real.seen, strict=True)):
        assert (number, ours) == (number, theirs)
