"""Answers about configs, ACLs and quotas, field by field beside those of a real Kafka 4.3.

Nothing is changed on it: requests are wrong, or only validated.
"""

from collections.abc import Iterator

import pytest
from cluster.clusters import a_new_topic, admin
from patience import eventually
from serve.answers.settings.asking import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    alter,
    describe,
    replace,
)
from serve.answers.settings.test_acl_answers import binding, create
from serve.answers.settings.test_quota_answers import alter as alter_quotas
from serve.answers.settings.test_quota_answers import describe as describe_quotas
from serve.answers.test_partition_answers import moved
from serve.raw_client import RawClient, raw_client
from serve.served import client_of, cluster_of
from serve.topic_requests import create as create_topics
from serve.topic_requests import new_topic

from kgitops.cluster.embedded.options import Compat
from kgitops.cluster.port import Cluster
from kgitops.sandbox.sandbox import Sandbox
from kgitops.serve.nodes import Endpoint

pytestmark = pytest.mark.kafka

_KEY = "retention.ms"
_ALTERATIONS = [
    (TOPIC, "orders", [(_KEY, SET, "5")]),
    (TOPIC, "orders", [("nope", DELETE, None)]),
    (TOPIC, "orders", [("nope", SET, "5")]),
    (TOPIC, "orders", [(_KEY, SET, "x")]),
    (TOPIC, "orders", [(_KEY, SET, None), ("flush.ms", SET, None)]),
    (TOPIC, "orders", [(_KEY, SET, "5"), (_KEY, DELETE, None)]),
    (TOPIC, "orders", [(_KEY, APPEND, "5")]),
    (TOPIC, "orders", [("cleanup.policy", APPEND, "compact")]),
    (TOPIC, "orders", [(_KEY, 9, "5")]),
    (TOPIC, "none", [(_KEY, SET, "5")]),
    (TOPIC, "", [(_KEY, SET, "5")]),
    (99, "a", [("b", SET, "5")]),
    (BROKER, "9", [("b", SET, "5")]),
    (BROKER, "x", [("b", SET, "5")]),
    (BROKER, "1", [("log.dir", SET, "x")]),
    (BROKER, "1", [("log.cleaner.threads", SET, "x")]),
    (BROKER, "1", [("log.cleaner.threads", APPEND, "1")]),
    (BROKER, "1", [("nope", APPEND, "1")]),
    (BROKER, "1", [("ssl.key.password", SET, "x")]),
    (BROKER, "", [("listeners", SET, "PLAINTEXT://:1")]),
    (BROKER, "", [("log.retention.ms", SET, "x")]),
    (BROKER, "", [("min.insync.replicas", DELETE, None)]),
    (BROKER, "", [("min.insync.replicas", SET, "2")]),
    (BROKER, "1", [("min.insync.replicas", DELETE, None)]),
    (BROKER, "1", [("min.insync.replicas", SET, "1")]),
    (BROKER, "1", [("leader.replication.throttled.rate", SET, "x")]),
    (BROKER, "1", [("leader.replication.throttled.rate", APPEND, "1")]),
    (BROKER, "1", [("replica.alter.log.dirs.io.max.bytes.per.second", SET, "-1")]),
    (BROKER_LOGGER, "1", [("none", SET, "INFO")]),
    (BROKER_LOGGER, "9", [("none", SET, "INFO")]),
    (BROKER_LOGGER, "", [("none", SET, "INFO")]),
    (CLIENT_METRICS, "m", [("interval.ms", SET, "x")]),
    (CLIENT_METRICS, "m", [("interval.ms", SET, "5")]),
    (CLIENT_METRICS, "m", [("match", SET, "x=y")]),
    (CLIENT_METRICS, "m", [("nope", SET, "x")]),
    (CLIENT_METRICS, "", [("match", SET, "")]),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "x")]),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "1")]),
    (GROUP, "g", [("share.auto.offset.reset", SET, "x")]),
    (GROUP, "g", [("nope", SET, "1")]),
    (GROUP, "", [("nope", SET, "1")]),
]
_DESCRIBED = [
    (TOPIC, "none"),
    (TOPIC, ""),
    (TOPIC, "bad name"),
    (BROKER, ""),
    (BROKER, "9"),
    (BROKER, "x"),
    (BROKER_LOGGER, ""),
    (BROKER_LOGGER, "9"),
    (CLIENT_METRICS, ""),
    (CLIENT_METRICS, "m"),
    (GROUP, ""),
    (GROUP, "g"),
    (99, "a"),
]
_RATE = "producer_byte_rate"
_QUOTAS = [
    ((("user", "jane"),), [(_RATE, 7.0)]),
    ((("user", "jane"),), [(_RATE, 7.0), (_RATE, 8.0)]),
    ((("user", ""),), [(_RATE, 7.0)]),
    ((("user", "jane"),), [("nope", 7.0)]),
    ((("user", "jane"),), [(_RATE, 0.0)]),
    ((("user", "jane"),), [(_RATE, 1.5)]),
    ((("x", "y"),), [(_RATE, 7.0)]),
    ((), [(_RATE, 7.0)]),
    ((("user", "a"), ("ip", "1.2.3.4")), [(_RATE, 7.0)]),
]
_FILTERS = [
    [("user", 9, None)],
    [("user", 0, None)],
    [("user", 1, "x")],
    [("x", 2, None)],
    [("", 2, None)],
    [("user", 2, None)] * 2,
    [("user", 2, None), ("ip", 2, None)],
]
_ACLS = [
    binding(kind=99),
    binding(pattern=99),
    binding(operation=99),
    binding(permission=99),
    binding(kind=99, name=""),
    binding(principal="a"),
    binding(kind=4, name="x"),
]


@pytest.fixture
def ours() -> Iterator[RawClient]:
    """A client of the first broker of a served cluster without virtual clusters."""
    cluster = cluster_of(compat=Compat.KRAFT, virtual_clusters=False)
    assert admin(cluster).create_topics([a_new_topic()])["orders"].ok
    with client_of(cluster) as client:
        yield client


@pytest.fixture
def theirs(kafka: Sandbox, kafka_cluster: Cluster) -> Iterator[RawClient]:
    """A client of the first broker of a real Kafka."""
    host, _, port = kafka.servers.split(",")[0].rpartition(":")
    with raw_client(Endpoint(host, int(port))) as client:
        create_topics(client, new_topic("orders", 2, 2), timeout_ms=30_000)
        # The broker that is asked hears of it a moment later.
        eventually(
            lambda: describe(client, TOPIC, "orders").error_code,
            lambda code: not code,
            what="the topic appears",
        )
        yield client


def answers(client: RawClient) -> dict[str, object]:
    """The answers to all that this module asks, by the question."""
    found: dict[str, object] = {}
    for change in _ALTERATIONS:
        found[f"alter {change}"] = alter(client, change, validate_only=True)
    for kind in (TOPIC, BROKER_LOGGER, 99):
        found[f"replace {kind}"] = replace(client, (kind, "1", []), validate_only=True)
    for resource in _DESCRIBED:
        result = describe(client, *resource)
        found[f"describe {resource}"] = (
            result.error_code,
            result.error_message,
            sorted(result.configs, key=lambda config: config.name),
        )
    for quota in _QUOTAS:
        found[f"quota {quota}"] = alter_quotas(client, quota, validate_only=True)
    for index, components in enumerate(_FILTERS):
        found[f"filter {index} {components}"] = describe_quotas(client, *components)
    found["replace all brokers"] = replace(client, (BROKER, "", []), validate_only=True)
    for path in ("/nope", "", "relative"):
        found[f"move to {path}"] = moved(client, (path, "orders", [0, 9]), (path, "none", [0]))
    for acl in _ACLS:
        found[f"acl {acl}"] = create(client, acl)
    return found


def test_errors_and_values_are_kafkas(ours: RawClient, theirs: RawClient) -> None:
    """A4-74…76, A4-95, F590-50, F590-51: codes, messages and values."""
    expected = answers(theirs)
    found = answers(ours)
    assert {key: found[key] for key in expected if found[key] != expected[key]} == {}


def test_a_broker_describes_itself_as_kafkas(ours: RawClient, theirs: RawClient) -> None:
    """Types, defaults, secrets, and what can't be altered while it runs: of every key."""

    def facts(client: RawClient) -> dict[str, tuple[object, ...]]:
        return {
            row.name: (
                row.config_type,
                row.is_sensitive,
                row.read_only,
                [(s.name, s.value) for s in row.synonyms if s.source == 5],
            )
            for row in describe(client, BROKER, "1").configs
            if row.config_type
        }

    assert facts(ours) == facts(theirs)


def test_a_topic_describes_itself_as_kafkas(ours: RawClient, theirs: RawClient) -> None:
    """But for the size of the index files that the sandbox sets."""
    their_own = {"segment.index.bytes"}
    expected = {row.name: row for row in describe(theirs, TOPIC, "orders").configs}
    found = {row.name: row for row in describe(ours, TOPIC, "orders").configs}
    # Those that are too many are of a later Kafka, and harmless.
    assert len(found.keys() - expected.keys()) == 4
    for key in expected.keys() - their_own:
        assert found[key] == expected[key], key
