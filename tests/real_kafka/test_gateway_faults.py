"""Clients of a gateway while links change, and while brokers and the gateway itself die."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, document
from kafka_clusters import StartKafka
from patience import eventually
from real_kafka.gateway_members import PATIENCE_S, GatewayProcess, Member, Writer, gateway, login
from real_kafka.golden_documents import acl, scoped, virtual_cluster
from real_kafka.test_golden_scenario import Project

from kgitops.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("test_gateway_faults")]

USERS = {"admin": "admin-secret", "app": "app-secret"}
GONE = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"}
OLD, NEW = "orders.v1", "orders.v2"


@pytest.fixture(scope="module")
def secured(own_kafka: StartKafka) -> Sandbox:
    """Three brokers that let nobody do a thing without an ACL."""
    properties = {"allow.everyone.if.no.acl.found": "false"}
    return own_kafka(brokers=3, sasl=True, users=USERS, properties=properties)


def declared(
    *, link: str = "Orders", topic: str = OLD, member_of: str = "shop"
) -> tuple[Document, ...]:
    """Two topics, two virtual clusters with a link to one of the topics each, and one user."""
    users = {
        name: [{"principal": "app", "move": True}] if name == member_of else []
        for name in ("shop", "lab")
    }
    return (
        *(document("Topic", name, partitions=1, replicationFactor=3) for name in (OLD, NEW)),
        *(virtual_cluster(name, *members) for name, members in users.items()),
        scoped("TopicLink", "shop", link, target={"physicalTopic": topic}),
        scoped("TopicLink", "lab", "Samples", target={"physicalTopic": NEW}),
        acl("shop", "app", ["Read", "Write"], "topic", "*"),
        acl("shop", "app", ["Read"], "group", "*"),
        acl("lab", "app", ["Read", "Write"], "topic", "*"),
    )


@pytest.fixture
def project(
    secured: Sandbox, here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """The project in the current folder, applied."""
    del here
    monkeypatch.setenv("GOLDEN_PASSWORD", secured.configs["sasl.password"])
    project = Project(secured, kgitops)
    project.apply(declared())
    return project


@pytest.fixture
def running(project: Project, here: Path) -> Iterator[GatewayProcess]:
    """A gateway before the project's cluster."""
    del project
    with gateway(here) as process:
        yield process


def values(secured: Sandbox, topic: str) -> list[int]:
    """All values in a topic, as an administrator reads them at the brokers."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    configs = {"bootstrap.servers": secured.servers, **secured.configs}
    consumer = Consumer({**configs, "group.id": "values", "enable.auto.commit": False})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_S)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[int] = []
    while len(found) < end:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert not message.error()
        found.append(int(message.value()))
    consumer.close()
    return found


def test_a_link_is_retargeted_and_renamed_under_load(
    secured: Sandbox, project: Project, running: GatewayProcess
) -> None:
    """Each record is in one topic or the other, in order, and none that is acknowledged is lost."""
    configs = login(running.servers, "app", USERS["app"])
    before = (len(values(secured, OLD)), len(values(secured, NEW)))
    with Writer(configs, "Orders") as writer:
        writer.goes_on()
        project.apply(declared(topic=NEW))

        def reached() -> int:
            writer.goes_on(10)
            return len(values(secured, NEW)) - before[1]

        eventually(reached, lambda records: records >= 50, what="50 reach the other topic")
        project.apply(declared(topic=NEW, link="Sales"))
        member = Member(running.servers, "app", USERS["app"])
        member.awaits({"Sales"})
        eventually(
            lambda: writer.refused,
            lambda refused: not refused.isdisjoint(GONE),
            what="the old name no longer works",
        )
        assert member.writes({"Sales": "-1"}) == []
    old, new = values(secured, OLD)[before[0] :], values(secured, NEW)[before[1] :]
    assert new.pop() == -1
    assert set(writer.acked) <= {*old, *new}
    assert not {*old} & {*new}
    assert max(old) < min(new)


def test_a_member_that_moves_is_in_its_new_virtual_cluster(
    project: Project, running: GatewayProcess
) -> None:
    """Its connections are closed: what it sees next are the other names alone."""
    member = Member(running.servers, "app", USERS["app"])
    with Writer(login(running.servers, "app", USERS["app"]), "Orders") as writer:
        writer.goes_on()
        project.apply(declared(member_of="lab"))
        member.awaits({"Samples"})
        eventually(
            lambda: writer.refused,
            lambda refused: not refused.isdisjoint(GONE),
            what="it no longer writes to its former virtual cluster",
        )
    assert member.writes({"Samples": "-2"}) == []


def test_brokers_and_gateways_die(
    secured: Sandbox, running: GatewayProcess, project: Project
) -> None:
    """Clients go on as they do without a gateway, and nothing acknowledged is lost."""
    del project
    configs = login(running.servers, "app", USERS["app"])
    before = len(values(secured, OLD))
    with Writer({**configs, "enable.idempotence": True}, "Orders") as writer:
        writer.goes_on()
        secured.kill(leader(secured, OLD))
        writer.goes_on()
        running.kill()
        running.start()
        writer.goes_on()
        for broker in secured.broker_ids:
            if broker not in secured.running:
                secured.start_broker(broker)
        secured.await_ready()
        writer.goes_on()
    found = values(secured, OLD)[before:]
    assert set(writer.acked) <= set(found)
    assert found == sorted(set(found)), "in order, and none twice"


def leader(secured: Sandbox, topic: str) -> int:
    """The broker that leads the topic's partition."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": secured.servers, **secured.configs})
    found = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions[0].leader
    assert isinstance(found, int)
    return found
