"""IncrementalAlterConfigs and AlterConfigs, with the codes and words of Kafka 4.3."""

from pathlib import Path

import pytest
from serve.answers.settings.asking import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    describe,
    places,
    replace,
    shown,
)
from serve.raw_client import RawClient
from serve.served import client_of, cluster_of
from serve.topic_requests import create, new_topic

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.options import Compat

DONE = (0, None)


@pytest.mark.parametrize("version", [0, 1])
def test_configs_are_altered(client: RawClient, version: int) -> None:
    """A4-74, A4-77: SET 0, DELETE 1, APPEND 2, SUBTRACT 3; deleting what is not there is done."""

    def altered(*changes: tuple[str, int, str | None]) -> None:
        assert alter(client, (TOPIC, "orders", changes), version=version) == [DONE]

    def policy() -> tuple[str, int]:
        found = shown(describe(client, TOPIC, "orders"), "cleanup.policy")
        return found.value, found.config_source

    altered(("cleanup.policy", APPEND, "compact"), ("retention.ms", DELETE, None))
    assert policy() == ("delete,compact", 1)
    altered(("cleanup.policy", SUBTRACT, "delete"), ("segment.ms", DELETE, None))
    assert policy() == ("compact", 1)
    altered(("cleanup.policy", DELETE, None))
    assert policy() == ("delete", 5)


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ([("nope", SET, "1")], 40, "Unknown topic config name: nope"),
        (
            [("retention.ms", SET, "x")],
            40,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            [("retention.ms", APPEND, "5")],
            40,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)],
            42,
            "Error due to duplicate config keys",
        ),
        (
            [("retention.ms", SET, None), ("flush.ms", SET, None)],
            42,
            "Null value not supported for : retention.ms, flush.ms",
        ),
        ([("retention.ms", 9, "5")], -1, None),
    ],
)
def test_one_bad_key_fails_its_resource(
    client: RawClient, changes: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    """A4-75, A4-76, A4-76b: all of its keys, and no other resource."""
    other = (BROKER, "", [("log.retention.ms", SET, "9")])
    topic = (TOPIC, "orders", [("segment.ms", SET, "1234"), *changes])
    # Kafka's controller can't read an operation that there is none of, nor then the rest.
    assert alter(client, topic, other) == [(code, message), (code, None) if code < 0 else DONE]
    assert shown(describe(client, TOPIC, "orders"), "segment.ms").value != "1234"
    names = {row.name for row in describe(client, BROKER, "").configs} - {"min.insync.replicas"}
    assert names == (set() if code < 0 else {"log.retention.ms"})


def test_a_resource_that_is_there_twice(client: RawClient) -> None:
    """A4-76: each of its rows is refused."""
    twice = [(TOPIC, "orders", [("retention.ms", SET, value)]) for value in "12"]
    refused = [(42, "Each resource must appear at most once.")] * 2
    assert alter(client, *twice) == refused
    assert replace(client, *((TOPIC, "orders", [("retention.ms", v)]) for v in "12")) == refused
    assert shown(describe(client, TOPIC, "orders"), "retention.ms").value == "77"


@pytest.mark.parametrize(
    ("kind", "name", "key", "code", "message"),
    [
        (TOPIC, "none", "retention.ms", 3, "The topic 'none' does not exist."),
        (TOPIC, "", "retention.ms", 42, "Default topic resources are not allowed."),
        (0, "a", "b", 42, "Unknown resource type 0"),
        (99, "a", "b", 42, "Unknown resource type 99"),
        (BROKER, "2", "b", 42, "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "x", "b", 42, "Node id must be an integer, but it is: x"),
        (BROKER_LOGGER, "1", "none", 40, "Logger none does not exist!"),
        (BROKER_LOGGER, "2", "root", 42, "Unexpected node id. Expected 1, but received 2"),
        (BROKER_LOGGER, "", "root", 42, "Node id must be an integer, but it is: "),
        (CLIENT_METRICS, "", "interval.ms", 42, "Subscription name can't be empty"),
        (CLIENT_METRICS, "m", "b", 42, "Unknown client metrics configuration: b"),
        (GROUP, "", "b", 42, "Default group resources are not allowed."),
        (GROUP, "g", "b", 40, "Unknown group config name: b"),
        (
            GROUP,
            "g",
            "consumer.session.timeout.ms",
            40,
            "consumer.session.timeout.ms must be greater than or equal to "
            "group.consumer.min.session.timeout.ms",
        ),
        (
            CLIENT_METRICS,
            "m",
            "interval.ms",
            42,
            "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
    ],
)
def test_resources_that_are_refused(
    client: RawClient, kind: int, name: str, key: str, code: int, message: str
) -> None:
    """A4-74, F590-27: what another broker has is not this one's to change."""
    topic = (TOPIC, "orders", [("retention.ms", SET, "5")])
    assert alter(client, (kind, name, [(key, SET, "5")]), topic) == [(code, message), DONE]


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("1", "log.dir", "Cannot update these configs dynamically: [log.dir]"),
        (
            "",
            "listeners",
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "[listeners]",
        ),
        (
            "1",
            "ssl.key.password",
            "These security configs can be dynamically updated only per-listener using the "
            "listener prefix: [ssl.key.password]",
        ),
        (
            "1",
            "log.cleaner.threads",
            "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
        ),
    ],
)
def test_what_a_running_broker_does_not_take(
    client: RawClient, embedded: EmbeddedCluster, name: str, key: str, message: str
) -> None:
    """P201-47 has it so for policies' keys; Kafka 4.3 for all that a broker reads at its start."""
    if embedded.controller.options.seed:
        policy = "create.topic.policy.class.name"
        key, message = policy, f"Cannot update these configs dynamically: [{policy}]"
    assert alter(client, (BROKER, name, [(key, SET, "x")])) == [(42, message)]


def test_validating_alters_nothing(client: RawClient) -> None:
    """Everything is checked, and nothing is done."""
    change = (TOPIC, "orders", [("retention.ms", SET, "5")])
    wrong = (TOPIC, "orders", [("retention.ms", SET, "x")])
    assert alter(client, change, validate_only=True) == [DONE]
    assert alter(client, wrong, validate_only=True)[0][0] == 40
    assert replace(client, (TOPIC, "orders", []), validate_only=True) == [DONE]
    assert shown(describe(client, TOPIC, "orders"), "retention.ms").value == "77"


@pytest.mark.parametrize("version", range(3))
def test_the_old_request_replaces(
    client: RawClient, embedded: EmbeddedCluster, version: int
) -> None:
    """A4-78: keys that are not listed fall back to their defaults."""
    change = (TOPIC, "orders", [("segment.ms", "1234")])
    assert replace(client, change, version=version) == [DONE]
    found = describe(client, TOPIC, "orders")
    assert shown(found, "segment.ms").value == "1234"
    assert shown(found, "retention.ms").config_source == 5
    again = [("segment.ms", "1"), ("segment.ms", "2")]
    assert replace(client, (TOPIC, "orders", again), version=version) == [
        (42, "Error due to duplicate config keys")
    ]
    assert replace(client, (TOPIC, "orders", [("segment.ms", None)]), version=version) == [
        (42, "Null value not supported for : segment.ms")
    ]
    unknown = replace(client, (BROKER_LOGGER, "1", []), (99, "a", []), version=version)
    assert unknown == [(42, "Unknown resource type 8"), (42, "Unknown resource type 99")]


def test_min_insync_replicas_are_of_the_cluster() -> None:
    """KIP-966: Kafka sets it for all brokers; with a Kafka 4.3's words it is nowhere else."""
    key = "min.insync.replicas"
    with client_of(compat=Compat.KRAFT, static_configs={key: "2"}) as client:
        create(client, new_topic("orders"))
        of_broker = (40, f"Broker-level {key} cannot be altered while ELR is enabled.")
        of_cluster = (40, f"Cluster-level {key} cannot be removed while ELR is enabled.")
        assert alter(client, (BROKER, "1", [(key, SET, "1")])) == [of_broker]
        assert alter(client, (BROKER, "1", [(key, DELETE, None)])) == [of_broker]
        assert alter(client, (BROKER, "", [(key, DELETE, None)])) == [of_cluster]
        assert replace(client, (BROKER, "", [("log.retention.ms", "9")])) == [of_cluster]
        assert replace(client, (BROKER, "", [("log.retention.ms", "9"), (key, "2")])) == [DONE]
        for value in ("2", "3"):
            assert alter(client, (BROKER, "", [(key, SET, value)])) == [DONE]
            for kind, name in ((BROKER, "1"), (TOPIC, "orders")):
                row = shown(describe(client, kind, name), key)
                places_of = [(key, value, 3), (key, "2", 4), (key, "1", 5)]
                assert (row.value, row.config_source, places(row)) == (value, 3, places_of)


def test_an_older_stores_min_insync_replicas_of_a_broker(tmp_path: Path) -> None:
    """Kafka removes such a value when it turns ELR on; here it can be removed."""
    key, store = "min.insync.replicas", tmp_path / "store.db"
    with client_of(cluster_of(store, compat=Compat.SEED)) as client:
        assert alter(client, (BROKER, "1", [(key, SET, "2")])) == [DONE]
        assert describe(client, BROKER, "").configs == []
    with client_of(cluster_of(store, compat=Compat.KRAFT)) as client:
        assert shown(describe(client, BROKER, "1"), key).value == "2"
        assert alter(client, (BROKER, "1", [(key, DELETE, None)])) == [DONE]
        assert shown(describe(client, BROKER, "1"), key).value == "1"
