"""ConsumerGroupHeartbeat and ConsumerGroupDescribe over sockets (KIP-848)."""

from contextlib import ExitStack

from serve.answers.groups.group_client import (
    at_coordinator,
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
from serve.served import cluster_of

from kgitops.serve.background import serving
from kgitops.serve.groups.embedded_protocol import read_assignment, write_assignment
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages
from kgitops.wire.messages import Message


def beat(client: RawClient, member_id: str, epoch: int, **more: object) -> Message:
    """Send a heartbeat."""
    request = messages.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=epoch, **more
    )
    return client.ask("ConsumerGroupHeartbeat", 0, request)


def first_beat(client: RawClient, member_id: str = "", **more: object) -> Message:
    """Join."""
    told = {"rebalance_timeout_ms": 9000, "subscribed_topic_names": ["orders"]}
    return beat(client, member_id, 0, **{**told, "topic_partitions": [], **more})


def test_a_member_of_a_consumer_group(server: KafkaServer, client: RawClient) -> None:
    """It joins, commits, is described, holds its group, and leaves."""
    topic_id = make_topic(client, "orders")
    with ExitStack() as stack:
        (member,) = at_coordinator(stack, server, client, "g", 1)
        joined = first_beat(member)
        assert (joined.error_code, joined.member_epoch, joined.heartbeat_interval_ms) == (
            0,
            1,
            5000,
        )
        assert [(row.topic_id, row.partitions) for row in joined.assignment.topic_partitions] == [
            (topic_id, [0, 1, 2])
        ]
        id_ = joined.member_id
        assert beat(member, id_, 1).assignment is None
        asked = commit_request("g", "orders", {0: 5})
        asked.member_id, asked.generation_id_or_member_epoch = id_, 1
        assert commit(member, 9, asked) == {0: 0}
        asked.generation_id_or_member_epoch = 0
        assert commit(member, 9, asked) == {0: 113}
        assert commit(member, 9, commit_request("g", "orders", {0: 6})) == {0: 25}
        request = messages.ConsumerGroupDescribeRequest(group_ids=["g"])
        found = member.ask("ConsumerGroupDescribe", 1, request).groups[0]
        assert (found.error_code, found.group_state, found.assignor_name) == (
            0,
            "Stable",
            "uniform",
        )
        (row,) = found.members
        assert (row.member_id, row.member_epoch, row.subscribed_topic_names) == (id_, 1, ["orders"])
        assert row.assignment.topic_partitions[0].topic_name == "orders"
        assert row.target_assignment == row.assignment
        listed = member.ask("ListGroups", 5).groups[0]
        assert (listed.group_state, listed.group_type) == ("Stable", "consumer")
        classic = messages.DescribeGroupsRequest(groups=["g"])
        assert member.ask("DescribeGroups", 6, classic).groups[0].error_code == 69
        assert member.ask("JoinGroup", 9, join_request("g")).error_code == 79
        delete = messages.DeleteGroupsRequest(groups_names=["g"])
        assert member.ask("DeleteGroups", 2, delete).results[0].error_code == 68
        assert beat(member, id_, -1).member_epoch == -1
        assert member.ask("DeleteGroups", 2, delete).results[0].error_code == 0
        assert beat(member, id_, 1).error_code == 69


def test_refused_heartbeats(server: KafkaServer, client: RawClient) -> None:
    """With Kafka's messages."""
    with ExitStack() as stack:
        (member,) = at_coordinator(stack, server, client, "g", 1)
        answer = first_beat(member, server_assignor="x")
        assert (answer.error_code, answer.error_message) == (
            112,
            "ServerAssignor x is not supported. Supported assignors: uniform, range.",
        )
        assert beat(member, "a", 1).error_code == 69
        joined = first_beat(member, "a")
        assert joined.assignment.topic_partitions == []
        assert beat(member, "a", 7).error_code == 110
        assert beat(member, "b", 1).error_code == 25
        make_topic(client, "orders.eu")
        for pattern, code in (("(", 128), ("orders[.].*", 0)):
            request = messages.ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id="c",
                rebalance_timeout_ms=1,
                topic_partitions=[],
                subscribed_topic_regex=pattern,
            )
            answer = member.ask("ConsumerGroupHeartbeat", 1, request)
            assert answer.error_code == code
        assert answer.assignment.topic_partitions[0].partitions == [0, 1, 2]
        other = next(
            item for item in server.endpoints if item.port != member.socket.getpeername()[1]
        )
        elsewhere = RawClient(other)
        stack.callback(elsewhere.close)
        assert first_beat(elsewhere).error_code == 16


def listed_type(member: RawClient) -> tuple[str, str]:
    """The state and the type of the group."""
    (group,) = member.ask("ListGroups", 5).groups
    return group.group_state, group.group_type


def committed(member: RawClient) -> dict[int, int]:
    """The group's offsets in the first partitions of ``orders``."""
    rows = fetch(member, 9, "g", {"orders": [0, 1]})
    return {partition: row[0] for (_, partition), row in rows.items()}


def partitions_of(assignment: bytes) -> list[int]:
    """The partitions that a classic member is assigned."""
    rows = read_assignment(assignment).assigned_partitions
    return [item for row in rows for item in row.partitions]


def test_a_group_is_taken_over_and_given_back(server: KafkaServer, client: RawClient) -> None:
    """With its members and its committed offsets, in both directions."""
    topic_id = make_topic(client, "orders")
    with ExitStack() as stack:
        old, new = at_coordinator(stack, server, client, "g", 2)
        joined = join(old, "g")
        everything = write_assignment([("orders", item) for item in range(3)], b"\0\0")
        sync(old, "g", joined, {joined.member_id: everything})
        mine = commit_request("g", "orders", {0: 7}, joined=joined)
        assert commit(old, 9, mine) == {0: 0}
        first = first_beat(new, "n")
        assert (first.error_code, first.assignment.topic_partitions) == (0, [])
        assert listed_type(new) == ("Reconciling", "consumer")
        assert heartbeat(old, "g", joined) == 27
        assert commit(old, 9, commit_request("g", "orders", {1: 8}, joined=joined)) == {1: 0}
        again = join(old, "g", member_id=joined.member_id)
        assert (again.leader, again.members) == ("", [])
        had = sync(old, "g", again, {})
        assert (had.error_code, len(partitions_of(had.assignment))) == (0, 2)
        assert commit(old, 9, mine) == {0: 22}
        (given,) = beat(new, "n", first.member_epoch).assignment.topic_partitions
        assert (given.topic_id, len(given.partitions)) == (topic_id, 1)
        request = messages.ConsumerGroupDescribeRequest(group_ids=["g"])
        (found,) = new.ask("ConsumerGroupDescribe", 1, request).groups
        types = {row.member_id: row.member_type for row in found.members}
        assert (found.group_state, types) == ("Stable", {joined.member_id: 0, "n": 1})
        assert committed(new) == {0: 7, 1: 8}
        assert beat(new, "n", -1).error_code == 0
        assert listed_type(old) == ("PreparingRebalance", "classic")
        assert heartbeat(old, "g", again) == 27
        assert beat(new, "n", 2).error_message == "Group g is not a consumer group."
        last = join(old, "g", member_id=joined.member_id)
        assert last.leader == joined.member_id
        assert committed(new) == {0: 7, 1: 8}


def test_the_migration_policy_is_a_config() -> None:
    """Without upgrades the newcomer is refused, and the classic member notices nothing."""
    cluster = cluster_of(static_configs={"group.consumer.migration.policy": "Downgrade"})
    with ExitStack() as stack:
        stack.callback(cluster.close)
        server = stack.enter_context(serving(cluster))
        client = stack.enter_context(raw_client(server.endpoints[0]))
        make_topic(client, "orders")
        old, new = at_coordinator(stack, server, client, "g", 2)
        joined = join(old, "g")
        sync(old, "g", joined, {joined.member_id: b""})
        answer = first_beat(new, "n")
        assert (answer.error_code, answer.error_message) == (
            69,
            "Cannot upgrade classic group g to consumer group because online upgrade is disabled.",
        )
        assert heartbeat(old, "g", joined) == 0
        assert listed_type(old) == ("Stable", "classic")
