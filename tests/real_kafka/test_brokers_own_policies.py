"""Policies and a real Kafka: what its own policy refuses, and what only kgitops can judge."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from cli.conftest import Kgitops
from cli.policed import policy
from cli.projects import Document, Project, acl, as_yaml, topic
from java_classes import compile_java

from kgitops.sandbox.sandbox import Sandbox

POLICY = """
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class TwoPartitions implements CreateTopicPolicy {
    public void configure(Map<String, ?> configs) {}
    public void close() {}
    public void validate(RequestMetadata request) {
        Map<?, ?> placed = request.replicasAssignments();  // null where the broker places them
        if (placed != null && placed.size() > 2)
            throw new PolicyViolationException(
                "Ada allows two partitions, not " + placed.size());
    }
}
"""


@pytest.fixture(scope="module")
def sandbox(own_kafka, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """One broker with a CreateTopicPolicy."""
    classes = compile_java({"TwoPartitions": POLICY}, tmp_path_factory.mktemp("policy"))
    named = {"create.topic.policy.class.name": "TwoPartitions"}
    return own_kafka(class_path=[classes], properties=named)


@pytest.fixture
def folder(sandbox: Sandbox, here: Path) -> Path:
    """A project of its own for that cluster, nothing declared yet."""
    folder = here / "payments"
    (folder / "manifests").mkdir(parents=True)
    (folder / "policies").mkdir()
    clusters = {"kafka": {"url": f"kafka://{sandbox.servers}"}}
    uid = uuid4()
    project = Project(folder, f"payments-{uid.hex}", str(uid))
    project.write_file(policies=["policies"], clusters=clusters)
    write(folder, policies=[])
    return folder


def write(folder: Path, *documents: Document, policies: list[Document]) -> None:
    (folder / "manifests" / "all.yaml").write_text(as_yaml(documents))
    (folder / "policies" / "all.yaml").write_text(as_yaml(policies) or "# none\n")


def test_a_plan_shows_the_words_of_the_brokers_policy_at_the_document(
    folder: Path, kgitops: Kgitops
) -> None:
    """K-01, P108-13, P201-64: asked ahead, denied as by any policy, and nothing is sent."""
    write(
        folder,
        topic("small", partitions=2, replicationFactor=1),
        topic("large", partitions=3, replicationFactor=1),
        policies=[],
    )
    ran = kgitops("plan", folder, "-o", folder / "plan.json")
    assert ran.code == 3, ran.said
    assert "payments/manifests/all.yaml:14:1" in ran.said
    assert "Ada allows two partitions, not 3" in ran.said
    github = kgitops("plan", folder, "--format", "github")
    assert github.code == 3
    (denied,) = [line for line in github.out.splitlines() if line.startswith("::error")]
    assert "file=payments/manifests/all.yaml,line=14," in denied
    assert "Ada allows two partitions, not 3" in denied
    ran = kgitops("apply", folder / "plan.json")
    assert ran.code == 3
    assert "all.yaml:14:1: the hard policy broker denies topic/large: Ada allows two" in ran.said
    assert "1 to create" not in ran.said


def test_the_project_judges_what_no_broker_does(folder: Path, kgitops: Kgitops) -> None:
    """K-02, C-23, C-24: a config of a topic that is there, an ACL, a deletion.

    The brokers' words come too.
    """
    write(folder, topic("old", partitions=1, replicationFactor=1), policies=[])
    assert kgitops("apply", folder, "--auto-approve").code == 0
    short = policy(
        "long-enough",
        expression="!('retention.ms' in requested.configs) "
        "|| int(requested.configs['retention.ms']) > 5000",
    )
    nobody = policy("no-readers", expression="false", match={"requests": ["CreateAcl"]})
    write(
        folder,
        topic("old", partitions=1, replicationFactor=1, configs={"retention.ms": 1000}),
        topic("large", partitions=9, replicationFactor=1),
        acl(),
        policies=[short, nobody],
    )
    ran = kgitops("plan", folder, "--format", "json")
    assert ran.code == 3, ran.said
    said = {
        (change["address"], row["policy"])
        for change in json.loads(ran.out)["changes"]
        for row in change["policies"]
        if row["outcome"] == "denied"
    }
    binding = "acl/User:billing/Allow/Read/topic/literal/orders@*"
    assert said == {
        ("topic/old", "long-enough"),
        ("topic/large", "broker"),
        (binding, "no-readers"),
    }
