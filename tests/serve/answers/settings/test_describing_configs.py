"""DescribeConfigs and ListConfigResources, as a Kafka 4.3 answers them field by field."""

from collections.abc import Mapping

import pytest
from serve.answers.settings.asking import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    alter,
    describe,
    places,
    shown,
)
from serve.plain_requests import ask
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.resources.config_resources import ConfigResourceType, known_configs
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages


def test_a_topic_shows_every_config(client: RawClient) -> None:
    """Its own value first, then the broker's, then Kafka's default."""
    result = describe(client, TOPIC, "orders")
    assert (result.error_code, result.error_message) == (0, "")
    assert [config.name for config in result.configs] == sorted(topic_configs())
    own = shown(result, "retention.ms")
    assert (own.value, own.config_source, own.config_type) == ("77", 1, 5)
    assert (own.is_sensitive, own.read_only, own.documentation) == (False, False, None)
    assert places(own) == [("retention.ms", "77", 1)]
    policy = shown(result, "cleanup.policy")
    assert (policy.value, policy.config_source, policy.config_type) == ("delete", 5, 7)
    assert places(policy) == [("log.cleanup.policy", "delete", 5)]
    assert places(shown(result, "flush.ms")) == []


def test_synonyms_are_in_kafkas_order(client: RawClient) -> None:
    """Topic, broker, default of all brokers, static, Kafka's default."""
    set_at = [(BROKER, "1", "6"), (BROKER, "", "5")]
    for kind, name, value in set_at:
        assert alter(client, (kind, name, [("log.retention.ms", SET, value)])) == [(0, None)]
    expected = [
        ("log.retention.ms", "6", 2),
        ("log.retention.ms", "5", 3),
        ("log.retention.hours", "2", 4),
        ("log.retention.hours", "168", 5),
    ]
    found = shown(describe(client, BROKER, "1"), "log.retention.ms")
    assert (found.value, found.config_source, places(found)) == ("6", 2, expected)
    topic = shown(describe(client, TOPIC, "orders"), "retention.ms")
    assert places(topic) == [("retention.ms", "77", 1), *expected]
    default = shown(describe(client, BROKER, ""), "log.retention.ms")
    assert places(default) == [("log.retention.ms", "5", 3)]


def test_a_topic_has_the_defaults_of_the_broker_that_answers(
    server: KafkaServer, client: RawClient
) -> None:
    """And hours count where milliseconds are not set, without being a source."""
    assert alter(client, (BROKER, "1", [("log.segment.bytes", SET, "2000000")])) == [(0, None)]
    assert shown(describe(client, TOPIC, "orders"), "segment.bytes").value == "2000000"
    with raw_client(server.endpoints[1]) as another:
        assert shown(describe(another, TOPIC, "orders"), "segment.bytes").config_source == 5
    assert alter(client, (TOPIC, "orders", [("retention.ms", 1, None)])) == [(0, None)]
    inherited = shown(describe(client, TOPIC, "orders"), "retention.ms")
    assert (inherited.value, inherited.config_source, places(inherited)) == ("7200000", 5, [])


@pytest.mark.parametrize("keys", [["retention.ms", "nothing"], [], None], ids=str)
def test_keys_filter_what_is_shown(client: RawClient, keys: list[str] | None) -> None:
    """No key means every one, as in Kafka."""
    result = describe(client, TOPIC, "orders", keys)
    names = {config.name for config in result.configs}
    assert names == ({"retention.ms"} if keys else set(topic_configs()))


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_answered(client: RawClient, version: int, embedded: EmbeddedCluster):
    """Version 0 is of KIP-133 and no longer in Kafka 4: only seed mode has it."""
    if version == 0 and not embedded.controller.options.seed:
        with pytest.raises(ConnectionResetError):
            describe(client, TOPIC, "orders", version=0)
        return
    result = describe(client, TOPIC, "orders", ["retention.ms"], version=version)
    (config,) = result.configs
    assert (config.name, config.value) == ("retention.ms", "77")
    assert config.config_type == (5 if version >= 3 else 0)
    assert bool(config.synonyms) == (version >= 1)
    if version == 0:
        (default,) = describe(client, TOPIC, "orders", ["flush.ms"], version=0).configs
        assert (config.is_default, default.is_default) == (False, True)


def test_synonyms_are_shown_on_request(client: RawClient) -> None:
    result = describe(client, TOPIC, "orders", synonyms=False)
    assert not any(config.synonyms for config in result.configs)


def test_a_broker_shows_kafkas_keys(server: KafkaServer, client: RawClient) -> None:
    """All 340 of a Kafka 4.3: type, default, and what can't be altered while it runs."""
    result = describe(client, BROKER, "1")
    names = [config.name for config in result.configs]
    assert names == sorted(names)
    assert set(known_configs(ConfigResourceType.BROKER)) <= set(names)
    assert len(known_configs(ConfigResourceType.BROKER)) == 340
    found = {
        config.name: (config.value, config.config_source, config.read_only, config.config_type)
        for config in result.configs
    }
    assert found["node.id"] == ("1", 4, True, 3)
    listener = f"PLAINTEXT://{server.endpoints[0]}"
    assert found["advertised.listeners"] == (listener, 4, True, 7)
    assert found["num.io.threads"] == ("8", 5, False, 3)
    assert found["log.dir"] == ("/tmp/kafka-logs", 5, True, 7)  # noqa: S108
    assert found["log.retention.hours"] == ("2", 4, True, 3)
    assert found["auto.create.topics.enable"] == ("true", 5, True, 1)


def test_secrets_and_unknown_keys_are_hidden(client: RawClient) -> None:
    """Nobody reads a password back, by no listener and no synonym."""
    key = "listener.name.sasl.ssl.key.password"
    changes = [(key, SET, "secret"), ("my.own", SET, "secret")]
    assert alter(client, (BROKER, "1", changes)) == [(0, None)]
    result = describe(client, BROKER, "1")
    assert shown(result, "ssl.key.password").is_sensitive
    for name, type_ in ((key, 9), ("my.own", 0)):
        config = shown(result, name)
        assert (config.value, config.is_sensitive, config.config_type) == (None, True, type_)
        assert places(config) == [(name, None, 2)]


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "none", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER_LOGGER, "", 42, "Broker id must not be empty"),
        (BROKER_LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (GROUP, "", 42, "Group name must not be empty"),
    ],
)
def test_what_is_not_there(client: RawClient, kind: int, name: str, code: int, message: str):
    result = describe(client, kind, name)
    assert (result.error_code, result.error_message, result.configs) == (code, message, [])


def test_an_unknown_type_fails_the_whole_request(client: RawClient) -> None:
    request = messages.DescribeConfigsRequest
    rows = [
        request.DescribeConfigsResource(
            resource_type=kind, resource_name="orders", configuration_keys=None
        )
        for kind in (TOPIC, 64)
    ]
    results = client.ask("DescribeConfigs", 4, request(resources=rows)).results
    assert [(row.error_code, row.configs) for row in results] == [(42, []), (42, [])]


def test_groups_client_metrics_and_loggers(client: RawClient) -> None:
    """A group's default is the broker's; loggers have levels, and no type."""
    session = ("consumer.session.timeout.ms", SET, "50000")
    assert alter(client, (GROUP, "g", [session])) == [(0, None)]
    group = describe(client, GROUP, "g")
    assert len(group.configs) == 17
    assert places(shown(group, session[0])) == [
        (session[0], "50000", 8),
        ("group.consumer.session.timeout.ms", "45000", 5),
    ]
    assert places(shown(group, "share.auto.offset.reset")) == [
        ("share.auto.offset.reset", "latest", 5)
    ]
    assert alter(client, (CLIENT_METRICS, "m", [("interval.ms", SET, "1000")])) == [(0, None)]
    metrics = describe(client, CLIENT_METRICS, "m")
    assert [(row.name, row.value, row.config_source) for row in metrics.configs] == [
        ("interval.ms", "1000", 7),
        ("match", "", 5),
        ("metrics", "", 5),
    ]
    loggers = describe(client, BROKER_LOGGER, "1")
    assert {row.config_source for row in loggers.configs} == {6}
    assert "root" in {row.name for row in loggers.configs}


def test_resources_with_configs_are_listed(client: RawClient) -> None:
    """KIP-1142, in the order of Kafka; version 0 lists client metrics alone (KIP-714)."""
    assert alter(client, (GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")])) == [
        (0, None)
    ]
    assert alter(client, (CLIENT_METRICS, "m", [("interval.ms", SET, "1000")])) == [(0, None)]

    def listed(types: list[int], version: int = 1) -> tuple[int, list[tuple[str, int]]]:
        request = messages.ListConfigResourcesRequest(resource_types=types)
        answer = client.ask("ListConfigResources", version, request)
        rows = answer.config_resources
        return answer.error_code, [(row.resource_name, row.resource_type) for row in rows]

    assert listed([]) == (
        0,
        [("g", GROUP), ("m", CLIENT_METRICS)]
        + [(number, kind) for kind in (BROKER_LOGGER, BROKER) for number in "123"]
        + [("orders", TOPIC)],
    )
    assert listed([TOPIC]) == (0, [("orders", TOPIC)])
    assert listed([99]) == (35, [])
    assert listed([], version=0) == (0, [("m", CLIENT_METRICS)])


def test_throttles_are_shown_while_they_are_set(client: RawClient) -> None:
    """With their values and types, as a Kafka 4.3 answers: they are no secrets."""
    rates = {
        "leader.replication.throttled.rate": "1000",
        "follower.replication.throttled.rate": "2000",
        "replica.alter.log.dirs.io.max.bytes.per.second": "3000",
    }
    assert not rates.keys() & {row.name for row in describe(client, BROKER, "1").configs}
    changes = [(key, SET, value) for key, value in rates.items()]
    assert alter(client, (BROKER, "1", changes)) == [(0, None)]
    for key, value in rates.items():
        (row,) = describe(client, BROKER, "1", [key]).configs
        assert (row.value, row.config_source, row.config_type) == (value, 2, 5)
        assert (row.is_sensitive, row.read_only, row.documentation) == (False, False, None)
        assert places(row) == [(key, value, 2)]
        for wrong, problem in (
            ("x", "Not a number of type LONG"),
            ("-1", "Value must be at least 0"),
        ):
            message = f"Invalid value {wrong} for configuration {key}: {problem}"
            assert alter(client, (BROKER, "1", [(key, SET, wrong)])) == [(42, message)]


@pytest.mark.parametrize(
    ("kind", "name", "known"),
    [
        (TOPIC, "orders", topic_configs()),
        (BROKER, "1", known_configs(ConfigResourceType.BROKER)),
        (GROUP, "g", known_configs(ConfigResourceType.GROUP)),
        (CLIENT_METRICS, "m", known_configs(ConfigResourceType.CLIENT_METRICS)),
    ],
)
def test_every_config_is_documented(
    client: RawClient, kind: int, name: str, known: Mapping[str, object]
) -> None:
    """From version 3 on, if the client asks for it."""
    row = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
    for asks in (False, True):
        answer = ask(client, "DescribeConfigs", 4, resources=row, include_documentation=asks)
        texts = {row.name: row.documentation for row in answer.results[0].configs}
        assert texts.keys() >= known.keys()
        assert all(bool(texts[key]) is asks for key in known)
