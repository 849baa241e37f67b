"""ConsumerGroupHeartbeat and ConsumerGroupDescribe over sockets (KIP-848)."""

from contextlib import ExitStack

from serve.answers.groups.group_client import (
    at_coordinator,
    commit,
    commit_request,
    join_request,
    make_topic,
)
from serve.raw_client import RawClient

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
        assert member.ask("JoinGroup", 9, join_request("g")).error_code == 23
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
