"""A group that is taken over and given back, on a served cluster and on a real Kafka 4.3."""

from collections.abc import Iterator

import pytest
from patience import eventually
from serve.answers.groups.group_client import (
    commit,
    commit_request,
    fetch,
    heartbeat,
    join,
    join_request,
    make_topic,
    sync,
)
from serve.raw_client import RawClient, raw_client
from serve.served import served

from kgitops.cluster.embedded.options import Compat
from kgitops.cluster.port import Cluster
from kgitops.model.results import ErrorCode
from kgitops.sandbox.sandbox import Sandbox
from kgitops.serve.groups.embedded_protocol import read_assignment, write_assignment
from kgitops.serve.nodes import Endpoint
from kgitops.wire import messages

pytestmark = pytest.mark.kafka

GROUP = "moving"


@pytest.fixture
def theirs(kafka: Sandbox, kafka_cluster: Cluster) -> Iterator[RawClient]:
    """A client of the group's coordinator in a real Kafka."""
    first = kafka.servers.split(",")[0]
    host, _, port = first.rpartition(":")
    with raw_client(Endpoint(host, int(port))) as client:
        yield from at_coordinator(client)


@pytest.fixture
def ours() -> Iterator[RawClient]:
    """A client of the group's coordinator in a served cluster."""
    with (
        served(compat=Compat.KRAFT, internal_topics=True) as brokers,
        brokers.client(1) as client,
    ):
        yield from at_coordinator(client)


def at_coordinator(client: RawClient) -> Iterator[RawClient]:
    """A client of the broker that coordinates the group; its topic is there."""
    make_topic(client, "orders")
    request = messages.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    row = eventually(
        lambda: client.ask("FindCoordinator", 6, request).coordinators[0],
        lambda row: not row.error_code,
        what="the coordinator is found",
    )
    with raw_client(Endpoint(row.host, row.port)) as coordinator:
        eventually(
            lambda: coordinator.ask("Metadata", 12, messages.MetadataRequest(topics=None)).topics,
            lambda topics: "orders" in {topic.name for topic in topics},
            what="the coordinator knows the topic",
        )
        group = messages.DescribeGroupsRequest(groups=[GROUP])
        eventually(
            lambda: coordinator.ask("DescribeGroups", 6, group).groups[0].error_code,
            lambda code: code == ErrorCode.GROUP_ID_NOT_FOUND,
            what="the coordinator has loaded its groups",
        )
        yield coordinator


def story(client: RawClient) -> list[tuple[str, object]]:
    """All that both clusters answer, step by step."""
    told: list[tuple[str, object]] = []

    def tell(step: str, *answers: object) -> None:
        told.append((step, answers))

    def beat(member_id: str, epoch: int, **more: object) -> messages.Message:
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, **more
        )
        return client.ask("ConsumerGroupHeartbeat", 1, request)

    def first_beat(member_id: str, instance_id: str | None = None) -> messages.Message:
        return beat(
            member_id,
            0,
            rebalance_timeout_ms=9000,
            subscribed_topic_names=["orders"],
            topic_partitions=[],
            instance_id=instance_id,
        )

    def kinds() -> tuple[str, str]:
        listed = client.ask("ListGroups", 5).groups
        return next((row.group_type, row.group_state) for row in listed if row.group_id == GROUP)

    def committed() -> dict[int, int]:
        rows = fetch(client, 9, GROUP, {"orders": [0, 1, 2]})
        return {partition: row[0] for (_, partition), row in rows.items()}

    def described() -> object:
        request = messages.ConsumerGroupDescribeRequest(group_ids=[GROUP])
        (group,) = client.ask("ConsumerGroupDescribe", 1, request).groups
        return group.error_code, group.group_state, sorted(m.member_type for m in group.members)

    def partitions(assignment: bytes) -> int:
        rows = read_assignment(assignment).assigned_partitions
        return sum(len(row.partitions) for row in rows)

    old = join(client, GROUP)
    everything = write_assignment([("orders", item) for item in range(3)], b"\0\0")
    tell("sync", sync(client, GROUP, old, {old.member_id: everything}).error_code)
    tell("commit", commit(client, 9, commit_request(GROUP, "orders", {0: 7}, joined=old)))
    tell("beat of a stranger", beat("x", 3).error_code)
    new = first_beat("n")
    tell("take over", new.error_code, new.member_epoch, new.assignment.topic_partitions)
    tell("kind", kinds(), described(), committed())
    tell("old heartbeat", heartbeat(client, GROUP, old))
    tell("old sync", sync(client, GROUP, old, {}).error_code)
    tell("wrong generation", commit(client, 9, commit_request(GROUP, "orders", {0: 1})))
    tell("old commit", commit(client, 9, commit_request(GROUP, "orders", {1: 8}, joined=old)))
    again = join(client, GROUP, member_id=old.member_id)
    tell(
        "old joins",
        *(again.error_code, again.generation_id, again.leader, again.members),
        *(again.protocol_type, again.protocol_name, again.skip_assignment),
    )
    had = sync(client, GROUP, again, {})
    tell("old has", had.error_code, partitions(had.assignment), had.protocol_name)
    given = beat("n", new.member_epoch).assignment.topic_partitions
    tell("new has", sum(len(row.partitions) for row in given), kinds(), described())
    stranger = again
    stranger.member_id = "n"
    tell("classic heartbeat of new", heartbeat(client, GROUP, stranger))
    again.member_id = old.member_id
    other = join_request(GROUP, old.member_id, protocol_type="connect")
    tell("another type", client.ask("JoinGroup", 9, other).error_code)
    describe = messages.DescribeGroupsRequest(groups=[GROUP])
    (group,) = client.ask("DescribeGroups", 6, describe).groups
    tell("classic description", group.error_code, group.group_state, group.error_message)
    tell("leave", beat("n", -1).error_code, kinds(), committed())
    tell("late beat", (late := beat("n", 2)).error_code, late.error_message)
    tell("old heartbeat after", heartbeat(client, GROUP, again))
    last = join(client, GROUP, member_id=old.member_id)
    tell("leads", last.error_code, last.leader == old.member_id, last.generation_id, committed())
    return told


def test_a_migration_is_answered_as_by_kafka(ours: RawClient, theirs: RawClient) -> None:
    expected = story(theirs)
    assert story(ours) == expected
