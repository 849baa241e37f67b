"""CreateTopics as clients see it, in all versions and both ways of answering."""

import threading

import pytest
from cluster.clusters import BOTH, a_grant, topic_grant
from patience import eventually
from serve.served import client_of, cluster_of, served
from serve.topic_requests import codes, create, metadata, new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, ResourceType
from kgitops.wire.messages import NIL_UUID

ME = "User:ANONYMOUS"


@pytest.mark.parametrize("version", range(8))
def test_every_version_creates(version: int) -> None:
    """A4-30, A4-50: at any broker; every name has one row, and versions before 2 are KIP-4's."""
    with client_of(broker=2) as client:
        rows = create(client, "a", new_topic("b c"), version=version)
        assert codes(rows) == {"a": 0, "b c": 17}
        assert [bool(row.error_message) for row in rows] == [False, version > 0]
        assert (rows[0].topic_id != NIL_UUID) == (version >= 7)
        assert rows[0].num_partitions == (2 if version >= 5 else -1)
        found = metadata(client, "a").topics[0]
        assert len(found.partitions) == 2
        assert version < 7 or found.topic_id == rows[0].topic_id


def test_versions_before_those_of_kafka_are_of_the_seed_alone() -> None:
    """A connection that asks for what is not announced is closed."""
    with client_of(compat=Compat.KRAFT) as client, pytest.raises(ConnectionResetError):
        create(client, "a", version=1)


@pytest.mark.parametrize("validate_only", [False, True])
def test_the_answer_tells_what_was_made(validate_only: bool) -> None:
    """A4-47: counts and configs, also of a topic that would be made; A4-37: of an assignment."""
    cluster = cluster_of(
        compat=Compat.KRAFT,
        static_configs={
            "num.partitions": "5",
            "default.replication.factor": "2",
            "log.retention.ms": "7",
        },
    )
    with client_of(cluster) as client:
        rows = create(
            client,
            new_topic("defaults", -1, -1, configs={"cleanup.policy": "compact"}),
            new_topic("assigned", assignments=[(0, [1]), (1, [2]), (2, [3])]),
            new_topic("wrong", 0),
            validate_only=validate_only,
        )
        made = {row.name: (row.num_partitions, row.replication_factor) for row in rows}
        assert made == {"defaults": (5, 2), "assigned": (3, 1), "wrong": (-1, -1)}
        configs = {row.name: row for row in rows[0].configs}
        assert list(configs) == sorted(configs)
        assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == (
            "compact",
            1,
        )
        assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("7", 4)
        assert configs["segment.bytes"].config_source == 5
        assert not any(row.is_sensitive or row.read_only for row in rows[0].configs)
        assert rows[2].configs == []
        exists = [topic.name for topic in metadata(client, None).topics]
        assert exists == ([] if validate_only else ["assigned", "defaults"])


@pytest.mark.parametrize(("compat", "hidden"), [(Compat.SEED, None), (Compat.KRAFT, [])])
def test_configs_are_for_those_who_may_describe_them(
    compat: Compat, hidden: list[object] | None
) -> None:
    """A4-47: without DescribeConfigs the counts are hidden as well, and the answer says why."""
    create_all = a_grant(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, ME)
    rights = [create_all, topic_grant(Operation.DESCRIBE_CONFIGS, "shown", ME)]
    with client_of(compat=compat, rights=rights) as client:
        shown, other = create(client, "shown", "hidden")
        assert (shown.error_code, shown.topic_config_error_code, shown.num_partitions) == (0, 0, 2)
        assert shown.configs
        assert (other.error_code, other.topic_config_error_code) == (0, 29)
        assert (other.num_partitions, other.replication_factor) == (-1, -1)
        assert other.configs == hidden
        assert other.topic_id != NIL_UUID


@pytest.mark.parametrize(
    ("compat", "names"), [(Compat.SEED, ["b", "a", "c"]), (Compat.KRAFT, ["a", "c", "b"])]
)
def test_a_name_that_is_there_twice_has_one_row(compat: Compat, names: list[str]) -> None:
    """A4-31, A4-17: neither is made; Kafka puts such rows behind the others."""
    with client_of(compat=compat) as client:
        rows = create(client, "b", "a", "b", "c")
        assert [row.name for row in rows] == names
        assert codes(rows) == {"a": 0, "b": 42, "c": 0}
        assert [topic.name for topic in metadata(client, None).topics] == ["a", "c"]


@pytest.mark.parametrize("compat", BOTH)
def test_what_is_wrong_with_a_topic(compat: Compat) -> None:
    """A4-09…15, A4-33, A4-36, A4-40, A4-45, A4-49: each by its own code, and others are made."""
    both = new_topic("both", assignments=[(0, [1])])
    both.num_partitions = 1
    with client_of(compat=compat) as client:
        create(client, "there")
        rows = create(
            client,
            "there",
            "not a name",
            new_topic("none", 0),
            new_topic("many", 1, 9),
            new_topic("twice", assignments=[(0, [1, 1])]),
            new_topic("stranger", assignments=[(0, [9])]),
            new_topic("config", configs={"no.such": "1"}),
            new_topic("null", configs={"cleanup.policy": None}),
            both,
            new_topic("__cluster_metadata"),
            "fine",
        )
        assert codes(rows) == {
            "there": 36,
            "not a name": 17,
            "none": 37,
            "many": 38,
            "twice": 39,
            "stranger": 39,
            "config": 40,
            "null": 40,
            "both": 42,
            "__cluster_metadata": 42,
            "fine": 0,
        }
        assert all(row.error_message for row in rows if row.error_code)


def test_who_waits_for_leaders_holds_up_nobody() -> None:
    """A4-41, A4-42: the answer comes with the last leader, or with the end of the time."""
    cluster = cluster_of()
    cluster.faults.leaderless_topics = frozenset({"slow"})
    with (
        served(cluster) as brokers,
        brokers.client() as waiting,
        brokers.client() as other,
    ):
        assert codes(create(waiting, "slow", "quick", timeout_ms=50)) == {"slow": 7, "quick": 0}
        cluster.faults.leaderless_topics = frozenset({"later"})
        answers: list[dict[str | None, int]] = []
        thread = threading.Thread(target=lambda: answers.append(codes(create(waiting, "later"))))
        thread.start()
        eventually(
            lambda: codes(metadata(other, "later").topics),
            lambda found: found != {"later": 3},
            what="the topic is created",
        )
        # It exists by now, and its creator is still waiting; others create meanwhile.
        assert codes(create(other, "meanwhile")) == {"meanwhile": 0}
        assert answers == []
        cluster.release()
        thread.join(timeout=10)
        assert answers == [{"later": 0}]
