"""`kgitops registry export|import`: a backup, and the way back after an upgrade."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, document, quota, tombstone, topic
from jsonschema import Draft202012Validator
from older_registry import make_version_1, versions

from kgitops.apply.journal.importing import _digest, export_schema
from kgitops.cli.main import main
from kgitops.cluster.port import Cluster
from kgitops.model.requests import CreateTopicRequest, DeleteTopicRequest
from kgitops.model.resources.topics import RequestedTopicState

ROOT = Path(__file__).parents[2]
DOCUMENTS = (topic("orders", deletionPolicy="Delete"), topic("audit"), acl(), quota())
LOWERED = "embedded:.kgitops/lowered.db?brokers=3&virtual.clusters=lowered"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was applied; only for copies."""
    project = Project(tmp_path_factory.mktemp("made") / "payments").write(*DOCUMENTS)
    assert main(["apply", str(project.folder), "--auto-approve"]) == 0
    return project.folder


@pytest.fixture
def applied(made: Path, project: Project) -> Project:
    shutil.copytree(made, project.folder)
    return project


@pytest.fixture
def saved(applied: Project, kgitops: Kgitops) -> Path:
    """An export of the registry."""
    file = applied.folder.parent / "registry.json"
    ran = kgitops("registry", "export", applied.folder, "-o", file)
    assert ran.code == 0, ran
    assert "Exported " in ran.err
    assert ran.out == ""
    return file


def topics(project: Project) -> set[str]:
    with closing(project.connect()) as cluster:
        return set(cluster.read_state().topics)


def creation_of(name: str) -> CreateTopicRequest:
    """Return the request with which another tool creates a topic."""
    state = RequestedTopicState(name=name, topic_id=None, assignment=((1,),), configs={})
    return CreateTopicRequest(topic=name, requested_state=state)


def recreate(cluster: Cluster, name: str) -> None:
    """Delete a topic and create it again with other tools."""
    state = cluster.read_state().topics[name]
    for request in (
        DeleteTopicRequest(topic=name, topic_id=state.topic_id or ""),
        creation_of(name),
    ):
        (result,) = cluster.execute([request], validate_only=False, principal="User:other")
        assert result.ok, result


def vc_list(kgitops: Kgitops, folder: Path) -> str:
    """List the virtual clusters."""
    return kgitops("vc", "list", "-c", f"embedded:{folder}/{LOWERED.partition(':')[2]}").out


def lose_registry(store: Path) -> None:
    """Lose every record, as when the topic was deleted."""
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DELETE FROM registry")
        connection.execute("DELETE FROM meta WHERE key LIKE 'registry_%'")
        connection.commit()


def test_an_export_says_what_it_is_of_and_has_no_claims(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    export = json.loads(saved.read_text())
    assert (export["kind"], export["format_version"]) == ("kgitops.registry-export", "1.0")
    with closing(applied.connect()) as cluster:
        assert export["cluster_id"] == cluster.cluster_id
    assert export["projects"] == {applied.uid: applied.name}
    assert export["counts"] == {"meta": 1, "nonce": 1, "own": 4, "project": 1, "run": 1}
    printed = json.loads(kgitops("registry", "export", applied.folder).out)
    assert printed["records"] == export["records"]


def test_nothing_is_exported_where_there_is_no_registry(project: Project, kgitops: Kgitops) -> None:
    project.write(*DOCUMENTS)
    ran = kgitops("registry", "export", project.folder, "-o", project.folder / "x.json")
    assert ran.code == 1
    assert "this cluster has no registry" in ran.said
    assert not (project.folder / "x.json").exists()


def test_a_lost_registry_comes_back_and_the_plan_is_empty_again(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    lose_registry(applied.store)
    lost = kgitops("plan", applied.folder)
    assert "4 to adopt" in lost.said
    ran = kgitops("registry", "import", saved, applied.folder, "--auto-approve")
    assert ran.code == 0, ran
    assert "topic/orders: no project -> payments" in ran.said
    assert json.loads(saved.read_text())["digest"] in ran.said
    assert "payments (" in ran.said
    assert "4 objects gained" in ran.said
    assert kgitops("registry", "check", applied.folder).code == 0
    assert kgitops("plan", applied.folder, "--detailed-exitcode").code == 0
    again = kgitops("registry", "import", saved, applied.folder, "--replace")
    assert (again.code, "Nothing to import" in again.said) == (0, True)


def test_a_live_registry_is_refused_then_shown_then_asked(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    applied.write(*DOCUMENTS, topic("late"))
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    refused = kgitops("registry", "import", saved, applied.folder, "--auto-approve")
    assert refused.code == 5
    assert "import with --replace" in refused.said
    asked = kgitops("registry", "import", saved, applied.folder, "--replace")
    assert asked.code == 64
    assert "there is nobody to ask; pass --auto-approve" in asked.said
    assert "topic/late: payments" in asked.out
    assert kgitops("plan", applied.folder, "--detailed-exitcode").code == 0
    done = kgitops("registry", "import", saved, applied.folder, "--replace", "--auto-approve")
    assert done.code == 0, done
    assert "Kept, though the file does not have them: 1 nonce, 1 run." in done.out
    plan = json.loads(kgitops("plan", applied.folder, "--format", "json").out)
    assert [(c["address"], c["actions"]) for c in plan["changes"]] == [("topic/late", ["adopt"])]


def test_a_plan_that_was_applied_after_the_export_stays_spent(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    applied.write(*DOCUMENTS, topic("late"))
    assert kgitops("plan", applied.folder, "-o", applied.plan_file).code == 0
    assert kgitops("apply", applied.plan_file).code == 0
    assert (
        kgitops("registry", "import", saved, applied.folder, "--replace", "--auto-approve").code
        == 0
    )
    again = kgitops("apply", applied.plan_file)
    assert again.code == 9
    assert "already applied" in again.said


def test_a_topic_that_was_made_again_is_not_deleted_by_an_imported_record(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    """The record is of the topic id that the project had, and its deletionPolicy is Delete."""
    with closing(applied.connect()) as cluster:
        recreate(cluster, "orders")
    lose_registry(applied.store)
    assert kgitops("registry", "import", saved, applied.folder, "--auto-approve").code == 0
    applied.write(*DOCUMENTS[1:])
    plan = json.loads(kgitops("plan", applied.folder, "--format", "json").out)
    assert [(c["address"], c["actions"]) for c in plan["changes"]] == [("topic/orders", ["forget"])]
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    assert topics(applied) == {"orders", "audit"}


def test_a_tombstone_that_was_executed_never_acts_on_what_came_after(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    applied.write(*DOCUMENTS[:1], *DOCUMENTS[2:], tombstone("topic/audit"))
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    assert topics(applied) == {"orders"}
    applied.change_behind(creation_of("audit"))
    ran = kgitops("registry", "import", saved, applied.folder, "--replace", "--auto-approve")
    assert ran.code == 0, ran
    plan = json.loads(kgitops("plan", applied.folder, "--format", "json").out)
    assert plan["changes"] == []
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    assert topics(applied) == {"orders", "audit"}


def test_another_clusters_registry_is_refused_with_both_ids(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    elsewhere = "embedded:other.db?brokers=3"
    ran = kgitops("registry", "import", saved, applied.folder, "-c", elsewhere, "--auto-approve")
    assert ran.code == 9
    with closing(applied.connect()) as cluster:
        assert f"the registry of the cluster {cluster.cluster_id}, and this is {elsewhere} (id" in (
            ran.said
        )


def test_a_changed_file_is_refused_before_the_cluster_is_reached(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    saved.write_text(saved.read_text().replace("Protect", "Delete"))
    ran = kgitops("registry", "import", saved, "-c", "kafka://127.0.0.1:1", "--replace")
    assert ran.code == 9
    assert "was changed: its digest is not that of its content" in ran.said
    assert kgitops("registry", "import", "nothing.json", applied.folder).code == 64


def test_the_way_back_after_an_upgrade(applied: Project, kgitops: Kgitops) -> None:
    """An export before the first write of this version has version 1, and brings it back."""
    with closing(applied.connect()) as cluster:
        make_version_1(cluster.registry)
    file = applied.folder.parent / "before.json"
    assert kgitops("registry", "export", applied.folder, "-o", file).code == 0
    applied.write(*DOCUMENTS, topic("late"))
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    ran = kgitops("registry", "import", file, applied.folder, "--replace", "--auto-approve")
    assert ran.code == 0, ran
    assert "older versions of kgitops can use this cluster until this one writes to it" in ran.out
    with closing(applied.connect()) as cluster:
        assert set(versions(cluster.registry.read()).values()) == {1}


def test_the_file_says_nothing_to_a_terminal_but_text(
    applied: Project, saved: Path, kgitops: Kgitops
) -> None:
    document = json.loads(saved.read_text())
    document["projects"][applied.uid] = "evil\x1b[2J"
    for record in document["records"]:
        if record["key"].startswith("project/"):
            record["value"]["name"] = "evil\x1b[2J"
    document["digest"] = _digest(document)
    saved.write_text(json.dumps(document))
    lose_registry(applied.store)
    assert "\x1b" not in kgitops("registry", "import", saved, applied.folder).said


def test_virtual_clusters_of_a_kafka_that_has_none_come_back(
    project: Project, kgitops: Kgitops
) -> None:
    folder = project.folder
    project.write(topic("orders"), document("VirtualCluster", "emea", members={"users": ["a"]}))
    project.write_file(cluster={"url": LOWERED})
    assert kgitops("apply", folder, "--auto-approve").code == 0
    listed = vc_list(kgitops, folder)
    assert "emea" in listed
    file = folder / "registry.json"
    assert kgitops("registry", "export", folder, "-o", file).code == 0
    assert json.loads(file.read_text())["counts"]["vcs"] > 0
    lose_registry(folder / ".kgitops" / "lowered.db")
    assert "emea" not in vc_list(kgitops, folder)
    ran = kgitops("registry", "import", file, folder, "--auto-approve")
    assert ran.code == 0, ran
    assert vc_list(kgitops, folder) == listed
    assert kgitops("plan", folder, "--detailed-exitcode").code == 0


def test_the_schema_and_the_reference_have_each_key(saved: Path) -> None:
    reference = (ROOT / "docs" / "reference" / "registry-export.md").read_text()
    export = json.loads(saved.read_text())
    keys = [*export, *export["registry"], *export["records"][0]]
    assert [key for key in keys if f"`{key}`" not in reference] == []
    Draft202012Validator(export_schema()).validate(export)


def test_a_withdrawn_release_is_not_brought_back(applied: Project, kgitops: Kgitops) -> None:
    """Nobody may take over objects by a consent that was taken back since the export."""
    other = "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11"
    assert kgitops("registry", "release", applied.folder, "--to", other).code == 0
    file = applied.folder.parent / "released.json"
    assert kgitops("registry", "export", applied.folder, "-o", file).code == 0
    assert json.loads(file.read_text())["counts"]["release"] == 1
    withdrawn = kgitops("registry", "release", applied.folder, "--withdraw")
    assert withdrawn.code == 0, withdrawn
    lose_registry(applied.store)
    ran = kgitops("registry", "import", file, applied.folder, "--auto-approve")
    assert ran.code == 0, ran
    assert "Not imported: 1 release." in ran.out
    with closing(applied.connect()) as cluster:
        registry = cluster.read_state().registry
        assert registry is not None
        assert registry.releases == {}
