"""DeleteTopics and CreatePartitions as clients see them."""

import pytest
from cluster.clusters import BOTH
from serve.served import client_of, cluster_of
from serve.topic_requests import codes, create, delete, metadata, new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message

ME = "User:ANONYMOUS"
STRANGER = bytes(range(16))


@pytest.mark.parametrize("version", range(7))
def test_every_version_deletes(version: int) -> None:
    """A4-60, A4-67: at any broker; versions before 1 are KIP-4's, and have no messages."""
    with client_of(broker=1) as client:
        created = create(client, "a")
        rows = delete(client, "a", "none", version=version)
        assert codes(rows) == {"a": 0, "none": 17}
        assert rows[0].topic_id == (created[0].topic_id if version >= 6 else NIL_UUID)
        assert [topic.name for topic in metadata(client, None).topics] == []


@pytest.mark.parametrize("compat", BOTH)
def test_ids_are_answered_with_names(compat: Compat) -> None:
    """A4-62: an unknown id has a code of its own."""
    with client_of(compat=compat) as client:
        (created,) = create(client, "a")
        rows = delete(client, created.topic_id, STRANGER)
        assert [(row.name, row.topic_id, row.error_code) for row in rows] == [
            ("a", created.topic_id, 0),
            (None, STRANGER, 100),
        ]
        again = delete(client, created.topic_id)
        assert [(row.name, row.error_code) for row in again] == [(None, 100)]


@pytest.mark.parametrize(("compat", "code"), [(Compat.SEED, 0), (Compat.KRAFT, 42)])
@pytest.mark.parametrize("version", [1, 6])
def test_a_name_that_is_there_twice_has_one_row(compat: Compat, code: int, version: int) -> None:
    """A4-61, C-02: to KIP-4 names are a set, and Kafka refuses such names."""
    with client_of(compat=compat) as client:
        create(client, "a")
        rows = delete(client, "a", "a", version=version)
        assert codes(rows) == {"a": code}
        assert len(rows) == 1


def test_names_and_ids_that_do_not_go_together() -> None:
    """As Kafka's controller answers: a topic is deleted only if it is meant once."""
    with client_of(compat=Compat.KRAFT) as client:
        ids = {row.name: row.topic_id for row in create(client, "a", "b", "c", "d")}
        rows = delete(
            client,
            ("a", ids["a"]),
            (None, NIL_UUID),
            ("b", NIL_UUID),
            (None, ids["b"]),
            (None, ids["c"]),
            (None, ids["c"]),
            "d",
        )
        assert {(row.name, row.topic_id): (row.error_code, row.error_message) for row in rows} == {
            ("a", ids["a"]): (42, "You may not specify both topic name and topic id."),
            (None, NIL_UUID): (42, "Neither topic name nor id were specified."),
            ("b", ids["b"]): (
                42,
                "The provided topic name maps to an ID that was already supplied.",
            ),
            (None, ids["c"]): (42, "Duplicate topic id."),
            ("d", ids["d"]): (0, None),
        }
        assert [topic.name for topic in metadata(client, None).topics] == ["a", "b", "c"]


def test_in_the_seed_a_topic_may_be_meant_twice() -> None:
    """A4-61: by its name and by its id."""
    with client_of() as client:
        (created,) = create(client, "a")
        rows = delete(client, "a", created.topic_id)
        assert [(row.name, row.topic_id, row.error_code) for row in rows] == [
            ("a", created.topic_id, 0)
        ]


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73), (6, 73)])
def test_deletion_can_be_turned_off(version: int, code: int) -> None:
    """A4-69: the code is of version 3."""
    with client_of(static_configs={"delete.topic.enable": "false"}) as client:
        create(client, "a")
        assert codes(delete(client, "a", version=version)) == {"a": code}


def test_a_deletion_that_takes_long() -> None:
    """A4-65, A4-66, A4-63: the second client waits too, and the name is taken until the end."""
    cluster = cluster_of()
    with client_of(cluster) as client:
        create(client, "a", "b")
        cluster.faults.hold_deletions = True
        assert codes(delete(client, "a", timeout_ms=20)) == {"a": 7}
        assert codes(delete(client, "b", timeout_ms=0)) == {"b": 7}
        assert codes(create(client, "a")) == {"a": 36}
        cluster.release()
        assert [topic.name for topic in metadata(client, None).topics] == []
        assert codes(create(client, "a")) == {"a": 0}


def grow(name: str, count: int, assignments: list[list[int]] | None = None) -> Message:
    """A row of CreatePartitions."""
    request = messages.CreatePartitionsRequest
    rows = None
    if assignments is not None:
        rows = [request.CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
    return request.CreatePartitionsTopic(name=name, count=count, assignments=rows)


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added(version: int) -> None:
    """A4-71, A4-72, A4-73: a list of no replicas is not the same as none."""
    with client_of(compat=Compat.KRAFT, broker=1) as client:
        create(client, *"abcdef")
        request = messages.CreatePartitionsRequest(
            topics=[
                grow("a", 3),
                grow("b", 3, [[3, 1, 2]]),
                grow("c", 3, []),
                grow("d", 2),
                grow("e", 1),
                grow("f", 3),
                grow("f", 4),
                grow("none", 3),
            ],
            timeout_ms=10_000,
        )
        validated = messages.CreatePartitionsRequest(
            topics=request.topics, timeout_ms=10_000, validate_only=True
        )
        dry = client.ask("CreatePartitions", version, validated).results
        rows = client.ask("CreatePartitions", version, request).results
        assert rows == dry
        assert rows[0].name == "f"
        assert codes(rows) == {"a": 0, "b": 0, "c": 39, "d": 37, "e": 37, "f": 42, "none": 3}
        added = {topic.name: topic.partitions for topic in metadata(client, "a", "b").topics}
        assert len(added["a"]) == 3
        assert added["b"][2].replica_nodes == [3, 1, 2]


@pytest.mark.parametrize(("compat", "code"), [(Compat.SEED, 7), (Compat.KRAFT, 0)])
def test_partitions_of_a_topic_that_has_no_leader(compat: Compat, code: int) -> None:
    """A4-41: the seed waits for leaders of all partitions, Kafka for none."""
    cluster = cluster_of(compat=compat)
    with client_of(cluster) as client:
        create(client, new_topic("a", assignments=[(0, [3])]))
        cluster.fence(3)
        request = messages.CreatePartitionsRequest(topics=[grow("a", 2)], timeout_ms=20)
        assert codes(client.ask("CreatePartitions", 3, request).results) == {"a": code}
        assert len(metadata(client, "a").topics[0].partitions) == 2
