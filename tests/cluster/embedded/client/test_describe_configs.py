"""DescribeConfigs: every config in effect, and where its value comes from."""

import pytest
from cluster.clusters import (
    a_cluster,
    a_guarded_cluster,
    a_new_topic,
    admin,
    cluster_grant,
    topic_grant,
)

from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.effective.entries import ConfigSource
from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.model.results import ErrorCode

ORDERS = ConfigResource(type="topic", name="orders")
BROKER_1 = ConfigResource(type="broker", name="1")
BROKER_2 = ConfigResource(type="broker", name="2")
ALL_BROKERS = ConfigResource(type="broker", name="")


@pytest.fixture
def layered():
    """``retention.ms`` is set everywhere, the other keys at one place less each."""
    cluster = a_cluster(
        static_configs={
            "log.retention.ms": "1",
            "log.segment.bytes": "1048576",
            "log.cleaner.min.cleanable.ratio": "0.1",
            "log.index.interval.bytes": "11",
        }
    )
    connection = admin(cluster)

    def alter(resource: ConfigResource, **configs: str) -> None:
        changes = [AlterConfig(key=k.replace("_", "."), value=v) for k, v in configs.items()]
        assert connection.incremental_alter_configs([(resource, changes)])[resource].ok

    alter(ALL_BROKERS, log_retention_ms="2", log_segment_bytes="2097152",
          log_cleaner_min_cleanable_ratio="0.2")  # fmt: skip
    alter(BROKER_1, log_retention_ms="3", log_segment_bytes="3145728")
    connection.create_topics([a_new_topic("orders", retention_ms="4")])
    return cluster


@pytest.mark.parametrize(
    ("key", "value", "source"),
    [
        ("retention.ms", "4", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("segment.bytes", "3145728", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("min.cleanable.dirty.ratio", "0.2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("index.interval.bytes", "11", ConfigSource.STATIC_BROKER_CONFIG),
        ("cleanup.policy", "delete", ConfigSource.DEFAULT_CONFIG),
    ],
)
def test_the_nearest_source_wins(layered, key: str, value: str, source: ConfigSource):
    entry = admin(layered).describe_configs([ORDERS])[ORDERS].entries[key]
    assert (entry.value, entry.source) == (value, source)


def test_every_topic_config_is_told(layered):
    described = admin(layered).describe_configs([ORDERS])[ORDERS]
    assert list(described.entries) == sorted(topic_configs())


def test_a_brokers_own_configs_are_not_another_brokers(layered):
    described = admin(layered).describe_configs([BROKER_1, BROKER_2, ALL_BROKERS])
    retention = {
        resource.name: (
            item.entries["log.retention.ms"].value,
            item.entries["log.retention.ms"].source,
        )
        for resource, item in described.items()
    }
    assert retention == {
        "1": ("3", ConfigSource.DYNAMIC_BROKER_CONFIG),
        "2": ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        "": ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
    }
    assert "log.index.interval.bytes" not in described[ALL_BROKERS].entries


def test_a_cluster_state_has_the_defaults_of_all_brokers_only(layered):
    """One broker's own configs are no default of the cluster."""
    assert layered.read_state().broker_defaults == {
        "retention.ms": "2",
        "segment.bytes": "2097152",
        "min.cleanable.dirty.ratio": "0.2",
        "index.interval.bytes": "11",
    }


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        (ConfigResource(type="topic", name="none"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ConfigResource(type="broker", name="9"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(type="group", name=""), ErrorCode.INVALID_REQUEST),
        (ConfigResource(type="nonsense", name="g"), ErrorCode.INVALID_REQUEST),
    ],
    ids=["topic", "broker", "group", "nonsense"],
)
def test_what_is_not_there_has_no_configs(resource: ConfigResource, code: ErrorCode):
    described = admin(a_cluster()).describe_configs([resource])[resource]
    assert (described.result.code, described.entries) == (code, {})


def test_describing_needs_describe_configs():
    cluster = a_guarded_cluster(
        Compat.KRAFT,
        topic_grant(Operation.DESCRIBE_CONFIGS, principal="User:a"),
        topic_grant(Operation.ALTER_CONFIGS, principal="User:implied"),
        cluster_grant(Operation.DESCRIBE_CONFIGS, principal="User:c"),
    )

    def answers(principal: str) -> list[ErrorCode]:
        described = admin(cluster, principal).describe_configs([ORDERS, BROKER_1])
        return [described[ORDERS].result.code, described[BROKER_1].result.code]

    topic_denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    cluster_denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answers("User:a") == [ErrorCode.NONE, cluster_denied]
    assert answers("User:implied") == [ErrorCode.NONE, cluster_denied]
    assert answers("User:c") == [topic_denied, ErrorCode.NONE]
