"""DescribeTopicPartitions, reassignments, elections and log directories as clients see them."""

from collections.abc import Sequence

import pytest
from cluster.clusters import BOTH, ROOT, a_new_topic, admin, topic_grant
from serve.plain_requests import Fields, ask
from serve.raw_client import RawClient
from serve.served import client_of, cluster_of
from serve.topic_requests import codes, create, metadata, new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message

ME = "User:ANONYMOUS"


def page(
    client: RawClient,
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
) -> Message:
    """Send DescribeTopicPartitions."""
    return ask(
        client,
        "DescribeTopicPartitions",
        0,
        topics=[{"name": name} for name in names],
        response_partition_limit=limit,
        cursor=cursor and {"topic_name": cursor[0], "partition_index": cursor[1]},
    )


def shown(answer: Message) -> list[tuple[str, list[int]]]:
    """The partitions of each topic on a page."""
    return [(row.name, [part.partition_index for part in row.partitions]) for row in answer.topics]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_pages_of_partitions(limit: int) -> None:
    """Page after page has every partition once, and none has more than was asked for."""
    with client_of() as client:
        create(client, new_topic("a", 3), new_topic("b", 1), new_topic("c", 4))
        found: list[tuple[str, int]] = []
        cursor = None
        while True:
            answer = page(client, limit=limit, cursor=cursor)
            rows = [(name, part) for name, parts in shown(answer) for part in parts]
            assert 0 < len(rows) <= limit
            found += rows
            if answer.next_cursor is None:
                break
            cursor = answer.next_cursor.topic_name, answer.next_cursor.partition_index
        assert found == [
            *(("a", part) for part in range(3)),
            ("b", 0),
            *(("c", part) for part in range(4)),
        ]


def test_a_page_of_named_topics() -> None:
    """As of Kafka: sorted, errors take no room, and what follows a full page is pointed at."""
    with client_of(compat=Compat.KRAFT) as client:
        (created, *_) = create(client, "a", "c")
        answer = page(client, "c", "b", "a", "not a name", "a")
        assert codes(answer.topics) == {"a": 0, "b": 3, "c": 0, "not a name": 17}
        assert [row.name for row in answer.topics] == ["a", "b", "c", "not a name"]
        assert answer.topics[0].topic_id == created.topic_id
        row = answer.topics[0].partitions[0]
        assert (row.leader_epoch, row.eligible_leader_replicas, row.last_known_elr) == (0, [], [])
        full = page(client, "a", "b", limit=2)
        assert shown(full) == [("a", [0, 1])]
        assert (full.next_cursor.topic_name, full.next_cursor.partition_index) == ("b", 0)
        assert shown(page(client, "a", "c", cursor=("a", 9))) == [("a", []), ("c", [0, 1])]
        assert shown(page(client, "a", limit=0)) == [("a", [0])]


@pytest.mark.parametrize("cursor", [("b", 0), ("a", -1)])
def test_a_cursor_that_means_nothing(cursor: tuple[str, int]) -> None:
    """It is to be one of the topics that are asked for, and a partition."""
    with client_of() as client:
        create(client, "a")
        assert codes(page(client, "a", cursor=cursor).topics) == {"a": 42}


def test_topics_that_a_client_may_not_describe() -> None:
    """Named ones are last, without an id; of all topics they are left out."""
    cluster = cluster_of(rights=[topic_grant(Operation.READ, "b", ME)])
    admin(cluster, ROOT).create_topics([a_new_topic("a"), a_new_topic("b")])
    with client_of(cluster) as client:
        rows = page(client, "a", "b").topics
        assert [(row.name, row.error_code) for row in rows] == [("b", 0), ("a", 29)]
        assert rows[0].topic_authorized_operations == 1 << 3 | 1 << 8
        assert rows[1].topic_id == NIL_UUID
        assert [row.name for row in page(client).topics] == ["b"]


def move(
    client: RawClient, *moves: tuple[str, int, Sequence[int] | None], version: int = 1, **how: bool
) -> Message:
    """Send AlterPartitionReassignments, each move as a topic of its own."""
    topics = [
        {"name": name, "partitions": {"partition_index": partition, "replicas": replicas}}
        for name, partition, replicas in moves
    ]
    return ask(client, "AlterPartitionReassignments", version, topics=topics, **how)


def moving(client: RawClient, topics: Fields | None = None) -> dict[str, Message]:
    """The partitions that are moving, the first of each topic."""
    answer = ask(client, "ListPartitionReassignments", 0, topics=topics)
    assert (answer.error_code, answer.error_message) == (0, None)
    return {topic.name: topic.partitions[0] for topic in answer.topics}


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize("version", [0, 1])
def test_partitions_are_moved(compat: Compat, version: int) -> None:
    """A4-80: errors are by partition, and null cancels."""
    cluster = cluster_of(compat=compat)
    with client_of(cluster, broker=1) as client:
        create(client, new_topic("a", assignments=[(0, [1]), (1, [1])]))
        cluster.faults.hold_reassignments = True
        answer = move(
            client,
            ("a", 0, [2, 3]),
            ("a", 1, None),
            ("a", 7, [1]),
            ("b", 0, [1]),
            ("a", 1, []),
            version=version,
        )
        assert (answer.error_code, answer.error_message) == (0, None)
        rows = [(row.name, part.error_code) for row in answer.responses for part in row.partitions]
        assert rows == [("a", 0), ("a", 39), ("a", 3), ("b", 3), ("a", 39)]
        ongoing = moving(client)["a"]
        assert (ongoing.partition_index, ongoing.replicas) == (0, [1, 2, 3])
        assert (ongoing.adding_replicas, ongoing.removing_replicas) == ([2, 3], [1])
        assert moving(client, {"name": "a", "partition_indexes": [1]}) == {}
        assert list(moving(client, {"name": "a", "partition_indexes": [0, 1]})) == ["a"]
        row = metadata(client, "a").topics[0].partitions[0]
        assert (row.replica_nodes, row.isr_nodes, row.offline_replicas) == ([1, 2, 3], [1], [])
        move(client, ("a", 0, None), version=version)
        assert moving(client) == {}
        (cancelled,) = move(client, ("a", 0, None), version=version).responses
        assert cancelled.partitions[0].error_code == 85


def test_a_move_may_have_to_keep_the_replication_factor() -> None:
    """A4-80: version 1 can ask for that, and repeats it in the answer (KIP-860)."""
    with client_of() as client:
        create(client, new_topic("a", 1, 1))
        answer = move(client, ("a", 0, [1, 2]), allow_replication_factor_change=False)
        assert answer.allow_replication_factor_change is False
        assert answer.responses[0].partitions[0].error_code == 38
        assert move(client, ("a", 0, [1, 2])).responses[0].partitions[0].error_code == 0


def test_who_may_move() -> None:
    """A4-80: Alter on the cluster, and Describe to see moves; the error is the whole answer's."""
    with client_of(rights=[]) as client:
        answer = move(client, ("a", 0, [1]))
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (31, 31)
        request = messages.ListPartitionReassignmentsRequest()
        assert client.ask("ListPartitionReassignments", 0, request).error_code == 31
        assert elect(client, 0, {"a": [0]}).error_code == 31


def elect(
    client: RawClient, kind: int, partitions: dict[str, list[int]] | None, version: int = 2
) -> Message:
    """Send ElectLeaders."""
    rows = partitions and [
        {"topic": name, "partitions": numbers} for name, numbers in partitions.items()
    ]
    return ask(client, "ElectLeaders", version, election_type=kind, topic_partitions=rows)


def elected(answer: Message) -> dict[str, list[tuple[int, int]]]:
    """The error codes of each topic's partitions."""
    return {
        row.topic: [(part.partition_id, part.error_code) for part in row.partition_result]
        for row in answer.replica_election_results
    }


@pytest.mark.parametrize("version", range(3))
def test_leaders_are_the_preferred_ones_already(version: int) -> None:
    """A4-44: so none is elected; a preferred one that is dead can't be, and says so."""
    cluster = cluster_of(compat=Compat.KRAFT)
    with client_of(cluster) as client:
        create(client, new_topic("a", assignments=[(0, [1, 2]), (1, [3, 1])]))
        create(client, new_topic("b", assignments=[(0, [3])]))
        cluster.fence(3)
        asked = {"a": [0, 1, 9], "b": [0], "none": [0]}
        answer = elect(client, 0, asked, version)
        assert answer.error_code == 0
        assert elected(answer) == {
            "a": [(0, 84), (1, 80), (9, 3)],
            "b": [(0, 80)],
            "none": [(0, 3)],
        }
        assert elected(elect(client, 0, None, version)) == {"a": [(1, 80)], "b": [(0, 80)]}
        if version >= 1:
            unclean = elected(elect(client, 1, {"a": [1], "b": [0]}, version))
            assert unclean == {"a": [(1, 84)], "b": [(0, 83)]}
            unknown = elect(client, 5, {"a": [0]}, version)
            assert (unknown.error_code, elected(unknown)) == (42, {"a": [(0, 42)]})


Moved = tuple[str, int, int]


@pytest.mark.parametrize("version", range(6))
def test_log_directories(version: int) -> None:
    """Each broker has one, with its own replicas; version 0 is of the seed."""
    cluster = cluster_of()
    with client_of(cluster, broker=1) as client:
        create(client, new_topic("a", assignments=[(0, [1, 2]), (1, [3, 1])]))
        create(client, new_topic("b", assignments=[(0, [2])]))
        cluster.produce("b", 0, 3, 100)
        request = messages.DescribeLogDirsRequest
        answer = client.ask("DescribeLogDirs", version, request(topics=None))
        (directory,) = answer.results
        assert (answer.error_code, directory.error_code, directory.total_bytes) == (0, 0, -1)
        assert [
            (topic.name, [(row.partition_index, row.partition_size) for row in topic.partitions])
            for topic in directory.topics
        ] == [("a", [(0, 0)]), ("b", [(0, 300)])]
        some = [request.DescribableLogDirTopic(topic="a", partitions=[0, 1])]
        (directory,) = client.ask("DescribeLogDirs", version, request(topics=some)).results
        assert [topic.name for topic in directory.topics] == ["a"]


def test_who_may_see_log_directories() -> None:
    """Describe on the cluster; before version 3 only nothing is seen."""
    with client_of(rights=[]) as client:
        for version in (1, 3):
            request = messages.DescribeLogDirsRequest(topics=None)
            answer = client.ask("DescribeLogDirs", version, request)
            assert (answer.error_code, answer.results) == (31 if version >= 3 else 0, [])


def moved(client: RawClient, *moves: tuple[str, str, list[int]], version: int = 2) -> set[Moved]:
    """Topic, partition and error code of each replica that is to be in a directory."""
    request = messages.AlterReplicaLogDirsRequest
    directory, topic = request.AlterReplicaLogDir, request.AlterReplicaLogDirTopic
    rows = [
        directory(path=path, topics=[topic(name=name, partitions=partitions)])
        for path, name, partitions in moves
    ]
    answer = client.ask("AlterReplicaLogDirs", version, request(dirs=rows))
    return {
        (topic.topic_name, row.partition_index, row.error_code)
        for topic in answer.results
        for row in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2])
def test_replicas_stay_in_the_only_directory(version: int) -> None:
    """The codes are those of a Kafka 4.3 with one directory."""
    cluster = cluster_of()
    with client_of(cluster, broker=1) as client:
        create(client, new_topic("a", assignments=[(0, [1, 2]), (1, [3, 1])]))
        directory = "/kgitops/broker-2"
        assert moved(
            client, (directory, "a", [0, 1, 7]), (directory, "none", [0]), version=version
        ) == {("a", 0, 0), ("a", 1, 6), ("a", 7, 3), ("none", 0, 3)}
        for elsewhere in ("/nope", "", "relative", directory + "/"):
            assert moved(client, (elsewhere, "a", [0, 9]), (elsewhere, "none", [0])) == {
                ("a", 0, 57),
                ("a", 9, 57),
                ("none", 0, 57),
            }
        assert moved(client, (directory, "t" * 249, [0])) == {("t" * 249, 0, 17)}


def test_who_may_move_replicas() -> None:
    """Alter on the cluster."""
    with client_of(rights=[]) as client:
        assert moved(client, ("/kgitops/broker-1", "a", [0])) == {("a", 0, 31)}
