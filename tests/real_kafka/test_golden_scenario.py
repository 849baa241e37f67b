"""The worked scenario (§24) by ``kafka://`` and the command line, as Kafka's own tools see it.

On a real Kafka, and on a served embedded cluster that is to be no other.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import projects
from cli.conftest import Kgitops
from cli.projects import Document, as_yaml
from cluster.kafka.committing import commit
from cluster_contract.contract import creation, done, send
from kafka_java_tools import Acl, acls, quotas, topics
from real_kafka.golden_documents import ANALYTICS, COMMITS, SALES, STREAM
from real_kafka.served_kafka import ServedKafka, served_kafka

from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.model.registry import Json
from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import generated_parts
from kgitops.sandbox.sandbox import Sandbox

APP, ANA = "User:sales-app", "User:ana-reader"
OFFSETS = {(STREAM, partition): 0 for partition in range(12)}
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("test_golden_scenario")]


@pytest.fixture(scope="module", params=["real", "served"])
def secured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox | ServedKafka]:
    """Three brokers that let nobody do anything without an ACL."""
    if request.param == "served":
        with served_kafka(tmp_path_factory.mktemp("served")) as served:
            yield served
        return
    properties = {"allow.everyone.if.no.acl.found": "false"}
    start = request.getfixturevalue("own_kafka")
    yield start(brokers=3, sasl=True, properties=properties)


@pytest.fixture(scope="module")
def brokers(secured: Sandbox | ServedKafka) -> Iterator[KafkaCluster]:
    """What there is before (§24.1): a topic, a group, three ACLs that nobody manages, a quota."""
    cluster = boot(secured.servers, secured.configs, Path())
    places = tuple(tuple((p + i) % 3 + 1 for i in range(3)) for p in range(12))
    done(cluster, creation(STREAM, places), lambda state: STREAM in state.topics)
    commit({"bootstrap.servers": secured.servers, **secured.configs}, "sales-etl", OFFSETS)
    for binding in GLOBAL:
        assert send(cluster, CreateAclRequest(binding=binding)).ok
    quota = {"producer_byte_rate": 5242880.0}
    entity = (("user", "sales-app"),)
    assert send(cluster, AlterClientQuotaRequest(entity=entity, quotas=quota)).ok
    yield cluster
    cluster.close()


def _allow(kind: ResourceType, name: str, pattern: PatternType, operation: Operation) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=APP,
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


PREFIX = "emea.eu.sales."
GLOBAL = (
    _allow(ResourceType.TOPIC, PREFIX, PatternType.PREFIXED, Operation.READ),
    _allow(ResourceType.TOPIC, PREFIX, PatternType.PREFIXED, Operation.WRITE),
    _allow(ResourceType.GROUP, "sales-etl", PatternType.LITERAL, Operation.READ),
)


def seen(kind: str, name: str, principal: str, operation: str, pattern: str = "LITERAL") -> Acl:
    return Acl(kind, name, pattern, principal, "*", operation, "ALLOW")


OLD = {
    seen("TOPIC", PREFIX, APP, "READ", "PREFIXED"),
    seen("TOPIC", PREFIX, APP, "WRITE", "PREFIXED"),
    seen("GROUP", "sales-etl", APP, "READ"),
}


def of_sales(orders: str) -> set[Acl]:
    return {
        seen("GROUP", f"{SALES}:sales-etl", APP, "READ"),
        seen("TOPIC", orders, APP, "READ"),
        seen("TOPIC", orders, APP, "WRITE"),
        seen("TOPIC", STREAM, APP, "READ"),
        seen("TOPIC", STREAM, APP, "WRITE"),
        seen("TRANSACTIONAL_ID", f"{SALES}:sales-", APP, "WRITE", "PREFIXED"),
    }


def of_analytics(reports: str, orders: str) -> set[Acl]:
    return {
        seen("GROUP", f"{ANALYTICS}:rpt-", ANA, "READ", "PREFIXED"),
        seen("TOPIC", reports, ANA, "WRITE"),
        seen("TOPIC", orders, ANA, "READ"),
    }


class Project:
    """A project on the secured cluster, whose folder is the current one."""

    def __init__(self, secured: Sandbox | ServedKafka, kgitops: Kgitops) -> None:
        self._kgitops = kgitops
        cluster: Json = {"url": f"kafka://{secured.servers}", "configs": dict(secured.configs)}
        cluster["configs"]["sasl.password"] = "${env:GOLDEN_PASSWORD}"
        Path("manifests").mkdir()
        projects.Project(Path(), "golden").write_file(clusters={"kafka": cluster})

    def plan(self, documents: tuple[Document, ...]) -> Json:
        Path("manifests/all.yaml").write_text(as_yaml(documents))
        Path("plan.json").unlink(missing_ok=True)
        planned = self._kgitops("plan", "-o", "plan.json", "--allow-deletes", "Acl=99")
        assert planned.code == 0, planned.said + planned.out
        return json.loads(Path("plan.json").read_text())

    def apply(self, documents: tuple[Document, ...]) -> Json:
        """The plan that was applied; a second one is empty."""
        plan = self.plan(documents)
        applied = self._kgitops("apply", "plan.json")
        assert applied.code == 0, applied.said + applied.out
        again = self.plan(documents)
        assert (again["changes"], again["drift"]) == ([], [])
        return plan


def test_four_commits(
    secured: Sandbox | ServedKafka,
    brokers: KafkaCluster,
    here: Path,
    kgitops: Kgitops,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """VC-111, 114, 120, 161 to 164, 168, 175, 197, 218, 220, 221, 224, 326: §24.3 to §24.8."""
    del here
    monkeypatch.setenv("GOLDEN_PASSWORD", secured.configs["sasl.password"])
    project = Project(secured, kgitops)
    first = project.apply(COMMITS[0])
    logical = [change for change in first["changes"] if change["actions"] != ["adopt"]]
    assert len(logical) == 26
    names = {parts[1]: name for name in topics(secured) if (parts := generated_parts(name))}
    assert names.keys() == {"Reports", "Orders"}
    orders, reports = names["Orders"], names["Reports"]
    assert topics(secured).keys() == {STREAM, orders, reports}
    sales, analytics = of_sales(orders), of_analytics(reports, orders)
    assert len(sales | analytics) == 9
    assert acls(secured) == OLD | sales | analytics
    mine = {"producer_byte_rate": 10485760.0, "consumer_byte_rate": 52428800.0}
    assert quotas(secured) == {
        (("user", "sales-app"),): mine,
        (("user", "ana-reader"),): {"consumer_byte_rate": 10485760.0},
    }
    group = f"{SALES}:sales-etl"
    assert brokers.read_group_offsets(frozenset({group})) == {group: OFFSETS}
    described = secured.tool(GROUPS, "--describe", "--group", group)
    rows = [line.split() for line in described.splitlines() if STREAM in line]
    assert {(row[1], row[2], row[3]) for row in rows} == {
        (STREAM, str(partition), "0") for partition in range(12)
    }
    assert counts(brokers) == {
        "vc": 2,
        "link": 5,
        "user": 2,
        "group": 1,
        "vcacl": 12,
        "acl": 9,
        "vcquota": 4,
        "quota": 3,
        "quota-shadow": 1,
    }

    assert len(project.apply(COMMITS[1])["changes"]) == 3
    assert acls(secured) == sales | analytics

    assert len(project.apply(COMMITS[2])["changes"]) == 3
    assert acls(secured) == sales | analytics
    assert STREAM in topics(secured)

    last = project.apply(COMMITS[3])
    assert len(last["changes"]) == 9
    assert acls(secured) == sales
    assert quotas(secured) == {(("user", "sales-app"),): mine}
    assert topics(secured).keys() == {STREAM, orders}
    assert counts(brokers) == {
        "vc": 1,
        "link": 2,
        "user": 1,
        "group": 1,
        "vcacl": 7,
        "acl": 6,
        "vcquota": 3,
        "quota": 2,
        "quota-shadow": 1,
    }


def counts(brokers: KafkaCluster) -> dict[str, int]:
    """The registry's records of virtual clusters, by kind; none is on its way."""
    registry = brokers.read_state().registry
    assert registry is not None
    found: dict[str, int] = {}
    for key, value in registry.virtual_clusters.items():
        assert value.get("status") in (None, "ACTIVE"), key
        kind = key.partition("/")[0]
        found[kind] = found.get(kind, 0) + 1
    return found
