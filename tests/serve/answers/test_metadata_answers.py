"""Metadata as clients see it, by name, by id and of everything."""

import pytest
from cluster.clusters import BOTH, ROOT, a_new_topic, admin, topic_grant
from serve.raw_client import RawClient
from serve.served import client_of, cluster_of
from serve.topic_requests import codes, create, metadata, new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import Operation
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message

ME = "User:ANONYMOUS"
STRANGER = bytes(range(16))


def by_id(client: RawClient, *ids: bytes, version: int = 13) -> list[Message]:
    """The rows of topics with these ids."""
    request = messages.MetadataRequest
    topics = [request.MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    answer = client.ask("Metadata", version, request(topics=topics))
    return list(answer.topics)


@pytest.mark.parametrize("version", range(14))
def test_every_version(version: int) -> None:
    """A4-20…22, A4-29: brokers with nullable racks, topics, the controller, and since when."""
    brokers = [Broker(id=4, rack="b"), Broker(id=2)]
    cluster = cluster_of(brokers=brokers)
    with client_of(cluster) as client:
        create(client, new_topic("a", assignments=[(0, [4, 2]), (1, [2, 4])]))
        answer = metadata(client, "a", version=version)
        assert [(row.node_id, row.rack) for row in answer.brokers] == [
            (2, None),
            (4, "b" if version >= 1 else None),
        ]
        assert answer.controller_id == (2 if version >= 1 else -1)
        assert bool(answer.cluster_id) == (version >= 2)
        (topic,) = answer.topics
        assert (topic.name, topic.error_code, topic.is_internal) == ("a", 0, False)
        assert (topic.topic_id != NIL_UUID) == (version >= 10)
        rows = [(row.partition_index, row.leader_id, row.leader_epoch) for row in topic.partitions]
        epoch = 0 if version >= 7 else -1
        assert rows == [(0, 4, epoch), (1, 2, epoch)]
        assert [row.replica_nodes for row in topic.partitions] == [[4, 2], [2, 4]]
        assert [row.isr_nodes for row in topic.partitions] == [[4, 2], [2, 4]]


def test_which_topics_are_asked_for() -> None:
    """A4-18, A4-19, C-32: null is all and empty is none; in version 0 empty is all."""
    with client_of() as client:
        create(client, "a", "b")
        for version in range(14):
            nothing = messages.MetadataRequest(topics=[])
            if version >= 4:
                nothing.allow_auto_topic_creation = False
            found = client.ask("Metadata", version, nothing)
            assert [topic.name for topic in found.topics] == ([] if version else ["a", "b"])
            if version:
                everything = metadata(client, None, version=version)
                assert [topic.name for topic in everything.topics] == ["a", "b"]


@pytest.mark.parametrize("compat", BOTH)
def test_dead_brokers(compat: Compat) -> None:
    """A4-23, A4-24: version 0 hides them and says so; others list them as offline."""
    cluster = cluster_of(compat=compat)
    with client_of(cluster) as client:
        create(
            client,
            new_topic("a", assignments=[(0, [3, 1]), (1, [1, 2])]),
            new_topic("b", assignments=[(0, [3])]),
        )
        cluster.fence(3)
        versions = (0, 1, 4, 5, 13)
        rows = {version: metadata(client, "a", "b", version=version) for version in versions}
        partitions = {
            version: [
                (row.error_code, row.leader_id, row.replica_nodes, row.isr_nodes)
                for topic in answer.topics
                for row in topic.partitions
            ]
            for version, answer in rows.items()
        }
        assert partitions[0] == [(9, 1, [1], [1]), (0, 1, [1, 2], [1, 2]), (5, -1, [], [])]
        later = [(0, 1, [3, 1], [1]), (0, 1, [1, 2], [1, 2]), (5, -1, [3], [])]
        assert [partitions[version] for version in (1, 4, 5, 13)] == [later] * 4
        offline = [row.offline_replicas for topic in rows[13].topics for row in topic.partitions]
        assert offline == [[3], [], [3]]
        assert [row.node_id for row in rows[13].brokers] == [1, 2]
        cluster.fence()
        assert metadata(client, "a", version=0).topics[0].partitions[0].error_code == 0


@pytest.mark.parametrize("compat", BOTH)
def test_topics_by_id(compat: Compat) -> None:
    """If there is an id, names do not count; before version 12 there are no such requests."""
    with client_of(compat=compat) as client:
        made = {row.name: row.topic_id for row in create(client, "a", "b")}
        rows = by_id(client, made["a"], STRANGER)
        assert {(row.name, row.topic_id): row.error_code for row in rows} == {
            (None, STRANGER): 100,
            ("a", made["a"]): 0,
        }
        request = messages.MetadataRequest
        both = [
            request.MetadataRequestTopic(name="b"),
            request.MetadataRequestTopic(name=None, topic_id=made["a"]),
        ]
        assert codes(client.ask("Metadata", 12, request(topics=both)).topics) == {"a": 0}
        (refused,) = by_id(client, made["a"], version=11)
        assert (refused.name, refused.error_code) == ("", 42)
        with_both = request.MetadataRequestTopic(name="a", topic_id=made["a"])
        assert codes(client.ask("Metadata", 10, request(topics=[with_both])).topics) == {"a": 42}


def test_names_of_no_topic() -> None:
    """A4-10: a name that can't be one is told apart; names in a request count once."""
    with client_of() as client:
        rows = metadata(client, "none", "not a name", "__consumer_offsets", "none").topics
        assert codes(rows) == {"none": 3, "not a name": 17, "__consumer_offsets": 3}
        assert len(rows) == 3
        assert [row.name for row in rows if row.is_internal] == ["__consumer_offsets"]


def test_operations_that_a_client_may_do() -> None:
    """KIP-430: as bits, if they are asked for; of the cluster in three versions."""
    rights = [topic_grant(Operation.READ, "a", ME)]
    cluster = cluster_of(compat=Compat.KRAFT, rights=rights)
    admin(cluster, ROOT).create_topics([a_new_topic("a"), a_new_topic("b")])
    with client_of(cluster) as client:
        asked = {"include_topic_authorized_operations": True}
        rows = {row.name: row for row in metadata(client, "a", "b", **asked).topics}
        assert rows["a"].topic_authorized_operations == 1 << 3 | 1 << 8
        assert (rows["b"].error_code, rows["b"].topic_id) == (29, NIL_UUID)
        assert rows["b"].topic_authorized_operations == -(2**31)
        for version in (8, 10):
            answer = metadata(
                client, "a", version=version, include_cluster_authorized_operations=True
            )
            assert answer.cluster_authorized_operations == 0
        assert [row.name for row in metadata(client, None, **asked).topics] == ["a"]


def test_missing_topics_are_created_if_all_agree() -> None:
    """Client, brokers' configs and rights: Create on the topic is enough in Kafka."""
    rights = [
        topic_grant(Operation.DESCRIBE, "*", ME),
        topic_grant(Operation.CREATE, "mine", ME),
    ]
    cluster = cluster_of(compat=Compat.KRAFT, rights=rights)
    names = "mine", "yours"
    with client_of(cluster) as client:
        assert codes(metadata(client, "mine").topics) == {"mine": 3}
        asked = {"allow_auto_topic_creation": True}
        while (rows := codes(metadata(client, *names, **asked).topics))["mine"]:
            # Kafka's brokers answer before the topic is there.
            assert rows == {"mine": 3, "yours": 29}
        assert rows == {"mine": 0, "yours": 29}
        assert codes(metadata(client, *names).topics) == {"mine": 0, "yours": 3}


def test_rows_that_were_written_before_are_those_of_today() -> None:
    """Each change of a topic, of a broker, or of the client's version is seen at once."""
    cluster = cluster_of()
    with client_of(cluster) as client:
        create(client, "a", "b")
        for change in (
            lambda: None,
            lambda: cluster.fence(2),
            cluster.fence,
            lambda: create(client, "c"),
            lambda: admin(cluster).delete_topics(["a"]),
            lambda: create(client, new_topic("a", 5)),
        ):
            change()
            for version in (1, 5, 9, 13, 13):
                answer = metadata(client, None, version=version)
                assert answer.topics == rows_of(client, version)


def rows_of(client: RawClient, version: int) -> list[Message]:
    """The rows of all topics, each asked for with its operations: such rows are not kept."""
    rows = []
    for topic in metadata(client, None).topics:
        how = {"include_topic_authorized_operations": True} if version >= 8 else {}
        (row,) = metadata(client, topic.name, version=version, **how).topics
        row.topic_authorized_operations = -(2**31)
        rows.append(row)
    return rows
