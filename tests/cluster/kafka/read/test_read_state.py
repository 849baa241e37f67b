"""Reading a real cluster, beside what Kafka's own tools say of it."""

import gc
import math
from collections.abc import Callable

import kafka_java_tools as java
import pytest
from cluster_contract.contract import alteration, await_state, created, creation, done, send
from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from patience import eventually

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.read.state import read_state
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

CONFIGS = "kafka.admin.ConfigCommand"
KINDS = {
    ResourceType.TOPIC: ("orders", Operation.DESCRIBE_CONFIGS),
    ResourceType.GROUP: ("billing", Operation.DELETE),
    ResourceType.CLUSTER: ("kafka-cluster", Operation.IDEMPOTENT_WRITE),
    ResourceType.TRANSACTIONAL_ID: ("tx", Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: ("token", Operation.DESCRIBE),
    ResourceType.USER: ("User:alice", Operation.CREATE_TOKENS),
}
BINDINGS = [
    AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )
    for kind, (name, operation) in KINDS.items()
    for pattern in PatternType
    if kind is not ResourceType.CLUSTER or pattern is PatternType.LITERAL
    for principal, host, permission in (
        ("User:CN=app, O=Ä", "*", PermissionType.ALLOW),
        ("User:*", "fe80::1", PermissionType.DENY),
    )
]
QUOTAS = {
    make_entity({"user": "alice"}): {"consumer_byte_rate": 1024.0, "request_percentage": 12.5},
    make_entity({"user": None}): {"controller_mutation_rate": 1e9},
    make_entity({"client-id": "app"}): {"producer_byte_rate": 2.0**53},
    make_entity({"client-id": None}): {"request_percentage": 1e6},
    make_entity({"user": "alice", "client-id": None}): {"producer_byte_rate": 5.0},
    make_entity({"user": None, "client-id": "app"}): {"consumer_byte_rate": 7.0},
    make_entity({"ip": "10.0.0.1"}): {"connection_creation_rate": 3.0},
    make_entity({"ip": None}): {"connection_creation_rate": 1e9},
}


@pytest.fixture
def wire(kafka_cluster: KafkaCluster) -> Wire:
    kafka_cluster.wire.sent.clear()
    return kafka_cluster.wire


def test_what_is_read_is_what_kafkas_tools_show(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """Topics with ids, replica lists and own configs; every kind of ACL and of quota entity."""
    created(kafka_cluster, "orders", retention_ms="86400000", cleanup_policy="compact,delete")
    created(kafka_cluster, "plain")
    assert all(send(kafka_cluster, req.CreateAclRequest(binding=item)).ok for item in BINDINGS)
    for entity, quotas in QUOTAS.items():
        assert send(kafka_cluster, req.AlterClientQuotaRequest(entity=entity, quotas=quotas)).ok
    state = await_state(
        kafka_cluster,
        lambda state: len(state.acls) == len(BINDINGS) and len(state.quotas) == len(QUOTAS),
    )
    assert {
        name: java.Topic(topic.topic_id or "", topic.assignment, topic.configs)
        for name, topic in state.topics.items()
    } == java.topics(kafka)
    assert state.acls == frozenset(BINDINGS)
    assert {tuple(map(spelt, acl_parts(acl))) for acl in state.acls} == {
        tuple(map(spelt, (a.resource, a.name, a.pattern, a.principal, a.operation, a.permission)))
        for a in java.acls(kafka)
    }
    found = {entity: quota.quotas for entity, quota in state.quotas.items()}
    assert found == QUOTAS == java.quotas(kafka)
    assert state.has_authorizer
    assert state.not_checked == ()


def acl_parts(acl: AclBinding) -> tuple[str, ...]:
    return (
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.operation,
        acl.permission_type,
    )


def spelt(word: str) -> str:
    """Kafka's ``DESCRIBE_CONFIGS`` and ours, ``DescribeConfigs``, alike."""
    return word.replace("_", "").lower()


def test_what_brokers_give_to_topics_is_read_once(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """P201-18: topics show their own configs only; ELR's min.insync.replicas=1 is nobody's."""
    created(kafka_cluster, "orders", retention_ms="1")
    state = kafka_cluster.read_state()
    assert state.topics["orders"].configs == {"retention.ms": "1"}
    before = state.broker_defaults
    assert "min.insync.replicas" not in before
    kafka.tool(
        CONFIGS,
        *("--entity-type", "brokers", "--entity-default", "--alter"),
        *("--add-config", "min.insync.replicas=2,log.retention.ms=5000"),
    )
    changed = {**before, "min.insync.replicas": "2", "retention.ms": "5000"}
    state = await_state(kafka_cluster, lambda state: state.broker_defaults == changed)
    assert state.topics["orders"].configs == {"retention.ms": "1"}


def test_a_brokers_own_throttle_is_read(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """Of the broker itself: not what all brokers are set to.

    A broker that is just applying them may answer with values from before for a moment.
    """
    kafka.tool(
        CONFIGS,
        *("--entity-type", "brokers", "--entity-default", "--alter"),
        *("--add-config", f"{LEADER_RATE}=3000000"),
    )
    wanted = {LEADER_RATE: "1000000", FOLLOWER_RATE: "2000000"}
    assert send(kafka_cluster, req.AlterBrokerRequest(broker=2, configs=wanted)).ok
    state = await_state(kafka_cluster, lambda state: state.brokers[1].throttles == wanted)
    assert [broker.throttles for broker in state.brokers] == [{}, wanted, {}]


def test_a_reassignment_that_runs_shows_its_target(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """P201-16, and which partitions move; Kafka's own listing has old and new replicas."""
    request = creation("orders", ((1, 2), (2, 3)))
    topic = done(kafka_cluster, request, lambda state: "orders" in state.topics).topics["orders"]
    fill(kafka, "orders", 0, megabytes=2)
    everything = {LEADER_REPLICAS: "*", FOLLOWER_REPLICAS: "*"}
    assert send(kafka_cluster, alteration(topic, req.AlterStep.CONFIGS, configs=everything)).ok
    for broker in kafka.broker_ids:
        slow = req.AlterBrokerRequest(broker=broker, configs={LEADER_RATE: "1", FOLLOWER_RATE: "1"})
        assert send(kafka_cluster, slow).ok
    await_state(kafka_cluster, lambda state: all(broker.throttles for broker in state.brokers))
    moved = ((3, 1), (2, 3))
    assert send(kafka_cluster, alteration(topic, req.AlterStep.REPLICAS, assignment=moved)).ok
    state = await_state(kafka_cluster, lambda state: state.topics["orders"].reassigning)
    assert state.topics["orders"].assignment == moved
    assert state.moving == {"orders": (0,)}
    assert kafka_cluster.read_state(frozenset({"orders"})).topics == state.topics
    kafka_cluster.cancel_moves({"orders": [0]})
    state = await_state(kafka_cluster, lambda state: not state.topics["orders"].reassigning)
    assert state.topics["orders"].assignment == topic.assignment
    assert state.moving == {}


def fill(kafka: Sandbox, topic: str, partition: int, *, megabytes: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.servers})
    for _ in range(megabytes * 4):
        producer.produce(topic, bytes(1 << 18), partition=partition)
    assert producer.flush(30) == 0


def test_what_brokers_keep_for_themselves_is_left_out(
    kafka: Sandbox, kafka_cluster: KafkaCluster, wire: Wire
):
    """P201-20: also when it is asked for by name."""
    created(kafka_cluster, "orders")
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["billing"]))
    kafka_cluster.registry.append([("lock/a", {"schema_version": 1})])
    eventually(
        lambda: {*kafka.tool(java.TOPICS, "--list").split()},
        lambda topics: {"__consumer_offsets", "__kgitops"} <= topics,
        what="the internal topics are there",
    )
    state = kafka_cluster.read_state()
    assert [*state.topics] == ["orders"]
    assert not any(is_internal(name) for name in state.topics)
    assert state.registry is not None
    assert kafka_cluster.read_state(frozenset({"__kgitops", "orders"})).topics == state.topics


def test_few_requests_are_sent_however_many_topics(kafka_cluster: KafkaCluster, wire: Wire):
    """N/100 + 12 + 4 a broker for a whole plan: the reading of the state takes far less."""
    count = 450
    topic = CreateTopicsRequest.CreatableTopic
    wire.send(
        CreateTopicsRequest(
            topics=[
                topic(
                    name=f"t{number:04}",
                    num_partitions=1,
                    replication_factor=1,
                    assignments=[],
                    configs=[topic.CreatableTopicConfig(name="retention.ms", value=str(number))],
                )
                for number in range(count)
            ],
            timeout_ms=30_000,
            validate_only=False,
        )
    )
    await_state(kafka_cluster, lambda state: len(state.topics) == count)
    wire.sent.clear()
    assert gc.isenabled()
    state = kafka_cluster.read_state()
    assert gc.isenabled()
    assert {int(topic.configs["retention.ms"]) for topic in state.topics.values()} == {
        *range(count)
    }
    assert wire.sent["DescribeConfigs"] <= max(math.ceil(count / 100), 3) + 1  # the registry's
    assert wire.sent.total() <= math.ceil(count / 100) + 10
    wire.sent.clear()
    names = frozenset({"t0007", "none"})
    assert [*kafka_cluster.read_state(names).topics] == ["t0007"]
    assert wire.sent.total() <= 12


class Meddling:
    """A fake for fault injection: something happens between two requests of one reading."""

    def __init__(self, wire: Wire, happens: Callable[[], object], times: int = 1) -> None:
        self.send_all, self.reach, self.give_up = wire.send_all, wire.reach, wire.give_up
        self.check_cluster = wire.check_cluster
        self._wire = wire
        self._happens = happens
        self._times = times

    def send(self, request: Message) -> Message:
        if request.name == "ListPartitionReassignmentsRequest" and self._times:
            self._times -= 1
            self._happens()
        return self._wire.send(request)


def test_a_topic_that_is_made_anew_meanwhile_has_its_own_configs(
    kafka_cluster: KafkaCluster, wire: Wire
):
    """The id of the one with the configs of the other would be a lie."""
    old = created(kafka_cluster, "orders", retention_ms="1")

    def make_anew() -> None:
        delete(wire, "orders")
        await_state(kafka_cluster, lambda state: "orders" not in state.topics)
        created(kafka_cluster, "orders", retention_ms="2")

    meddled: Message = Meddling(wire, make_anew)
    topic = read_state(meddled, kafka_cluster.registry).topics["orders"]
    assert topic == kafka_cluster.read_state().topics["orders"]
    assert (topic.configs, topic.topic_id == old.topic_id) == ({"retention.ms": "2"}, False)


def test_a_topic_that_goes_meanwhile_is_left_out(kafka_cluster: KafkaCluster, wire: Wire):
    created(kafka_cluster, "going")
    stays = created(kafka_cluster, "stays", retention_ms="1")

    def remove() -> None:
        delete(wire, "going")
        await_state(kafka_cluster, lambda state: "going" not in state.topics)

    meddled: Message = Meddling(wire, remove)
    assert read_state(meddled, kafka_cluster.registry).topics == {"stays": stays}


def test_a_cluster_that_never_rests_is_not_read(kafka_cluster: KafkaCluster, wire: Wire):
    created(kafka_cluster, "orders")

    def make_anew() -> None:
        delete(wire, "orders")
        await_state(kafka_cluster, lambda state: "orders" not in state.topics)
        created(kafka_cluster, "orders")

    meddled: Message = Meddling(wire, make_anew, times=100)
    with pytest.raises(UnreachableError, match="faster than they can be read"):
        read_state(meddled, kafka_cluster.registry)


def delete(wire: Wire, name: str) -> None:
    topic = DeleteTopicsRequest.DeleteTopicState
    wire.send(DeleteTopicsRequest(topics=[topic(name=name, topic_id=None)], timeout_ms=30_000))


def test_a_dead_broker_is_told_and_its_share_read_elsewhere(
    kafka: Sandbox, kafka_cluster: KafkaCluster
):
    topics = {name: created(kafka_cluster, name, retention_ms="7") for name in ("a", "b")}
    kafka.kill(3)
    try:

        def read() -> ClusterState:
            state = kafka_cluster.read_state()
            assert state.topics == topics
            return state

        state = eventually(read, lambda state: state.brokers[-1].fenced, what="broker 3 is fenced")
    finally:
        kafka.start_broker(3)
    assert [(broker.id, broker.fenced) for broker in state.brokers] == [
        (1, False),
        (2, False),
        (3, True),
    ]
    assert state.topics == topics
    assert state.brokers[-1].throttles is None
