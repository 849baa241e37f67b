"""``kgitops vc export``: the names that a gateway translates by, as JSON."""

import json
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, document, topic
from jsonschema import Draft202012Validator

from kgitops.cluster.connect import connect
from kgitops.gateway.naming.names_document import (
    NamesDocument,
    TopicNames,
    VirtualClusterNames,
    names_schema,
)
from kgitops.lowering.binding_sheets import binding_sheets
from kgitops.model.registry import Json

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "gateway-names.md").read_text(encoding="utf-8")
LOWERED = "embedded:.kgitops/local.db?virtual.clusters=lowered"


def scoped(kind: str, name: str, **spec: Json) -> Document:
    made = document(kind, name, **spec)
    made["metadata"]["virtualCluster"] = "emea.sales"
    return made


@pytest.fixture
def applied(project: Project, kgitops: Kgitops) -> Project:
    """The virtual cluster that the page shows."""
    members = {"users": ["jane"], "clientIds": ["sales-batch"], "groups": ["etl"]}
    project.write(
        topic("emea.sales.stream"),
        document("VirtualCluster", "emea.sales", members=members),
        scoped("Topic", "Orders", partitions=3, replicationFactor=2),
        scoped("TopicLink", "stream", target={"physicalTopic": "emea.sales.stream"}),
    ).write_file(cluster={"url": LOWERED})
    ran = kgitops("apply", project.folder, "--auto-approve")
    assert ran.code == 0, ran.said
    return project


@pytest.fixture
def in_project(applied: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(applied.folder)
    return applied


def example() -> Json:
    _, _, rest = PAGE.partition("```json\n")
    return json.loads(rest.partition("```")[0])


def test_the_page_shows_what_is_written(in_project: Project, kgitops: Kgitops) -> None:
    """But for what a cluster makes up itself."""
    ran = kgitops("vc", "export", "--format", "gateway")
    assert ran.code == 0, ran.said
    found, shown = json.loads(ran.out), example()
    Draft202012Validator(names_schema()).validate(found)
    Draft202012Validator(names_schema()).validate(shown)
    assert ran.out == json.dumps(found, indent=2) + "\n"
    for each in (found, shown):
        each.pop("registry_offset")
        orders, stream = each["virtual_clusters"][0]["topics"]
        assert orders.pop("physical_name").endswith(".Orders")
        assert len({orders.pop("topic_id"), stream.pop("topic_id")}) == 2
    assert found == shown


def test_it_says_what_binding_sheets_say(in_project: Project, kgitops: Kgitops) -> None:
    """One names the topics for people, the other for a gateway."""
    (found,) = json.loads(kgitops("vc", "export").out)["virtual_clusters"]
    cluster = connect(LOWERED, brokers=3, base=in_project.folder)
    state = cluster.read_state()
    cluster.close()
    (sheet,) = binding_sheets(state)
    assert {each["name"]: each["physical_name"] for each in found["topics"]} == dict(sheet.topics)
    assert found["id_prefix"] == sheet.group_prefix
    assert {each["physical_name"]: each["topic_id"] for each in found["topics"]} == {
        name: state.topics[name].topic_id for name in sheet.topics.values()
    }


def test_it_goes_into_a_file(in_project: Project, kgitops: Kgitops) -> None:
    printed = kgitops("vc", "export").out
    ran = kgitops("vc", "export", "-o", "names.json")
    assert ran.code == 0, ran.said
    assert (in_project.folder / "names.json").read_text() == printed
    assert kgitops("vc", "export", "-o", "nowhere/names.json").code == 64


@pytest.mark.parametrize(
    ("cluster", "code", "sentence"),
    [
        ("embedded:", 64, "know virtual clusters themselves"),
        ("embedded:?virtual.clusters=0", 64, "know virtual clusters themselves, or not at all"),
        ("embedded:?virtual.clusters=lowered", 5, "has no registry __kgitops"),
    ],
)
def test_a_cluster_without_names_of_that_kind_is_refused(
    kgitops: Kgitops, cluster: str, code: int, sentence: str
) -> None:
    ran = kgitops("vc", "export", "-c", cluster)
    assert (ran.code, ran.out) == (code, "")
    assert sentence in ran.said


def test_a_registry_without_virtual_clusters_has_no_names(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway would bind nobody; that is told beside the file."""
    project.write(topic("orders")).write_file(cluster={"url": LOWERED})
    monkeypatch.chdir(project.folder)
    assert kgitops("apply", "--auto-approve").code == 0
    ran = kgitops("vc", "export")
    assert (ran.code, json.loads(ran.out)["virtual_clusters"]) == (0, [])
    assert "There are no virtual clusters" in ran.err


def test_a_format_that_nobody_knows_is_named(kgitops: Kgitops) -> None:
    ran = kgitops("vc", "export", "--format", "kong", "-c", LOWERED)
    assert ran.code == 64
    assert "gateway" in ran.said


@pytest.mark.parametrize("kind", [NamesDocument, VirtualClusterNames, TopicNames])
def test_the_page_has_each_key(kind: type) -> None:
    missing = [name for name in kind.__struct_fields__ if f"`{name}`" not in PAGE]  # type: ignore[attr-defined]
    assert missing == []
