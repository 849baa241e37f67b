"""The builders with which users test their policies."""

import pytest

from kgitops.model.cluster_state import Broker
from kgitops.model.placement import PlacementError
from kgitops.policy import (
    AclBinding,
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClusterState,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    PolicyViolation,
    Principal,
    VirtualClusterState,
)
from kgitops.policy.testing import (
    acl,
    alter_broker,
    alter_client_quota,
    alter_topic,
    cluster,
    create_acl,
    create_topic,
    delete_acl,
    delete_records,
    delete_topic,
    entity,
    topic,
    violation,
)


class AtMostTwo(BaseTopicPolicy):
    """At most two partitions."""

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        if request.requested_state.num_partitions > 2:
            raise PolicyViolation(f"{cluster_state.cluster_size()} brokers", field="partitions")


def test_a_violation_is_what_the_policy_raised() -> None:
    refused = violation(AtMostTwo(), create_topic("orders", 3))
    assert refused is not None
    assert (refused.message, refused.field) == ("3 brokers", "partitions")
    assert violation(AtMostTwo(), create_topic("orders", 2)) is None
    assert (
        violation(AtMostTwo(), create_topic("orders", 3), cluster(brokers=5)).message == "5 brokers"
    )  # type: ignore[union-attr]


def test_a_test_of_what_a_policy_never_sees_fails() -> None:
    with pytest.raises(TypeError, match="AtMostTwo is not a BrokerManagementPolicy"):
        violation(AtMostTwo(), alter_broker(1, {"a": "1"}))
    request = CreateVirtualClusterRequest(
        virtual_cluster="emea",
        principal=Principal("User", "a"),
        requested_state=VirtualClusterState(name="emea"),
    )
    with pytest.raises(TypeError, match="never sees CreateVirtualCluster"):
        violation(AtMostTwo(), request)


def test_a_policy_that_returns_an_answer_is_found_out() -> None:
    """As plans and brokers do it: to return False refuses nothing, and is a mistake."""

    class Returns(BaseTopicPolicy):
        def validate_delete_topic(self, request: object, cluster_state: ClusterState) -> bool:  # type: ignore[override]
            return False

    with pytest.raises(TypeError, match="it returned bool"):
        violation(Returns(), delete_topic("orders"))


def test_counts_and_lists_make_the_same_topic() -> None:
    counted = topic("orders", 2, 3)
    listed = topic("orders", assignments={1: [4, 5], 0: [1, 2, 3]})
    assert (counted.num_partitions, counted.replication_factor) == (2, 3)
    assert listed.assignment == ((1, 2, 3), (4, 5))
    assert topic("big", replication_factor=5).replication_factor == 5


def test_replicas_stand_on_the_brokers_of_the_cluster() -> None:
    view = cluster(topic("orders", 6, 3))
    state = view.topic_state("orders")
    assert state is not None
    ids = {broker.id for broker in view.brokers()}
    assert {id_ for replicas in state.assignment for id_ in replicas} == ids == {1, 2, 3}


def test_partitions_are_added_and_never_taken() -> None:
    orders = topic("orders", 2)
    both = alter_topic(orders, partitions=3, replication_factor=2, configs={"a": "1"})
    assert (both.requested_state.num_partitions, both.requested_state.replication_factor) == (3, 2)
    with pytest.raises(PlacementError, match="can't be reduced"):
        alter_topic(orders, partitions=1)


def test_who_asks_can_be_said() -> None:
    principal = "User:sales"
    orders, binding = topic("orders"), acl()
    requests = [
        create_topic("a", principal=principal),
        alter_topic(orders, partitions=2, principal=principal),
        delete_topic("a", principal=principal),
        delete_records("a", {0: 1}, principal=principal),
        create_acl(binding, principal=principal),
        delete_acl(binding, principal=principal),
        alter_client_quota(entity(user="a"), {}, principal=principal),
        alter_broker(1, {}, principal=principal),
    ]
    assert {request.principal for request in requests} == {Principal("User", "sales")}


def test_a_cluster_holds_what_it_is_given() -> None:
    app = entity(user="app", client_id=None)
    binding = acl("User:app", "Write", host="10.0.0.1", permission="Deny", pattern="prefixed")
    view = cluster(
        topic("orders", 4),
        brokers=[Broker(id=7, rack="a")],
        acls=[binding],
        quotas={app: {"consumer_byte_rate": 5.0}},
        broker_configs={"node.id": "7"},
        broker_defaults={"retention.ms": "1"},
    )
    assert view.topics() == {"orders"}
    assert view.partitions("or") == 4
    assert view.brokers()[0].rack == "a"
    assert view.acls() == {binding}
    assert dict(view.quotas(app)) == {"consumer_byte_rate": 5.0}
    assert app == (("user", "app"), ("client-id", None))
    assert dict(view.broker_state().configs) == {"node.id": "7"}
    assert view.default_configs()["retention.ms"] == "1"
    assert isinstance(binding, AclBinding)
    assert (binding.permission_type, binding.pattern_type) == ("Deny", "prefixed")


def test_quotas_and_brokers_are_merged_with_what_was_before() -> None:
    quota = alter_client_quota(entity(ip=None), {"a": None, "b": 2.0}, before={"a": 1.0, "c": 3.0})
    broker = alter_broker(2, {"a": None, "b": "2"}, before={"a": "1", "c": "3"})
    assert isinstance(quota, AlterClientQuotaRequest)
    assert isinstance(broker, AlterBrokerRequest)
    assert dict(quota.requested_state.quotas) == {"b": 2.0, "c": 3.0}
    assert dict(quota.requested_state.requested_quotas) == {"a": None, "b": 2.0}
    assert dict(broker.requested_state.configs) == {"b": "2", "c": "3"}
    assert dict(broker.requested_state.requested_configs) == {"a": None, "b": "2"}
    assert (quota.entity, broker.broker_id) == ((("ip", None),), 2)


def test_a_broker_policy_is_tested_alike() -> None:
    class NoChange(BrokerManagementPolicy):
        def validate_alter_broker(
            self, request: AlterBrokerRequest, cluster_state: ClusterState
        ) -> None:
            raise PolicyViolation(f"broker {request.broker_id} stays as it is")

    refused = violation(NoChange(), alter_broker(3, {"a": "1"}))
    assert refused is not None
    assert refused.message == "broker 3 stays as it is"


def test_an_altered_topic_is_read_only() -> None:
    request: AlterTopicRequest = alter_topic(topic("orders"), configs={"a": "1"})
    with pytest.raises(TypeError):
        request.requested_state.configs["a"] = "2"  # type: ignore[index]
