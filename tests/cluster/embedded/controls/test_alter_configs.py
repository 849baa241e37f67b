"""IncrementalAlterConfigs and the old AlterConfigs (A4-74…79)."""

import pytest
from cluster.clusters import (
    BOTH,
    ROOT,
    a_cluster,
    a_cluster_with,
    a_guarded_cluster,
    a_new_topic,
    admin,
    cluster_grant,
    codes,
    topic_grant,
)

from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigOp, ConfigResource
from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import AclBinding, Operation
from kgitops.model.results import ErrorCode

ORDERS = ConfigResource(type="topic", name="orders")
BROKER_1 = ConfigResource(type="broker", name="1")
ALL_BROKERS = ConfigResource(type="broker", name="")
SET, DELETE, APPEND, SUBTRACT = ConfigOp


def orders_with(**configs: str):
    cluster = a_cluster()
    assert admin(cluster).create_topics([a_new_topic("orders", **configs)])["orders"].ok
    return cluster


def altered(cluster, *operations: tuple[ConfigOp, str, str | None]) -> ErrorCode:
    alterations = [AlterConfig(key=key, value=value, op=op) for op, key, value in operations]
    return admin(cluster).incremental_alter_configs([(ORDERS, alterations)])[ORDERS].code


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ((SET, "retention.ms", "5"), {"cleanup.policy": "delete", "retention.ms": "5"}),
        ((DELETE, "cleanup.policy", None), {}),
        ((APPEND, "cleanup.policy", "compact"), {"cleanup.policy": "delete,compact"}),
        ((APPEND, "cleanup.policy", "delete"), {"cleanup.policy": "delete"}),
        ((SUBTRACT, "cleanup.policy", "delete"), {"cleanup.policy": ""}),
        ((SUBTRACT, "cleanup.policy", "compact"), {"cleanup.policy": "delete"}),
    ],
    ids=lambda item: str(item[0]) if isinstance(item, tuple) else None,
)
def test_each_operation(operation, after):
    """A4-74."""
    cluster = orders_with(cleanup_policy="delete")
    assert altered(cluster, operation) is ErrorCode.NONE
    assert cluster.read_state().topics["orders"].configs == after


def test_append_begins_with_the_default():
    """A4-74."""
    cluster = orders_with()
    altered(cluster, (APPEND, "cleanup.policy", "compact"))
    assert cluster.read_state().topics["orders"].configs == {"cleanup.policy": "delete,compact"}


@pytest.mark.parametrize("op", [APPEND, SUBTRACT])
@pytest.mark.parametrize("key", ["retention.ms", "no.such.config"])
def test_only_lists_can_be_appended_to(op: ConfigOp, key: str):
    """A4-74."""
    assert altered(orders_with(), (op, key, "1")) is ErrorCode.INVALID_CONFIG


def test_a_resource_twice_is_refused():
    """A4-76."""
    cluster = a_cluster_with("orders")
    good = AlterConfig(key="retention.ms", value="1")
    results = admin(cluster).incremental_alter_configs([(ORDERS, [good]), (ORDERS, [good])])
    assert codes(results) == {ORDERS: ErrorCode.INVALID_REQUEST}
    assert cluster.read_state().topics["orders"].configs == {}


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([(SET, "retention.ms", "1"), (SET, "retention.ms", "1")], id="twice"),
        pytest.param([(SET, "retention.ms", "1"), (DELETE, "retention.ms", None)], id="two-ops"),
        pytest.param([(SET, "retention.ms", None)], id="set-null"),
        pytest.param([(APPEND, "cleanup.policy", None)], id="append-null"),
    ],
)
def test_malformed_operations_are_refused(operations):
    """A4-76, A4-76b: a key with two operations passes the wire's own schema."""
    assert altered(orders_with(), *operations) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "operation", [(DELETE, "retention.ms", None), (SET, "cleanup.policy", "compact")]
)
def test_what_is_so_already_writes_nothing(operation):
    """A4-77."""
    cluster = orders_with(cleanup_policy="compact")
    before = cluster.controller.image()
    assert altered(cluster, operation) is ErrorCode.NONE
    assert cluster.controller.image() is before


def test_a_key_that_is_not_known_any_more_can_still_be_removed():
    cluster = a_cluster(vendor_configs=True)
    admin(cluster).create_topics([a_new_topic("orders", acme_tier="1")])
    cluster.controller.options = a_cluster().controller.options
    assert altered(cluster, (DELETE, "acme.tier", None)) is ErrorCode.NONE
    assert cluster.read_state().topics["orders"].configs == {}


def test_the_old_call_forgets_what_is_not_listed():
    """A4-78."""
    cluster = orders_with(retention_ms="1", cleanup_policy="compact")
    results = admin(cluster).alter_configs({ORDERS: {"retention.ms": "2"}})
    assert codes(results) == {ORDERS: ErrorCode.NONE}
    assert cluster.read_state().topics["orders"].configs == {"retention.ms": "2"}


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("grants", "topic", "broker"),
    [
        ([], ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (
            [topic_grant(Operation.ALTER_CONFIGS)],
            ErrorCode.NONE,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ),
        (
            [cluster_grant(Operation.ALTER_CONFIGS)],
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ErrorCode.NONE,
        ),
        (
            [topic_grant(Operation.ALTER), cluster_grant(Operation.ALTER)],
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ),
    ],
    ids=["none", "on the topic", "on the cluster", "another right"],
)
def test_configs_need_alter_configs_on_what_they_are_of(
    compat: Compat, legacy: bool, grants: list[AclBinding], topic: ErrorCode, broker: ErrorCode
):
    """A4-79: for a topic on the topic, for a broker on the cluster, and no right does for both."""
    cluster = a_guarded_cluster(compat, *grants)
    keys = {ORDERS: "retention.ms", BROKER_1: "log.retention.ms"}
    for principal, expected in (
        ("User:a", {ORDERS: topic, BROKER_1: broker}),
        (ROOT, {ORDERS: ErrorCode.NONE, BROKER_1: ErrorCode.NONE}),
    ):
        asked = admin(cluster, principal)
        results = (
            asked.alter_configs({resource: {key: "1"} for resource, key in keys.items()})
            if legacy
            else asked.incremental_alter_configs(
                [(resource, [AlterConfig(key=key, value="1")]) for resource, key in keys.items()]
            )
        )
        assert codes(results) == expected


@pytest.mark.parametrize(
    ("resource", "key", "value", "code"),
    [
        (ConfigResource(type="topic", name="none"), "retention.ms", "1",
         ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ConfigResource(type="broker", name="9"), "log.retention.ms", "1",
         ErrorCode.INVALID_REQUEST),
        (ConfigResource(type="group", name=""), "consumer.session.timeout.ms", "50000",
         ErrorCode.INVALID_REQUEST),
        (ConfigResource(type="nonsense", name="g"), "a", "1", ErrorCode.INVALID_REQUEST),
        (BROKER_1, "log.retention.ms", "soon", ErrorCode.INVALID_CONFIG),
    ],
    ids=lambda item: item.name if isinstance(item, ErrorCode) else None,
)  # fmt: skip
def test_resources_that_are_not_there(resource, key: str, value: str, code: ErrorCode):
    """A4-74."""
    change = [(resource, [AlterConfig(key=key, value=value)])]
    assert codes(admin(a_cluster()).incremental_alter_configs(change)) == {resource: code}


def test_a_default_of_all_brokers_is_the_topics_default():
    """The planner sees it, and so does the check of configs that must agree."""
    cluster = a_cluster_with("orders")
    change = [(ALL_BROKERS, [AlterConfig(key="log.cleaner.min.compaction.lag.ms", value="10")])]
    assert admin(cluster).incremental_alter_configs(change)[ALL_BROKERS].ok
    assert cluster.read_state().broker_defaults == {"min.compaction.lag.ms": "10"}
    refused = altered(cluster, (SET, "max.compaction.lag.ms", "5"))
    assert refused is ErrorCode.INVALID_CONFIG
    assert altered(cluster, (SET, "max.compaction.lag.ms", "10")) is ErrorCode.NONE


def test_what_was_set_before_counts():
    """Tiered storage is only turned off together with a word on what is stored remotely."""
    cluster = orders_with(remote_storage_enable="true")
    off = (SET, "remote.storage.enable", "false")
    assert altered(cluster, off) is ErrorCode.INVALID_CONFIG
    assert altered(cluster, off, (SET, "remote.log.delete.on.disable", "true")) is ErrorCode.NONE
