"""No kind is forgotten: by an export, by drift's authors, by an audit."""

import json
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, document, topic
from kinds.samples import DEFAULTS, stages, within

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.errors import UnreachableError
from kgitops.model.json.declared import DesiredAcl, DesiredObject
from kgitops.model.resources.addresses import object_name
from kgitops.model.resources.kinds import Kind
from kgitops.workflow.loading import declared_objects
from kgitops.workflow.project.selection import Selection, open_workspace

URLS = {
    "native": "embedded:.kgitops/local.db",
    "lowered": "embedded:.kgitops/local.db?virtual.clusters=lowered",
}


def export_into_place(project: Project, kgitops: Kgitops) -> str:
    """Let the project consist of the export of its cluster."""
    ran = kgitops("export", project.folder, "-o", "exported")
    assert ran.code == 0, ran.said
    manifests = project.folder / "manifests"
    shutil.rmtree(manifests)
    shutil.move("exported", manifests)
    return ran.said


def test_a_default_that_a_topic_does_not_have_is_taken_out(
    project: Project, kgitops: Kgitops
) -> None:
    defaults = {
        "partitions": 2,
        "replicationFactor": 1,
        "configs": {"retention.ms": 1000},
        "deletionPolicy": "Delete",
    }
    of_cluster = {"topic": {"configsPolicy": "Exact", "configs": {"segment.ms": 1000}}}
    own = {"configs": {"retention.ms": None}, "configsPolicy": "Declared"}
    project.write(
        document("Topic", "own", **own, deletionPolicy="Orphan"), document("Topic", "like-all")
    )
    project.write_file(defaults={"topic": defaults}, cluster={"defaults": of_cluster})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    assert "0 to adopt, nothing to change." in export_into_place(project, kgitops)
    ran = kgitops("plan", project.folder, "--detailed-exitcode")
    assert (ran.code, "No changes." in ran.said) == (0, True)
    text = (project.folder / "manifests" / "topics.yaml").read_text()
    assert text.count("retention.ms: null") == 1


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_two_projects_export_their_parts_of_a_virtual_cluster(
    url: str, project: Project, kgitops: Kgitops, here: Path
) -> None:
    shared = {"url": url.replace(".kgitops/local.db", str(here / "shared.db"))}
    other = Project(here / "other", name="other", uid="6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a12")
    first = [
        document("VirtualCluster", "emea", members={"users": ["jane"]}),
        within("emea", topic("theirs")),
        document("ClientMetrics", "lag", configs={"interval.ms": 5000}),
    ]
    second = [
        within("emea", document("VirtualClusterBinding", "u", user="joe")),
        within(
            "emea",
            document("VirtualClusterBinding", "c", clientId="c", deletionPolicy="Orphan"),
        ),
        within("emea", document("ConsumerGroup", "etl")),
        within("emea", topic("mine")),
        within(
            "emea",
            document("TopicLink", "l", target={"virtualCluster": "emea", "topic": "theirs"}),
        ),
        acl("joe", virtualCluster="emea", resource={"type": "topic", "name": "theirs"}),
        document("ConsumerGroup", "g", configs={"consumer.session.timeout.ms": 50000}),
    ]
    for each, documents in ((project, first), (other, second)):
        each.write(*documents).write_file(cluster=shared)
        ran = kgitops("apply", each.folder, "--auto-approve")
        assert ran.code == 0, ran.said
    for each, left_out in ((project, 7), (other, 3)):
        said = export_into_place(each, kgitops)
        assert "0 to adopt, nothing to change." in said
        assert f"{left_out} objects left out, which the project" in said
        assert kgitops("plan", each.folder, "--detailed-exitcode").code == 0


def declared_in(project: Project) -> tuple[DesiredObject, ...]:
    return declared_objects(open_workspace(Selection(paths=(project.folder,))))


def test_validate_counts_objects_of_every_kind(project: Project, kgitops: Kgitops) -> None:
    project.write(*stages()[-1]).write_file(defaults=DEFAULTS)
    ran = kgitops("validate", project.folder, "--format", "json")
    (counts,) = json.loads(ran.out)["clusters"].values()
    beside = counts.pop("tombstones") + counts.pop("policies")
    assert (sum(counts.values()), beside) == (len(declared_in(project)), 1)


def test_a_catalogue_shows_objects_of_every_kind(project: Project, kgitops: Kgitops) -> None:
    project.write(*stages()[-1]).write_file(defaults=DEFAULTS)
    assert kgitops("catalogue", project.folder, "-o", "catalogue").code == 0
    page = unescape(Path("catalogue/index.html").read_text())
    for item in declared_in(project):
        name = item.binding.principal if isinstance(item, DesiredAcl) else object_name(item.address)
        assert str(name).rpartition(" ")[2].rpartition("/")[2] in page, item.address


def test_users_that_may_not_be_read_are_left_out_with_the_reason(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(cluster: EmbeddedCluster, kind: Kind, *names: object) -> object:
        if kind is Kind.USER:
            raise UnreachableError(
                "the cluster does not let User:ci read the users; grant it Describe"
            )
        return read(cluster, kind, *names)

    read: Any = EmbeddedCluster.read
    project.write(topic("orders"))
    monkeypatch.setattr(EmbeddedCluster, "read", refuse)
    ran = kgitops("export", project.folder, "-o", "exported")
    assert ran.code == 0, ran.said
    reason = "the cluster does not let User:ci read the users; grant it Describe"
    assert f"Users are left out: {reason}\n" in ran.err


def test_groups_that_may_not_be_read_are_told_and_managed_ones_exported(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(cluster: EmbeddedCluster, kind: Kind, *names: object) -> object:
        if kind is not Kind.USER and not names:
            raise UnreachableError("grant it DescribeConfigs on the cluster")
        return read(cluster, kind, *names)

    read: Any = EmbeddedCluster.read

    project.write(document("ClientMetrics", "lag", configs={"interval.ms": 5000}))
    project.write_file(policies=[{"class": "kgitops.policies:ScramStrength"}])
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    monkeypatch.setattr(EmbeddedCluster, "read", refuse)
    ran = kgitops("export", project.folder, "-o", "exported")
    assert (ran.code, "Wrote 1 document in 1 file" in ran.said) == (0, True)
    audited = kgitops("policy", "audit", project.folder)
    assert (
        audited.code,
        "groups, client metrics and broker configs were not read" in audited.said,
    ) == (0, True)
    for said in (ran.said, audited.said):
        for kind in ("Consumer groups", "Client metrics", "Broker configs"):
            missing = f"{kind} that this project does not manage are left out: grant it Describe"
            assert missing in said
    told = kgitops("policy", "audit", project.folder, "--format", "json")
    assert json.loads(told.out)["groups_read"] is False
