"""The configs of topics, and of brokers, as callers in a virtual cluster ask for them."""

import pytest
from cluster.clusters import BOTH, a_grant, codes, topic_grant
from cluster.embedded.bound.tenancies import (
    HR,
    PHYSICAL,
    SALES,
    SHARED,
    connect,
    on_cluster,
    root,
    scoped,
    two_tenants,
)

from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import CLUSTER_NAME, Operation
from kgitops.model.results import ErrorCode

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
CHANGE = [AlterConfig(key="retention.ms", value="1000")]


def topic(name: str) -> ConfigResource:
    """A topic, by whatever name."""
    return ConfigResource(type="topic", name=name)


BROKER = ConfigResource(type="broker", name="1")


@pytest.mark.parametrize("compat", BOTH)
def test_altering_is_for_everyone_who_shares(compat: Compat):
    """VC-035, VC-249."""
    cluster = two_tenants(compat=compat)
    result = connect(cluster).incremental_alter_configs(
        [(topic("prices"), CHANGE), (topic(SHARED), CHANGE), (topic("never"), CHANGE)]
    )
    assert codes(result) == {
        topic("prices"): ErrorCode.NONE,
        topic(SHARED): UNKNOWN,
        topic("never"): UNKNOWN,
    }
    assert cluster.read_state().topics[SHARED].configs == {"retention.ms": "1000"}
    [there] = connect(cluster, "User:b").describe_configs([topic("prices")]).values()
    assert there.entries["retention.ms"].value == "1000"


def test_replacing_configs():
    """VC-249: the old AlterConfigs too."""
    cluster = two_tenants()
    a = connect(cluster)
    assert a.alter_configs({topic("orders"): {"retention.ms": "5"}})[topic("orders")].ok
    result = a.alter_configs({topic("orders"): {"segment.ms": "7"}, topic("never"): {}})
    assert codes(result) == {topic("orders"): ErrorCode.NONE, topic("never"): UNKNOWN}
    assert cluster.read_state().topics[PHYSICAL[SALES]].configs == {"segment.ms": "7"}


def test_a_refusal_has_local_words():
    """VC-249."""
    cluster = two_tenants()
    wrong = [AlterConfig(key="retention.ms", value="x")]
    twice = [(topic("prices"), CHANGE), (topic("prices"), CHANGE)]
    [result] = connect(cluster).incremental_alter_configs([(topic("orders"), wrong)]).values()
    assert result.code is ErrorCode.INVALID_CONFIG
    assert PHYSICAL[SALES] not in (result.message or "")
    assert codes(connect(cluster).incremental_alter_configs(twice)) == {
        topic("prices"): ErrorCode.INVALID_REQUEST
    }


@pytest.mark.parametrize(
    ("binding", "allowed"),
    [
        (scoped(topic_grant(Operation.ALTER_CONFIGS)), True),
        (on_cluster(Operation.ALTER_CONFIGS), True),
        (on_cluster(Operation.CLUSTER_ACTION), True),
        (topic_grant(Operation.ALTER_CONFIGS, PHYSICAL[SALES]), True),
        (on_cluster(Operation.ALTER_CONFIGS, HR), False),
        (on_cluster(Operation.ALTER), False),
        (topic_grant(Operation.ALTER_CONFIGS), False),
    ],
    ids=["link", "alter-configs", "cluster-action", "physical", "another", "alter", "global-name"],
)
def test_who_may_alter_a_topic(binding, allowed: bool):
    """VC-154, VC-155: by the link, or as an administrator."""
    cluster = two_tenants(binding, members_may=False)
    [result] = connect(cluster).incremental_alter_configs([(topic("orders"), CHANGE)]).values()
    assert result.code is (ErrorCode.NONE if allowed else DENIED)
    [result] = connect(cluster).alter_configs({topic("orders"): {}}).values()
    assert result.code is (ErrorCode.NONE if allowed else DENIED)


@pytest.mark.parametrize("operation", [Operation.ALTER_CONFIGS, Operation.ALL])
def test_brokers_are_not_an_administrators_of_a_virtual_cluster(operation: Operation):
    """VC-154, VC-106."""
    change = [(BROKER, [AlterConfig(key="num.io.threads", value="9")])]
    cluster = two_tenants(on_cluster(operation), on_cluster(operation, "*"))
    [result] = connect(cluster).incremental_alter_configs(change).values()
    assert result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    [described] = connect(cluster).describe_configs([BROKER]).values()
    assert described.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    globally = two_tenants(on_cluster(operation, CLUSTER_NAME))
    [result] = connect(globally).incremental_alter_configs(change).values()
    assert result.ok


def test_describing():
    """VC-160b, VC-249, VC-150."""
    cluster = two_tenants(
        scoped(a_grant(Operation.DESCRIBE_CONFIGS, name="prices")), members_may=False
    )
    root(cluster).alter_configs({topic(SHARED): {"segment.ms": "7"}})
    described = connect(cluster).describe_configs([topic("prices"), topic("orders"), topic("no")])
    assert {r.name: d.result.code for r, d in described.items()} == {
        "prices": ErrorCode.NONE,
        "orders": DENIED,
        "no": DENIED,
    }
    assert described[topic("prices")].entries["segment.ms"].value == "7"
    administered = two_tenants(on_cluster(Operation.DESCRIBE_CONFIGS), members_may=False)
    described = connect(administered).describe_configs([topic("orders"), topic("no")])
    assert [item.result.code for item in described.values()] == [ErrorCode.NONE, UNKNOWN]
