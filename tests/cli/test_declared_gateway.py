"""A project that says of its cluster that clients come through a gateway: what its plans say."""

import json
import re

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, document, topic

from kgitops.model.registry import Json

LOWERED = "embedded:.kgitops/local.db?virtual.clusters=lowered"
GATEWAY = {"bootstrapServers": "kafka.example.com:9092"}
TRANSLATED = {"L-TRANSPARENCY", "L-GROUP", "L-TXN", "L-LIST"}
HOST = "acl/User:audit/Allow/Read/topic/literal/orders@10.0.0.1"


def scoped(kind: str, name: str, **spec: Json) -> Document:
    made = document(kind, name, **spec)
    made["metadata"]["virtualCluster"] = "emea.sales"
    return made


DOCUMENTS = (
    topic("orders"),
    document(
        "VirtualCluster",
        "emea.sales",
        members={"users": ["jane"], "groups": ["etl"], "transactionalIds": ["tx"]},
    ),
    scoped("TopicLink", "Orders", target={"physicalTopic": "orders"}),
    document(
        "Acl",
        "audit",
        principal="User:audit",
        permission="Allow",
        operations=["Read"],
        resource={"type": "topic", "name": "orders"},
        host="10.0.0.1",
    ),
)


@pytest.fixture
def behind(project: Project) -> Project:
    """Its cluster is as a Kafka of today, and has a gateway."""
    return with_gateway(project.write(*DOCUMENTS))


def with_gateway(project: Project) -> Project:
    return project.write_file(cluster={"url": LOWERED, "gateway": GATEWAY})


def grades(project: Project, kgitops: Kgitops) -> dict[str, set[str | None]]:
    ran = kgitops("plan", project.folder, "--format", "json")
    assert ran.code == 0, ran.said
    found: dict[str, set[str | None]] = {}
    for line in json.loads(ran.out)["lowering"]:
        found.setdefault(line["code"], set()).add(line["grade"])
    return found


def test_names_are_exact_and_addresses_are_not(behind: Project, kgitops: Kgitops) -> None:
    found = grades(behind, kgitops)
    assert {code: found[code] for code in TRANSLATED} == {code: {"EXACT"} for code in TRANSLATED}
    assert (found["L-GATEWAY"], found["L-GATEWAY-HOST"]) == ({None}, {"NONE"})
    plain = behind.write_file(cluster={"url": LOWERED})
    found = grades(plain, kgitops)
    assert found["L-TRANSPARENCY"] == {"CLIENT"}
    assert not [code for code in found if code.startswith("L-GATEWAY")]


def test_people_read_it_in_text_and_on_the_page(behind: Project, kgitops: Kgitops) -> None:
    """No client is said to need other names."""
    text = kgitops("plan", behind.folder, "--full").said
    page = " ".join(
        re.sub("<[^>]+>", " ", kgitops("plan", behind.folder, "--format", "html").out).split()
    )
    for shown in (text, page):
        assert "the gateway translates link names" in shown
        assert "brokers compare its host with the gateway" in shown
        assert "kafka.example.com:9092" in shown
        assert "clients to configure" not in shown.lower()
        assert "namespace cut-over" in shown.lower()
    assert "L-TRANSPARENCY (EXACT)" in text


def test_a_threshold_that_clients_failed_holds_behind_a_gateway(
    behind: Project, kgitops: Kgitops
) -> None:
    """``--fail-on`` reads the grades; NONE is still there, for what nobody translates."""
    plan = kgitops("plan", behind.folder, "--fail-on", "CLIENT")
    assert plan.code == 3
    assert "L-TRANSPARENCY" not in plan.said.partition("STOPS")[2]


def test_a_plan_of_a_cluster_without_virtual_clusters_tells_it_too(
    behind: Project, kgitops: Kgitops
) -> None:
    """As long as nobody declares any; no request is lowered."""
    with_gateway(behind.write(topic("orders")))
    assert grades(behind, kgitops) == {"L-GATEWAY": {None}}
    plan = json.loads(kgitops("plan", behind.folder, "--format", "json").out)
    assert not [r for change in plan["changes"] for r in change["requests"] if r.get("physical")]


def test_a_command_plans_for_the_gateway_as_well(
    behind: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(behind.folder)
    ran = kgitops("vc", "create", "--virtual-cluster", "lab", "--dry-run")
    assert ran.code == 0, ran.said
    assert (
        "the gateway translates link names"
        in kgitops("vc", "create", "--virtual-cluster", "lab", "--dry-run").said
    )


def test_an_embedded_cluster_has_no_gateway(project: Project, kgitops: Kgitops) -> None:
    """Found where it is written, before anything is planned."""
    project.write(topic("orders")).write_file(cluster={"gateway": GATEWAY})
    ran = kgitops("plan", project.folder)
    assert ran.code == 1
    assert "kgitops.yaml:" in ran.said
    assert "its clients need no gateway" in ran.said
    assert not project.store.exists()
