"""``metadata.labels`` in plans, reports and --selector, and in policies wherever they judge."""

import json

import pytest
from cli.conftest import Kgitops
from cli.policed import policy, write_module, write_policies
from cli.projects import Document, Project, acl, document, quota, tombstone, topic

from kgitops.manifests.load import ManifestSet
from kgitops.model.registry import Json
from kgitops.model.requests import CreateTopicRequest, with_labels
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.workflow.policies import load_policies
from kgitops.workflow.project.selection import Selection, open_workspace

OWNED = "has(requested.labels.owner) && requested.labels.owner != ''"
EVERYTHING = [
    "CreateTopic",
    "AlterTopic",
    "DeleteRecords",
    "CreateAcl",
    "AlterClientQuota",
    "CreateVirtualCluster",
    "AlterVirtualCluster",
    "CreateTopicLink",
]
CLUSTERS = ["1", "0", "lowered"]
IN_PYTHON = """
from kgitops.policy import BaseTopicPolicy, PolicyViolation

class Owned(BaseTopicPolicy):
    def validate_create_topic(self, request, cluster_state):
        if "owner" not in request.labels:
            raise PolicyViolation("nobody owns " + request.name)
        if dict(request.labels) != {"owner": "jane", "team": "payments"}:
            raise PolicyViolation("other labels: " + repr(dict(request.labels)))

    def validate_delete_topic(self, request, cluster_state):
        if "owner" not in request.labels:
            raise PolicyViolation("nobody owns the Tombstone")
"""


def labelled(given: Document, **labels: str) -> Document:
    """The document with labels."""
    return {**given, "metadata": {**given["metadata"], "labels": labels}}


def owned(given: Document) -> Document:
    """The document as Jane's."""
    return labelled(given, owner="jane", team="payments")


def tenant() -> list[Document]:
    """A virtual cluster with a member, a topic, a link, a right and a quota."""
    local = {"name": "Orders", "virtualCluster": "emea"}
    link = {"name": "Other", "virtualCluster": "emea"}
    return [
        document("VirtualCluster", "emea", members={"users": ["User:app"]}),
        {**topic("Orders"), "metadata": local},
        {**document("TopicLink", "", target={"physicalTopic": "plain"}), "metadata": link},
        topic("plain"),
        acl("app", virtualCluster="emea", resource={"type": "topic", "name": "Orders"}),
        document(
            "ClientQuota",
            "app",
            entity={"user": "app", "virtualCluster": "emea"},
            quotas={"consumer_byte_rate": 1024},
        ),
    ]


def changes_of(project: Project) -> dict[str, Json]:
    """The changes of the saved plan by address."""
    plan = json.loads(project.plan_file.read_text())
    return {change["address"]: change for change in plan["changes"]}


def test_a_plan_tells_the_labels_of_every_kind(project: Project, kgitops: Kgitops) -> None:
    """Also of what a document stands for by the way; its digest covers them."""
    project.write(*map(owned, [*tenant(), quota()]), labelled(topic("bare")))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    changes = changes_of(project)
    assert "labels" not in changes.pop("topic/bare")
    assert len(changes) >= 7
    for address, change in changes.items():
        assert change["labels"] == {"owner": "jane", "team": "payments"}, address
    first = json.loads(project.plan_file.read_text())["plan_digest"]
    project.write(*map(owned, [*tenant(), quota()]), labelled(topic("bare"), team="x"))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    assert json.loads(project.plan_file.read_text())["plan_digest"] != first


@pytest.mark.slow
@pytest.mark.parametrize("virtual_clusters", CLUSTERS)
def test_an_owner_can_be_required_wherever_is_judged(
    project: Project, kgitops: Kgitops, virtual_clusters: str
) -> None:
    """In the plan, in the apply, and in the embedded brokers, of which two lower it first."""
    documents = [topic(), acl(), quota()] if virtual_clusters == "0" else [*tenant(), quota()]
    url = f"embedded:.kgitops/local.db?virtual.clusters={virtual_clusters}"
    write_policies(
        project,
        policy("owned", expression=OWNED, match={"requests": EVERYTHING}),
        clusters={"local": {"url": url, "brokers": 3}},
    )
    file = (project.folder / "kgitops.yaml").read_text()
    project.write(*map(owned, documents))
    (project.folder / "kgitops.yaml").write_text(file)
    applied = kgitops("apply", project.folder, "--auto-approve")
    assert applied.code == 0, applied.said
    assert kgitops("plan", project.folder, "--detailed-exitcode").code == 0

    orphan = labelled(topic("orphan"), team="payments")
    project.write(*map(owned, documents), orphan)
    (project.folder / "kgitops.yaml").write_text(file)
    denied = kgitops("plan", project.folder)
    assert (denied.code, "DENIED by owned" in denied.out) == (3, True), denied.said


def test_python_policies_see_them_and_of_a_deletion_the_tombstones(
    project: Project, kgitops: Kgitops
) -> None:
    write_module(project, "rules", IN_PYTHON)
    spec = {"policies": [{"class": "rules:Owned"}]}
    for labels, code in (({"team": "x"}, 3), ({"owner": "jane", "team": "payments"}, 0)):
        project.write(labelled(topic("orders"), **labels), topic_for_ever())
        project.write_file(**spec)
        ran = kgitops("apply", project.folder, "--auto-approve")
        assert ran.code == code, ran.said
        assert ("nobody owns orders" in ran.said) == (code == 3)
    for given, code in ((tombstone("topic/orders"), 3), (owned(tombstone("topic/orders")), 0)):
        project.write(topic_for_ever(), given)
        project.write_file(**spec)
        ran = kgitops("apply", project.folder, "--auto-approve")
        assert ran.code == code, ran.said


def topic_for_ever() -> Document:
    """Another topic, so that the project never declares nothing."""
    return owned(topic("kept"))


def test_brokers_find_no_labels_in_what_a_client_asks(project: Project) -> None:
    """No document asks for it, so a policy that wants an owner denies it."""
    project.write(topic())
    write_policies(project, policy("owned", expression=OWNED))
    workspace = open_workspace(Selection(paths=[project.folder]))
    state = RequestedTopicState(name="t", topic_id=None, assignment=((1,),))
    asked = CreateTopicRequest(topic="t", requested_state=state)
    with workspace.connected(load_policies(workspace, ManifestSet())) as cluster:
        for request, ok in ((asked, False), (with_labels(asked, {"owner": "jane"}), True)):
            (result,) = cluster.execute([request], validate_only=False, principal="User:a")
            assert result.ok is ok, result


def test_a_saved_plan_is_judged_by_the_labels_that_were_reviewed(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(owned(topic()))
    write_policies(project, policy("owned", expression=OWNED))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    project.write(topic())
    write_policies(project, policy("owned", expression=OWNED))
    text = project.plan_file.read_text()
    project.plan_file.write_text(text.replace('"jane"', '"joan"'))
    assert kgitops("apply", project.plan_file).code == 9
    project.plan_file.write_text(text)
    applied = kgitops("apply", project.plan_file)
    assert applied.code == 0, applied.said
