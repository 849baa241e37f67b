"""The lowered cluster: its additions to the physical one, and the requests it passes through."""

from pathlib import Path

import pytest
from cluster.lowered.interrupted import DyingCluster
from cluster_contract.contract import alteration, binding, created, creation, send
from cluster_contract.tenant_requests import (
    GROUP,
    TOPIC,
    USER,
    acl_in,
    add,
    all_done,
    creation_in,
    linked,
    make,
)

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import Validator, VirtualClusterSupport
from kgitops.model.errors import SafetyError
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import LocalName, generated_parts
from kgitops.model.results import ErrorCode, RequestResult


@pytest.fixture
def brokers() -> Cluster:
    """Embedded brokers without virtual clusters."""
    return connect("embedded:?brokers=3&virtual.clusters=0", base=Path())


def test_it_says_that_it_stands_in(brokers: Cluster) -> None:
    """VC-351: kgitops itself checks the requests that no broker can."""
    assert brokers.capabilities.virtual_clusters is VirtualClusterSupport.NONE
    capabilities = LoweredCluster(brokers).capabilities
    assert capabilities.virtual_clusters is VirtualClusterSupport.LOWERED
    assert capabilities.validation["CreateVirtualCluster"] is Validator.CLIENT
    assert capabilities.validation["CreateTopic"] is Validator.BROKER
    assert not brokers.capabilities.supports("AlterVirtualCluster")


@pytest.mark.kafka
def test_without_virtual_clusters_it_costs_nothing(kafka_cluster: KafkaCluster) -> None:
    """VC-004: exactly the same requests on the wire as without it."""
    topic = created(kafka_cluster, "orders")
    requests: tuple[req.Request, ...] = (
        creation("new"),
        alteration(topic, req.AlterStep.CONFIGS, configs={"retention.ms": "1"}),
        req.CreateAclRequest(binding=binding()),
        req.AlterClientQuotaRequest(entity=(("user", "x"),), quotas={"producer_byte_rate": 1.0}),
    )

    def counted(cluster: Cluster) -> dict[str, int]:
        cluster.read_state()
        kafka_cluster.wire.sent.clear()
        cluster.read_state()
        cluster.read_state(frozenset({"orders"}))
        for request in requests:
            send(cluster, request)
        send(cluster, requests[-1], validate_only=True)
        return dict(kafka_cluster.wire.sent)

    kafka_cluster.registry.append([("lock/a", {"schema_version": 1})])
    first = counted(kafka_cluster)
    assert first["CreateTopics"] == first["CreateAcls"] == 1
    assert counted(LoweredCluster(kafka_cluster)) == first


def test_what_fails_on_brokers_fails_and_the_rest_is_done(brokers: Cluster) -> None:
    """VC-402: the same message; a later try continues; nothing old is removed meanwhile."""
    cluster = LoweredCluster(brokers)
    all_done(cluster, make("a"))
    bad = creation_in("a", "Bad", ((9,),))
    results = cluster.execute(
        [bad, creation_in("a", "Good")], validate_only=False, principal="User:a"
    )
    assert [result.code for result in results] == [
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NONE,
    ]
    state = cluster.read_state()
    assert [*state.virtual_clusters["a"].links] == ["Good"]
    assert state.lowered is not None
    assert [*state.lowered.pending] == [LocalName("a", "Bad")]
    all_done(cluster, creation_in("a", "Bad"))
    link = cluster.read_state().virtual_clusters["a"].links["Bad"]
    assert link.topic == state.lowered.pending[LocalName("a", "Bad")]


class Refusing(DyingCluster):
    """A fake that refuses to create ACLs, for fault injection only."""

    def execute(self, requests, *, validate_only, principal, until_ms=None):  # type: ignore[no-untyped-def]
        if isinstance(requests[0], req.CreateAclRequest):
            no = RequestResult(code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            return [no for _ in requests]
        return self.real.execute(
            requests, validate_only=validate_only, principal=principal, until_ms=until_ms
        )


def test_the_old_way_stays_where_the_new_one_fails(brokers: Cluster) -> None:
    """VC-028, VC-402: redirecting a link moves the rights too, or changes nothing."""
    cluster = LoweredCluster(brokers)
    for name in ("old", "new"):
        created(cluster, name)
    right = acl_in("a", ResourceType.TOPIC, "x", Operation.READ)
    all_done(
        cluster,
        make("a"),
        add("a", TOPIC, "x", topic="old"),
        req.CreateAclRequest(binding=right),
        add("a", USER, right.principal),
    )
    (before,) = brokers.read_state().acls
    elsewhere = add("a", TOPIC, "x", topic="new", replaces="old")
    refusing = LoweredCluster(Refusing(brokers, 99))  # type: ignore[arg-type]
    assert send(refusing, elsewhere).code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert before in brokers.read_state().acls
    assert cluster.read_state().virtual_clusters["a"].links["x"].topic == "old"
    all_done(cluster, elsewhere)
    (after,) = brokers.read_state().acls
    assert (before.resource_name, after.resource_name) == ("old", "new")


def test_a_topic_that_was_made_anew_is_not_the_linked_one(brokers: Cluster) -> None:
    """VC-047: a topic re-created under the same name is noticed."""
    cluster = LoweredCluster(brokers)
    first = created(cluster, "orders")
    all_done(cluster, make("a"), add("a", TOPIC, "orders", topic="orders"))
    gone = req.DeleteTopicRequest(topic="orders", topic_id=first.topic_id or "")
    assert send(brokers, gone).ok  # by someone who knows no links (L-LINK-GUARD)
    assert send(brokers, creation("orders")).ok
    again = add("a", TOPIC, "orders", topic="orders")
    result = send(cluster, again)
    assert (result.code, "TOPIC_REPLACED" in str(result)) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        True,
    )
    state = cluster.read_state()
    assert state.virtual_clusters["a"].links["orders"].topic_id == first.topic_id
    assert state.topics["orders"].topic_id != first.topic_id


def test_a_record_that_nobody_can_read_stops_everything(brokers: Cluster) -> None:
    """VC-326: nothing is sent, to brokers or to the registry."""
    cluster = LoweredCluster(brokers)
    all_done(cluster, make("a"))
    brokers.registry.append([("vcs/strange/x", {"schema_version": 1})])
    before = brokers.registry.read()
    for ask in (cluster.read_state, lambda: send(cluster, creation_in("a", "Orders"))):
        with pytest.raises(SafetyError, match="vcs/strange/x"):
            ask()
    assert brokers.registry.read() == before
    brokers.registry.append([("vcs/strange/x", None)])
    assert brokers.read_state().topics == {}


def test_the_name_of_a_dry_run_is_thrown_away(brokers: Cluster) -> None:
    """VC-064: the topic is created under another uuid."""
    uuids = iter(["00000000-0000-4000-8000-000000000000", "11111111-1111-4111-8111-111111111111"])
    cluster = LoweredCluster(brokers, lambda: next(uuids))
    all_done(cluster, make("a"))
    judged = send(cluster, creation_in("a", "Orders"), validate_only=True)
    assert (judged.ok, judged.topic_id) == (True, None)
    parts = generated_parts(linked(cluster, "a", "Orders").topic)
    assert parts == ("11111111-1111-4111-8111-111111111111", "Orders")


def test_group_requests_reach_brokers_by_the_physical_id(brokers: Cluster) -> None:
    """VC-111: and only for a virtual cluster that exists."""
    cluster = LoweredCluster(brokers)
    created(cluster, "orders")
    copying = req.CopyGroupOffsetsRequest(virtual_cluster="a", group="etl", source="old")
    assert send(cluster, copying).code is ErrorCode.RESOURCE_NOT_FOUND
    all_done(cluster, make("a"), add("a", GROUP, "etl", adopts="old"))
    brokers.commit("old", {("orders", 0): 0})  # type: ignore[attr-defined]
    all_done(cluster, copying)
    groups = frozenset({"a:etl"})
    assert cluster.read_group_offsets(groups) == {"a:etl": {("orders", 0): 0}}
    all_done(cluster, req.DeleteGroupRequest(virtual_cluster="a", group="etl"))
    assert cluster.read_group_offsets(groups) == {}
