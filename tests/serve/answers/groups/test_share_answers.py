"""ShareGroupHeartbeat, ShareGroupDescribe and a share group's offsets over sockets (KIP-932)."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from cluster.clusters import ROOT, a_grant, admin
from patience import eventually
from serve.answers.groups.group_client import (
    at_coordinator,
    commit,
    commit_request,
    fetch,
    join_request,
    make_topic,
)
from serve.answers.groups.test_consumers import first_beat
from serve.data.batches import batch, produce
from serve.groups.shares import acquired, beat, share_acknowledge, share_fetch
from serve.plain_requests import ask
from serve.raw_client import RawClient
from serve.served import ServedCluster, client_of, cluster_of, served

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.values import topic_id_bytes
from kgitops.serve.server import KafkaServer
from kgitops.wire.messages import Message

EARLIEST = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}


@pytest.fixture
def one() -> Iterator[tuple[ServedCluster, RawClient, bytes]]:
    """A broker with the topic ``orders`` and three records in its first partition."""
    with served(brokers=1) as cluster, cluster.client() as client:
        topic_id = make_topic(client, "orders", 2)
        resource = {"resource_type": 32, "resource_name": "g", "configs": EARLIEST}
        ask(client, "IncrementalAlterConfigs", 1, resources=resource)
        now_ms = int(time.time() * 1000)
        assert produce(client, batch(b"a", b"b", b"c", first_ms=now_ms)).error_code == 0
        yield cluster, client, topic_id


def described(client: RawClient, group: str = "g") -> Message:
    """The description of a group."""
    answer = ask(
        client, "ShareGroupDescribe", 1, group_ids=[group], include_authorized_operations=True
    )
    return answer.groups[0]


def offsets(
    client: RawClient, topics: object = None, version: int = 1
) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Start offset, lag and error code by topic and partition."""
    answer = ask(
        client,
        "DescribeShareGroupOffsets",
        version,
        groups={"group_id": "g", "topics": topics},
    )
    (group,) = answer.groups
    assert group.error_code == 0
    return {
        (topic.topic_name, row.partition_index): (row.start_offset, row.lag, row.error_code)
        for topic in group.topics
        for row in topic.partitions
    }


def test_a_member_of_a_share_group(server: KafkaServer, client: RawClient) -> None:
    """It joins, is described and listed, holds its group, and leaves."""
    topic_id = make_topic(client, "orders")
    with ExitStack() as stack:
        (member,) = at_coordinator(stack, server, client, "g", 1)
        answer = beat(member)
        assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", 2)
        assert answer.heartbeat_interval_ms == 5000
        (row,) = answer.assignment.topic_partitions
        assert (row.topic_id, row.partitions) == (topic_id, [0, 1, 2])
        assert beat(member, epoch=2).assignment is None
        assert beat(member, epoch=2, subscribed_topic_names=["orders"]).assignment is not None
        beat(member, "b", rack_id="r")
        answer = beat(member, epoch=2)
        assert (answer.member_epoch, answer.assignment is None) == (3, False)
        found = described(member)
        assert (found.error_code, found.group_state, found.assignor_name) == (0, "Stable", "simple")
        assert (found.group_epoch, found.assignment_epoch) == (3, 3)
        assert found.authorized_operations > 0
        first, second = found.members
        assert (first.member_id, first.member_epoch, first.client_id) == ("a", 3, "c0")
        assert (second.rack_id, second.subscribed_topic_names) == ("r", ["orders"])
        assert second.assignment.topic_partitions[0].topic_name == "orders"
        (listed,) = ask(member, "ListGroups", 5, types_filter=["Share"]).groups
        assert (listed.group_id, listed.group_type, listed.protocol_type) == ("g", "share", "share")
        assert listed.group_state == "Stable"
        assert ask(member, "ListGroups", 5, types_filter=["consumer"]).groups == []
        assert ask(member, "DeleteGroups", 2, groups_names=["g"]).results[0].error_code == 68
        assert beat(member, "a", -1).member_epoch == -1
        assert beat(member, "b", -1).error_code == 0
        assert described(member).group_state == "Empty"
        assert ask(member, "DeleteGroups", 2, groups_names=["g"]).results[0].error_code == 0
        gone = beat(member, epoch=1)
        assert (gone.error_code, gone.error_message) == (69, "Share group g not found.")
        missing = described(member)
        assert (missing.error_code, missing.error_message) == (69, "Group g not found.")
        other = next(
            item for item in server.endpoints if item.port != member.socket.getpeername()[1]
        )
        elsewhere = RawClient(other)
        stack.callback(elsewhere.close)
        assert beat(elsewhere).error_code == ErrorCode.NOT_COORDINATOR
        assert described(elsewhere).error_code == ErrorCode.NOT_COORDINATOR


def test_share_groups_are_of_no_other_type(one: tuple[ServedCluster, RawClient, bytes]) -> None:
    """Neither consumers nor offsets have a place in one, even if it is empty."""
    _, client, _ = one
    beat(client)
    beat(client, "a", -1)
    assert client.ask("JoinGroup", 9, join_request("g")).error_code == 23
    answer = first_beat(client, "c")
    assert (answer.error_code, answer.error_message) == (69, "Group g is not a consumer group.")
    assert commit(client, 9, commit_request("g", "orders", {0: 1})) == {0: 69}
    assert fetch(client, 9, "g", {"orders": [0]}) == {("orders", 0): (-1, -1, "", 0)}
    row = {"name": "orders", "partitions": {"partition_index": 0}}
    assert ask(client, "OffsetDelete", 0, group_id="g", topics=row).error_code == 69
    classic = ask(client, "DescribeGroups", 6, groups=["g"]).groups[0]
    assert (classic.error_code, classic.error_message) == (69, "Group g is not a classic group.")
    consumer = ask(client, "ConsumerGroupDescribe", 1, group_ids=["g"]).groups[0]
    assert consumer.error_code == 69


@pytest.mark.parametrize("kind", ["classic", "consumer", "offsets"])
def test_other_groups_are_no_share_groups(
    one: tuple[ServedCluster, RawClient, bytes], kind: str
) -> None:
    """Nobody joins them with ShareGroupHeartbeat."""
    _, client, _ = one
    if kind == "classic":
        client.ask("JoinGroup", 9, join_request("g"))
    elif kind == "consumer":
        assert first_beat(client, "c").error_code == 0
    else:
        assert commit(client, 9, commit_request("g", "orders", {0: 1})) == {0: 0}
    assert beat(client).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described(client).error_message in {
        "Group g is not a share group.",
        "Group g not found.",
    }


def test_offsets_of_a_group(one: tuple[ServedCluster, RawClient, bytes]) -> None:
    """The start and the lag move with what is acknowledged."""
    _, client, topic_id = one
    assert offsets(client) == {}
    beat(client)
    assert offsets(client) == {("orders", 0): (-1, -1, 0), ("orders", 1): (-1, -1, 0)}
    assert acquired(share_fetch(client, topic_id)) == [(0, 2, 1)]
    assert offsets(client)["orders", 0] == (0, 3, 0)
    share_acknowledge(client, topic_id, 1, {0: [(0, 0, [1]), (2, 2, [1])]})
    asked = [
        {"topic_name": "orders", "partitions": [0, 7]},
        {"topic_name": "absent", "partitions": [0]},
    ]
    assert offsets(client, asked) == {
        ("orders", 0): (1, 1, 0),
        ("orders", 7): (-1, -1, 0),
        ("absent", 0): (-1, -1, 0),
    }
    assert offsets(client, asked[0], version=0)["orders", 0] == (1, -1, 0)


def test_partitions_take_turns(one: tuple[ServedCluster, RawClient, bytes]) -> None:
    """One with many records does not keep a member from the others."""
    _, client, topic_id = one
    now_ms = int(time.time() * 1000)
    assert produce(client, batch(b"d", first_ms=now_ms), partition=1).error_code == 0
    beat(client)
    how = {"max_records": 1, "share_acquire_mode": 1}
    first = share_fetch(client, topic_id, acks={0: [], 1: []}, **how)
    second = share_fetch(client, topic_id, 1, **how)
    read = [
        row.partition_index
        for answer in (first, second)
        for row in answer.responses[0].partitions
        if row.acquired_records
    ]
    assert sorted(read) == [0, 1]


def alter(client: RawClient, start: int, **topic: object) -> Message:
    """Move the start offset of partition 0."""
    row = {"partition_index": 0, "start_offset": start}
    topics = {"topic_name": "orders", "partitions": [row, {**row, "partition_index": 9}], **topic}
    return ask(client, "AlterShareGroupOffsets", 0, group_id="g", topics=topics)


def test_altered_and_deleted_offsets(one: tuple[ServedCluster, RawClient, bytes]) -> None:
    """Only of a group without members; one that is not there is made."""
    _, client, topic_id = one
    answer = alter(client, 2)
    assert [row.error_code for row in answer.responses[0].partitions] == [0, 3]
    assert answer.responses[0].topic_id == topic_id
    assert described(client).group_state == "Empty"
    assert offsets(client) == {("orders", 0): (2, 1, 0)}
    beat(client)
    assert alter(client, 0).error_code == ErrorCode.NON_EMPTY_GROUP
    assert acquired(share_fetch(client, topic_id)) == [(2, 2, 1)]
    names = [{"topic_name": "orders"}, {"topic_name": "absent"}]

    def delete(group: str = "g") -> Message:
        return ask(client, "DeleteShareGroupOffsets", 0, group_id=group, topics=names)

    assert delete().error_code == ErrorCode.NON_EMPTY_GROUP
    beat(client, "a", -1)
    assert [row.error_code for row in delete().responses] == [0, 3]
    assert offsets(client) == {}
    assert delete("absent").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    beat(client)
    assert acquired(share_fetch(client, topic_id)) == [(0, 2, 1)]


def test_a_group_outlives_a_restart_without_its_state(tmp_path) -> None:
    """It is stored as others are, and becomes a share group again when a member joins."""
    store = tmp_path / "store.db"
    cluster = cluster_of(store, brokers=1)
    with client_of(cluster) as client:
        make_topic(client, "orders")
        assert beat(client).error_code == 0
    with client_of(cluster_of(store, brokers=1)) as client:
        (listed,) = ask(client, "ListGroups", 5).groups
        assert (listed.group_id, listed.group_type) == ("g", "classic")
        assert beat(client, epoch=1).error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert beat(client).error_code == 0
        assert described(client).group_state == "Stable"


def test_a_member_that_is_silent_is_removed() -> None:
    """When its session ends (``share.session.timeout.ms``)."""
    configs = {"group.share.session.timeout.ms": "100", "group.share.heartbeat.interval.ms": "40"}
    with client_of(brokers=1, static_configs=configs) as client:
        make_topic(client, "orders")
        assert beat(client).heartbeat_interval_ms == 40
        eventually(lambda: not described(client).members, what="the end of the session")
        assert described(client).group_state == "Empty"
        assert beat(client, epoch=1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.fixture
def guarded() -> Iterator[tuple[EmbeddedCluster, RawClient, bytes]]:
    """A cluster in which ACLs count, and a client without any."""
    cluster = cluster_of(brokers=1, rights=())
    topic = NewTopic(name="orders", num_partitions=1, replication_factor=1)
    result = admin(cluster, ROOT).create_topics([topic])["orders"]
    with client_of(cluster) as client:
        yield cluster, client, topic_id_bytes(result.topic_id)


def test_share_groups_take_rights(guarded: tuple[EmbeddedCluster, RawClient, bytes]) -> None:
    """READ on the group and DESCRIBE on topics to join, READ on topics for records."""
    cluster, client, topic_id = guarded

    def grant(operation: Operation, kind: ResourceType, name: str) -> None:
        binding = a_grant(operation, kind, name, "User:ANONYMOUS")
        assert admin(cluster, ROOT).create_acls([binding])[0].ok

    no_group = ErrorCode.GROUP_AUTHORIZATION_FAILED
    no_topic = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    acks = {0: [(0, 0, [1])]}
    assert beat(client).error_code == no_group
    assert share_fetch(client, topic_id).error_code == no_group
    assert share_acknowledge(client, topic_id, 1, acks).error_code == no_group
    assert described(client).error_code == no_group
    grant(Operation.READ, ResourceType.GROUP, "g")
    assert beat(client).error_code == no_topic
    assert alter(client, 0).responses[0].partitions[0].error_code == no_topic
    grant(Operation.DESCRIBE, ResourceType.TOPIC, "orders")
    assert beat(client).error_code == 0
    (row,) = share_fetch(client, topic_id).responses[0].partitions
    assert row.error_code == no_topic
    answer = share_acknowledge(client, topic_id, 1, acks)
    assert answer.responses[0].partitions[0].error_code == no_topic
    grant(Operation.READ, ResourceType.TOPIC, "orders")
    (row,) = share_fetch(client, topic_id).responses[0].partitions
    assert row.error_code == 0
    beat(client, "a", -1)
    answer = ask(client, "DeleteShareGroupOffsets", 0, group_id="g", topics=[])
    assert answer.error_code == no_group


def test_a_description_hides_no_part_of_a_group(
    guarded: tuple[EmbeddedCluster, RawClient, bytes],
) -> None:
    """Who may not see one of its topics sees nothing of it, and no offset of the topic."""
    cluster, client, _ = guarded
    for operation, kind, name in (
        (Operation.READ, ResourceType.GROUP, "g"),
        (Operation.DESCRIBE, ResourceType.TOPIC, "orders"),
    ):
        binding = a_grant(operation, kind, name, "User:ANONYMOUS")
        assert admin(cluster, ROOT).create_acls([binding])[0].ok
    beat(client)
    assert described(client).error_code == 0
    assert offsets(client) == {("orders", 0): (-1, -1, 0)}
    admin(cluster, ROOT).delete_acls([AclFilter(resource_name="orders")])
    found = described(client)
    assert (found.error_code, found.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])
    assert offsets(client) == {}
    asked = {"topic_name": "orders", "partitions": [0]}
    assert offsets(client, asked)["orders", 0] == (-1, -1, 29)
