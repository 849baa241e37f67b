"""A virtual cluster's whole life by the command line, with clients that really write and read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project
from cluster_contract.contract import creation, done, send
from kafka_java_tools import acls

from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.model.requests import DeleteTopicRequest
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.sandbox.sandbox import Sandbox

VIRTUAL_CLUSTER, TOPIC, OTHER = "tenants.a", "shop.orders", "shop.other"
USERS = {name: f"{name}-secret" for name in ("admin", "writer", "reader")}
_PATIENCE_S = 30


@pytest.fixture(scope="module")
def secured(own_kafka) -> Sandbox:
    """One broker; who has no ACL may do nothing."""
    properties = {"allow.everyone.if.no.acl.found": "false"}
    return own_kafka(sasl=True, users=USERS, properties=properties)


@pytest.fixture(scope="module")
def brokers(secured: Sandbox) -> Iterator[KafkaCluster]:
    """Two topics that were there before."""
    cluster = boot(secured.servers, secured.configs, Path())
    for name in (TOPIC, OTHER):
        done(cluster, creation(name, ((1,),)), lambda state, name=name: name in state.topics)
    yield cluster
    cluster.close()


def configs(secured: Sandbox, user: str) -> dict[str, str]:
    login = {"sasl.username": user, "sasl.password": USERS[user]}
    return {"bootstrap.servers": secured.servers, **secured.configs, **login}


def write(secured: Sandbox, topic: str, transactional_id: str) -> str | None:
    """One record in a transaction of the writer's; the name of what refuses it, None: nothing."""
    from confluent_kafka import KafkaException, Producer

    producer = Producer({**configs(secured, "writer"), "transactional.id": transactional_id})
    delivered: list[str | None] = []
    try:
        producer.init_transactions(_PATIENCE_S)
        producer.begin_transaction()
        producer.produce(
            topic, b"one", callback=lambda error, _: delivered.append(error and error.name())
        )
        producer.flush(_PATIENCE_S)
        if delivered == [None]:
            producer.commit_transaction(_PATIENCE_S)
    except KafkaException as error:
        return str(error.args[0].name())
    (answer,) = delivered
    return answer


def read(secured: Sandbox, topic: str, group: str) -> str | None:
    """The first record that the reader gets, or the name of what refuses it; None: neither."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {**configs(secured, "reader"), "group.id": group, "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(_PATIENCE_S)
        if message is None:
            return None
        error = message.error()
        value = message.value()
        return str(error.name()) if error else (value or b"").decode()
    finally:
        consumer.close()


def test_a_whole_life(
    secured: Sandbox,
    brokers: KafkaCluster,
    here: Path,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """VC-377, VC-048, VC-082, VC-089, VC-111, VC-120: the clients use the physical names."""
    del here
    monkeypatch.setenv("LIFE_PASSWORD", USERS["admin"])
    reached = {**secured.configs, "sasl.password": "${env:LIFE_PASSWORD}"}
    cluster = {"url": f"kafka://{secured.servers}", "configs": reached}
    Path("manifests").mkdir()
    Project(Path(), "life").write_file(clusters={"kafka": cluster})

    def run(*words: str) -> str:
        ran = kgitops(*words, "-c", "kafka")
        assert ran.code == 0, (words, ran.said, ran.out)
        return ran.out

    def alter(*words: str) -> None:
        run("vc", "alter", "--virtual-cluster", VIRTUAL_CLUSTER, *words)

    group = physical_id(VIRTUAL_CLUSTER, "readers")
    transaction = physical_id(VIRTUAL_CLUSTER, "tx")
    run("vc", "create", "--virtual-cluster", VIRTUAL_CLUSTER)
    alter("--add", "--topic", TOPIC, "--link", "orders")
    alter("--add", "--group", "readers")
    alter("--add", "--transactional-id", "tx")
    alter("--add", "--client", "app")
    inside = ("--virtual-cluster", VIRTUAL_CLUSTER)
    producing = ("--operation", "Write", "--allow-principal", "User:writer")
    consuming = ("--operation", "Read", "--allow-principal", "User:reader")
    rules = (
        (*inside, "--topic", "orders", *producing),
        (*inside, "--transactional-id", "tx", *producing),
        (*inside, "--topic", "orders", *consuming),
        (*inside, "--group", "readers", *consuming),
    )
    for rule in rules:
        run("acls", "--add", *rule)
    assert acls(secured) == set()
    assert write(secured, TOPIC, transaction) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    for user in ("writer", "reader"):
        alter("--add", "--user", user)
    assert len(acls(secured)) == 4

    assert write(secured, TOPIC, transaction) is None
    assert read(secured, TOPIC, group) == "one"
    assert write(secured, TOPIC, "tx") == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    assert write(secured, OTHER, transaction) == "TOPIC_AUTHORIZATION_FAILED"
    assert write(secured, "orders", transaction) == "TOPIC_AUTHORIZATION_FAILED"
    assert read(secured, TOPIC, "readers") == "GROUP_AUTHORIZATION_FAILED"
    assert read(secured, OTHER, group) == "TOPIC_AUTHORIZATION_FAILED"

    refused = kgitops("vc", "delete", *inside, "-c", "kafka")
    assert refused.code != 0
    for user in ("writer", "reader"):
        alter("--remove", "--user", user)
    assert acls(secured) == set()
    assert write(secured, TOPIC, transaction) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    for rule in rules:
        run("acls", "--remove", *rule)
    alter("--remove", "--link", "orders")
    alter("--remove", "--group", "readers")
    alter("--remove", "--transactional-id", "tx")
    alter("--remove", "--client", "app")
    run("vc", "delete", *inside)
    assert run("vc", "list").strip() == ""
    state = brokers.read_state()
    assert state.registry is not None
    assert state.registry.virtual_clusters == {}
    topic = state.topics[TOPIC]
    assert send(brokers, DeleteTopicRequest(topic=TOPIC, topic_id=topic.topic_id or "")).ok
