"""Plans of dynamic configs of brokers."""

import pytest
from builders import (
    a_cluster,
    a_desired,
    a_topic,
    an_owner,
    change_of,
    only_change,
    plan_of,
    some_broker_configs,
    some_configs,
)

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredBrokerConfig
from kgitops.model.requests import AlterConfigResourceRequest
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.plan.document import risks
from kgitops.plan.document.losses import losses
from kgitops.plan.document.plan import Action, Change
from kgitops.plan.document.risks import Risk

ELR = "min.insync.replicas"


def cluster(*owned: DesiredBrokerConfig, **configs: str) -> ClusterState:
    """A cluster whose brokers all have these configs."""
    given = {key.replace("_", "."): value for key, value in configs.items()}
    held = [some_configs(ConfigResourceType.BROKER, ALL_BROKERS, given)] if given else []
    return a_cluster(*held, owners={declared.address: an_owner(declared) for declared in owned})


def requested(change: Change) -> dict[str, str | None]:
    (planned,) = change.requests
    assert isinstance(planned.request, AlterConfigResourceRequest)
    assert planned.request.resource_type is ConfigResourceType.BROKER
    return dict(planned.request.configs)


def test_new_configs() -> None:
    change = only_change(plan_of(a_desired(some_broker_configs()), cluster()))
    assert (change.address, change.actions) == ("broker-config/<default>", (Action.CREATE,))
    assert requested(change) == {"num.io.threads": "12"}
    assert change.risk is risks.BROKER_CONFIG_SET


def test_those_of_one_broker_are_asked_of_that_broker() -> None:
    change = only_change(plan_of(a_desired(some_broker_configs("1")), cluster()))
    assert change.address == "broker-config/1"
    (planned,) = change.requests
    assert isinstance(planned.request, AlterConfigResourceRequest)
    assert planned.request.resource_name == "1"


def test_a_broker_that_the_cluster_lacks_is_a_finding() -> None:
    plan = plan_of(a_desired(some_broker_configs("99")), cluster())
    assert not plan.changes
    (finding,) = plan.findings
    assert finding.problem == "the cluster has no broker 99, only 1, 2, 3"
    assert finding.advice.endswith("--exclude broker-config/99 plans the other documents")


@pytest.mark.parametrize(
    ("key", "before", "after", "risk"),
    [
        ("log_retention_ms", "2000", "1000", risks.BROKER_CONFIG_DATA),
        ("log_retention_ms", "1000", "2000", risks.BROKER_CONFIG_SET),
        ("log_retention_ms", None, "2000", risks.BROKER_CONFIG_DATA),
        ("log_cleanup_policy", "compact", "compact,delete", risks.BROKER_CONFIG_DATA),
        ("unclean_leader_election_enable", "false", "true", risks.BROKER_CONFIG_DATA),
        ("unclean_leader_election_enable", "true", "false", risks.BROKER_CONFIG_SET),
        ("message_max_bytes", "2000", "1000", risks.BROKER_CONFIG_SET),
    ],
)
def test_records_are_at_stake_where_a_topic_would_lose_them(
    key: str, before: str | None, after: str, risk: Risk
) -> None:
    state = cluster(**({key: before} if before else {}))
    plan = plan_of(a_desired(some_broker_configs(**{key: after})), state)
    assert only_change(plan).fields[0].risk is risk
    lost = "records of topics with default configs may be lost: <default>"
    assert losses(plan, str) == (lost if risk is risks.BROKER_CONFIG_DATA else "")


@pytest.mark.parametrize(
    ("key", "held", "risk"),
    [
        ("log_cleanup_policy", "compact", risks.BROKER_CONFIG_DATA),
        ("log_retention_ms", "1000", risks.BROKER_CONFIG_DATA),
        ("num_io_threads", "12", risks.BROKER_CONFIG_REMOVE),
    ],
)
def test_what_brokers_fall_back_to_may_keep_less(key: str, held: str, risk: Risk) -> None:
    before = some_broker_configs(**{key: held})
    plan = plan_of(a_desired(a_topic("else")), cluster(before, **{key: held}))
    change = change_of(plan, before)
    assert (change.fields[0].risk, change.risk) == (risk, risk)
    assert ("may be lost" in losses(plan, str)) is (risk is risks.BROKER_CONFIG_DATA)


def test_a_key_that_leaves_the_document_is_removed_and_others_stay() -> None:
    before = some_broker_configs(num_io_threads="9", background_threads="5")
    state = cluster(before, num_io_threads="9", background_threads="5", message_max_bytes="7")
    plan = plan_of(a_desired(some_broker_configs(num_io_threads="9")), state)
    assert requested(only_change(plan)) == {"background.threads": None}
    assert [(row.path, row.rule) for row in plan.drift] == [
        ("configs.message.max.bytes", "undeclared")
    ]


@pytest.mark.parametrize(
    ("key", "value", "drifted"),
    [
        ("leader.replication.throttled.rate", "1000", False),
        (ELR, "1", False),
        (ELR, "2", True),
    ],
)
def test_what_kafka_sets_itself_is_no_drift(key: str, value: str, drifted: bool) -> None:
    """A fresh Kafka has min.insync.replicas as a config of all brokers (KIP-966)."""
    declared = some_broker_configs()
    held = {**declared.configs, key: value}
    owners = {declared.address: an_owner(declared)}
    found = some_configs(ConfigResourceType.BROKER, ALL_BROKERS, held)
    plan = plan_of(a_desired(declared), a_cluster(found, owners=owners))
    assert plan.changes == ()
    assert bool(plan.drift) is drifted


def test_removing_the_document_removes_what_it_set() -> None:
    before = some_broker_configs()
    state = cluster(before, num_io_threads="12", message_max_bytes="7")
    change = change_of(plan_of(a_desired(a_topic("else")), state), before)
    assert change.actions == (Action.DELETE,)
    assert requested(change) == {"num.io.threads": None}


def test_an_orphan_is_forgotten() -> None:
    before = some_broker_configs(deletion_policy=DeletionPolicy.ORPHAN)
    change = change_of(
        plan_of(a_desired(a_topic("else")), cluster(before, num_io_threads="12")), before
    )
    assert (change.actions, change.requests) == ((Action.FORGET,), ())
