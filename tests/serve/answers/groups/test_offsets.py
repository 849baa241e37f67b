"""Committed offsets over sockets, with metadata, leader epochs and times."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from serve.answers.groups.group_client import (
    at_coordinator,
    commit,
    commit_request,
    fetch,
    fetch_request,
    join,
    make_topic,
    sync,
)
from serve.raw_client import RawClient, raw_client
from serve.served import served

from kgitops.cluster.embedded.store.image_json import image_from_text, image_to_json
from kgitops.cluster.embedded.store.store import dump_json
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages


@pytest.fixture
def there(server: KafkaServer, client: RawClient):
    """A connection to the coordinator of ``g``; there is a topic ``orders``."""
    make_topic(client, "orders")
    with ExitStack() as stack:
        yield at_coordinator(stack, server, client, "g", 1)[0]


@pytest.mark.parametrize("version", range(2, 10))
def test_committing_in_every_version(there: RawClient, version: int) -> None:
    """What is not known in a version is left out."""
    request = commit_request("g", "orders", {0: 5, 9: 1}, metadata="note", leader_epoch=3)
    assert commit(there, version, request) == {0: 0, 9: 3}
    epoch = 3 if version >= 6 else -1
    assert fetch(there, 9, "g", {"orders": [0, 1]}) == {
        ("orders", 0): (5, epoch, "note", 0),
        ("orders", 1): (-1, -1, "", 0),
    }


@pytest.mark.parametrize("version", range(1, 10))
def test_fetching_in_every_version(there: RawClient, version: int) -> None:
    """Named partitions, and from version 2 on all of the group."""
    commit(there, 9, commit_request("g", "orders", {0: 5}, metadata="note", leader_epoch=3))
    found = ("orders", 0), (5, 3 if version >= 5 else -1, "note", 0)
    assert fetch(there, version, "g", {"orders": [0]}) == dict([found])
    assert fetch(there, version, "g", {"gone": [0]}) == {("gone", 0): (-1, -1, "", 0)}
    if version >= 2:
        assert fetch(there, version, "g", None) == dict([found])


def test_by_topic_ids(there: RawClient, client: RawClient) -> None:
    """Version 10 of both; an unknown id is one partition's error."""
    topic_id, unknown = make_topic(client, "second"), bytes(15) + b"x"
    request = commit_request("g", "", {0: 7}, topic_id=topic_id)
    request.topics += commit_request("g", "", {0: 7}, topic_id=unknown).topics
    answer = there.ask("OffsetCommit", 10, request)
    assert [(row.topic_id, row.partitions[0].error_code) for row in answer.topics] == [
        (topic_id, 0),
        (unknown, 100),
    ]
    fetching = messages.OffsetFetchRequest
    rows = [
        fetching.OffsetFetchRequestTopics(topic_id=item, partition_indexes=[0])
        for item in (topic_id, unknown)
    ]
    for topics, expected in (
        (rows, [(topic_id, 7, 0), (unknown, -1, 100)]),
        (None, [(topic_id, 7, 0)]),
    ):
        group = fetching.OffsetFetchRequestGroup(group_id="g", topics=topics)
        found = there.ask("OffsetFetch", 10, fetching(groups=[group])).groups[0]
        assert [
            (row.topic_id, row.partitions[0].committed_offset, row.partitions[0].error_code)
            for row in found.topics
        ] == expected


def test_commits_of_members(there: RawClient) -> None:
    """A member of this generation may, once it has its assignment; others may not."""
    joined = join(there, "g")
    request = commit_request("g", "orders", {0: 1, 9: 1}, joined=joined)
    assert commit(there, 9, request) == {0: 27, 9: 3}
    sync(there, "g", joined, {})
    assert commit(there, 9, request) == {0: 0, 9: 3}
    assert commit(there, 9, commit_request("g", "orders", {0: 2})) == {0: 25}
    joined.generation_id = 0
    request = commit_request("g", "orders", {0: 2}, joined=joined)
    assert commit(there, 9, request) == {0: 22}
    assert fetch(there, 9, "g", {"orders": [0]})["orders", 0][0] == 1


def test_metadata_that_is_too_long(there: RawClient) -> None:
    """``offset.metadata.max.bytes``."""
    assert commit(there, 9, commit_request("g", "orders", {0: 1}, metadata="x" * 4097)) == {0: 12}
    assert commit(there, 9, commit_request("g", "orders", {0: 1}, metadata="x" * 4096)) == {0: 0}


def test_offsets_are_deleted(there: RawClient) -> None:
    """Of a group without members, or of topics that its members do not read."""
    request = messages.OffsetDeleteRequest
    topic = request.OffsetDeleteRequestTopic(
        name="orders",
        partitions=[request.OffsetDeleteRequestPartition(partition_index=i) for i in (0, 1)],
    )
    asked = request(group_id="g", topics=[topic])
    assert there.ask("OffsetDelete", 0, asked).error_code == 69
    commit(there, 9, commit_request("g", "orders", {0: 5, 2: 6}, metadata="note"))
    joined = join(there, "g")
    answer = there.ask("OffsetDelete", 0, asked)
    assert [row.error_code for row in answer.topics[0].partitions] == [86, 86]
    leaving = messages.LeaveGroupRequest(group_id="g", member_id=joined.member_id)
    assert there.ask("LeaveGroup", 0, leaving).error_code == 0
    answer = there.ask("OffsetDelete", 0, asked)
    assert [row.error_code for row in answer.topics[0].partitions] == [0, 0]
    assert fetch(there, 9, "g", None) == {("orders", 2): (6, -1, "note", 0)}


def test_members_that_do_not_tell_what_they_read(there: RawClient) -> None:
    """No offset of theirs can be deleted."""
    commit(there, 9, commit_request("g", "orders", {0: 5}))
    join(there, "g", protocol_type="connect")
    request = messages.OffsetDeleteRequest
    topic = request.OffsetDeleteRequestTopic(
        name="orders", partitions=[request.OffsetDeleteRequestPartition(partition_index=0)]
    )
    answer = there.ask("OffsetDelete", 0, request(group_id="g", topics=[topic]))
    assert answer.error_code == 68


def test_offsets_outlive_the_server(tmp_path: Path) -> None:
    """Also their metadata, leader epoch and time; a snapshot of the image has them too."""
    path = tmp_path / "store.db"
    for round_ in range(2):
        with served(store=path, brokers=1) as cluster, cluster.client() as client:
            if round_ == 0:
                make_topic(client, "orders")
                made = commit_request("g", "orders", {0: 5}, metadata="é", leader_epoch=2)
                assert commit(client, 9, made) == {0: 0}
            assert fetch(client, 9, "g", None) == {("orders", 0): (5, 2, "é", 0)}
            image = cluster.embedded.controller.image()
            assert image.groups.groups["g"].details["orders", 0].timestamp_ms > 0
            assert image_from_text(dump_json(image_to_json(image))).groups == image.groups


def test_groups_whose_offsets_can_not_be_seen(server: KafkaServer, there: RawClient) -> None:
    """The error is the group's, or in version 1 each partition's."""
    wrong = next(item for item in server.endpoints if item.port != there.socket.getpeername()[1])
    with raw_client(wrong) as other:
        for version in range(1, 10):
            request = fetch_request(version, "g", {"orders": [0]})
            answer = other.ask("OffsetFetch", version, request)
            if version >= 8:
                answer = answer.groups[0]
            found = answer.topics[0].partitions[0] if version == 1 else answer
            assert found.error_code == 16
