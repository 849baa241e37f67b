"""The follower on a real Kafka: applies of a project, changes of it, and brokers that die."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, kgitops
from cli.projects import Document, document
from cluster_contract.tenant_requests import add, all_done, make
from kafka.protocol.metadata import MetadataRequest
from kafka_clusters import StartKafka
from real_kafka.conftest import KafkaProject, here, project
from real_kafka.golden_documents import scoped, virtual_cluster

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.adapter import boot
from kgitops.cluster.kafka.protocol_values import uuid_from_text
from kgitops.cluster.port import Cluster
from kgitops.gateway.naming.kafka_source import KafkaSource
from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.naming.registry_watcher import RegistryWatcher
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.requests import CreateAclRequest
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.sandbox.sandbox import Sandbox
from kgitops.virtual_clusters.image import build_image
from kgitops.virtual_clusters.resolution import bind
from kgitops.workflow.project.clusters import ChosenCluster

__all__ = ["here", "kgitops", "project"]

RIGHTS = Path(__file__).parents[3] / "docs" / "reference" / "rights.md"
SALES, ANALYTICS = "emea.sales", "analytics"
JANE, ANA = "User:jane", "User:ana"
OF_JANE, OF_ANA = {"principal": JANE}, {"principal": ANA}
OWN = scoped("Topic", SALES, "Orders", partitions=2, replicationFactor=2, deletionPolicy="Delete")
SHARED = document("Topic", "shared.stream", partitions=1, replicationFactor=2)
OTHER = document("Topic", "other.stream", partitions=1, replicationFactor=2)


def link(name: str, topic: str, of: str = SALES) -> Document:
    return scoped("TopicLink", of, name, target={"physicalTopic": topic})


OF_ANALYTICS = (link("stream", "shared.stream", ANALYTICS),)


def clusters(sales: tuple[Document, ...], analytics: tuple[Document, ...]) -> tuple[Document, ...]:
    return (
        virtual_cluster(SALES, *sales, clientIds=["etl"]),
        virtual_cluster(ANALYTICS, *analytics),
    )


def chosen(kafka: Sandbox, login: Mapping[str, str] | None = None) -> ChosenCluster:
    configs = {**kafka.configs, **(login or {})}
    return ChosenCluster(name="kafka", url=f"kafka://{kafka.servers}", base=Path(), configs=configs)


class Follower(RegistryWatcher):
    """One that reads when it is asked to."""

    def __init__(self, cluster: ChosenCluster) -> None:
        self.told: list[str] = []
        super().__init__(lambda: KafkaSource(cluster), interval_s=1e6, tell=self.told.append)


@pytest.fixture
def follower(kafka: Sandbox) -> Iterator[Follower]:
    followed = Follower(chosen(kafka))
    yield followed
    followed.close()


def applied(project: KafkaProject, kgitops: Kgitops, *documents: Document) -> None:
    project.write(SHARED, OTHER, *documents)
    ran = kgitops("apply", "payments", "--auto-approve")
    assert ran.code == 0, ran.said


def agrees(follower: RegistryWatcher, kafka: Sandbox) -> None:
    """With what brokers say about topics, and with the rules of virtual clusters."""
    with opened(kafka) as cluster:
        state = cluster.read_state()
    image = build_image(state.virtual_clusters.values())
    tables = follower.tables
    assert set(tables.by_virtual_cluster) == set(state.virtual_clusters)
    for principal, client_id in ((JANE, None), (ANA, None), ("User:x", "etl"), ("User:x", None)):
        binding, table = bind(image, principal, client_id), tables.bind(principal, client_id)
        assert (table and table.virtual_cluster) == (binding and binding.virtual_cluster.name)
    for name, found in state.virtual_clusters.items():
        table = tables.by_virtual_cluster[name]
        assert names(table) == {local: made.topic for local, made in found.links.items()}
        for topic_id, topic in table.topic_ids.items():
            on_brokers = state.topics[topic.decode()].topic_id
            assert on_brokers is not None
            assert uuid_from_text(on_brokers).bytes == topic_id


def opened(kafka: Sandbox):
    from contextlib import closing

    return closing(connect(f"kafka://{kafka.servers}", configs=kafka.configs, base=Path()))


def names(table: NameTable) -> dict[str, str]:
    return {local.decode(): topic.decode() for local, topic in table.links.items()}


def test_every_change_of_a_project_shows_and_nothing_else_changes(
    kafka: Sandbox, project: KafkaProject, kgitops: Kgitops, follower: Follower
) -> None:
    """A link renamed, led elsewhere, taken away; a member moved; each is one new version or more,
    and the other virtual cluster's names are the same object all along."""
    before_the_move = clusters((OF_JANE,), (OF_ANA,))
    applied(project, kgitops, *before_the_move, OWN, link("in", "shared.stream"), *OF_ANALYTICS)
    follower.start()
    agrees(follower, kafka)
    first = follower.tables
    orders = names(first.by_virtual_cluster[SALES])["Orders"]
    assert orders.endswith(".Orders")
    untouched = first.by_virtual_cluster[ANALYTICS]

    steps = {
        "renamed": (link("input", "shared.stream"), {"input": "shared.stream"}),
        "led elsewhere": (link("input", "other.stream"), {"input": "other.stream"}),
        "two names of one": (link("input", "shared.stream"), {"input": "shared.stream"}),
        "taken away": (None, {}),
    }
    versions = [first.version]
    for changed, expected in steps.values():
        links = (changed,) if changed else ()
        applied(project, kgitops, *before_the_move, OWN, *links, *OF_ANALYTICS)
        follower.read_again()
        agrees(follower, kafka)
        tables = follower.tables
        assert names(tables.by_virtual_cluster[SALES]) == {"Orders": orders, **expected}
        assert tables.by_virtual_cluster[ANALYTICS] is untouched
        versions.append(tables.version)
    assert versions == sorted(set(versions))
    assert names(first.by_virtual_cluster[SALES]) == {"Orders": orders, "in": "shared.stream"}

    own = follower.tables.by_virtual_cluster[SALES]
    applied(
        project, kgitops, *clusters((), (OF_ANA, {**OF_JANE, "move": True})), OWN, *OF_ANALYTICS
    )
    follower.read_again()
    agrees(follower, kafka)
    assert follower.tables.version > versions[-1]
    assert follower.tables.bind(JANE, None) is untouched
    assert follower.tables.by_virtual_cluster[SALES] is own
    assert follower.now.error is None

    before = follower.tables
    follower.read_again()
    assert follower.tables is before


def test_a_registry_on_a_dead_broker_is_read_from_the_next_leader(
    kafka: Sandbox, project: KafkaProject, kgitops: Kgitops, follower: Follower
) -> None:
    """The connection is not the follower's last one."""
    applied(project, kgitops, *clusters((OF_JANE,), ()), link("in", "shared.stream"))
    follower.start()
    kafka.kill(leader(kafka))
    applied(project, kgitops, *clusters((OF_JANE,), ()), link("out", "shared.stream"))
    for _ in range(20):
        follower.read_again()
        if follower.now.error is None:
            break
    assert follower.now.error is None
    assert names(follower.tables.by_virtual_cluster[SALES]) == {"out": "shared.stream"}


def leader(kafka: Sandbox) -> int:
    cluster = boot(kafka.servers, kafka.configs, Path())
    try:
        asked = MetadataRequest.MetadataRequestTopic(name=REGISTRY_TOPIC, topic_id=None)
        answer = cluster.wire.send(MetadataRequest(topics=[asked]))
        return int(answer.topics[0].partitions[0].leader_id)
    finally:
        cluster.close()


def test_without_a_registry_it_does_not_start(
    kafka: Sandbox, kafka_cluster: Cluster, follower: Follower
) -> None:
    """On a cluster that kgitops never touched."""
    with pytest.raises(SafetyError, match="has no registry __kgitops"):
        follower.start()


@pytest.fixture(scope="module")
def alone(own_kafka: StartKafka) -> Sandbox:
    """One broker with logins, where who has no ACL may do nothing, and a virtual cluster."""
    properties = {"allow.everyone.if.no.acl.found": "false"}
    users = {"admin": "admin-secret", "gateway": "gateway-secret"}
    started = own_kafka(brokers=1, sasl=True, users=users, properties=properties)
    with opened(started) as cluster:
        all_done(cluster, make(SALES), add(SALES, EntityType.USER, JANE))
    return started


def test_two_rights_on_one_topic_are_enough(alone: Sandbox) -> None:
    """Those that docs/reference/rights.md has; what lacks is named."""
    login = {"sasl.username": "gateway", "sasl.password": "gateway-secret"}
    cluster = chosen(alone, login)
    both = "let User:gateway read .* grant it Read on __kgitops and DescribeConfigs on __kgitops, "
    with pytest.raises(UnreachableError, match=both):
        Follower(cluster).start()
    _, _, section = RIGHTS.read_text().partition("## For a gateway")
    (listed,) = re.findall(r"\| ([\w, ]+) on `__kgitops` \|", section.partition("\n## ")[0])
    with opened(alone) as admin:
        for operation in map(Operation, listed.split(", ")):
            (result,) = admin.execute(
                [CreateAclRequest(binding=right(operation))],
                validate_only=False,
                principal="User:admin",
            )
            assert result.ok, result
    with closing(Follower(cluster)) as follower:
        assert follower.start().bind(JANE, None) is not None
        follower.read_again()
        assert follower.now.error is None


def right(operation: Operation) -> AclBinding:
    return AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=REGISTRY_TOPIC,
        pattern_type=PatternType.LITERAL,
        principal="User:gateway",
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


def test_while_every_broker_is_down_the_last_names_go_on(alone: Sandbox) -> None:
    """With one broker, which comes back."""
    with closing(Follower(chosen(alone))) as follower:
        tables = follower.start()
        alone.kill(1)
        follower.read_again()
        assert follower.now.error is not None
        assert follower.tables is tables
        assert len(follower.told) == 1
        alone.start_broker(1)
        follower.read_again()
        assert follower.now.error is None
        assert follower.tables is tables
        assert len(follower.told) == 2
