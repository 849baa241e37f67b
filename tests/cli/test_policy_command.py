"""``kgitops policy``: list, explain and test, as a user runs them."""

import re
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, as_yaml, document, topic
from junitparser import JUnitXml

NAMING = '''\
"""How topics are named."""

from kgitops.policy import BaseTopicPolicy, PolicyViolation


class TeamPrefix(BaseTopicPolicy):
    """A topic's name begins with its team.

    The team is the principal's name.
    """

    remediation = "Rename it."

    def configure(self, configs):
        self.separator = configs.get("separator", ".")

    def validate_create_topic(self, request, cluster_state):
        prefix = request.principal.name + self.separator
        if not request.topic.startswith(prefix):
            raise PolicyViolation(f"{request.topic} does not begin with {prefix}")
'''


def replicas(**spec: object) -> Document:
    """A policy with two validations."""
    given: Document = {
        "description": "Topics survive.",
        "remediation": "Add replicas.",
        "match": {"requests": ["CreateTopic"]},
        "validations": [
            {"expression": "requested.replicationFactor >= 2", "message": "too few replicas"},
            {"expression": "requested.partitions <= 12", "message": "too many partitions"},
        ],
    }
    return document("Policy", "replicas", **(given | spec))  # type: ignore[arg-type]


def create(name: str, partitions: int = 1, factor: int = 2) -> Document:
    return {"createTopic": {"name": name, "partitions": partitions, "replicationFactor": factor}}


def case(name: str, *requests: Document, **more: object) -> Document:
    return {"name": name, "requests": list(requests), **more}  # type: ignore[dict-item]


def test_of(policy: str, *cases: Document, **spec: object) -> Document:
    return document("PolicyTest", policy, policy=policy, cases=list(cases), **spec)  # type: ignore[arg-type]


test_of.__test__ = False  # type: ignore[attr-defined]  # it begins like one

FEW = case("too few", create("a", factor=1), expect=[{"address": "topic/a", "message": "^too few"}])
MANY = case("too many", create("a", partitions=13), expect=[{"address": "topic/a"}])
EDGE = case("just enough", create("a", partitions=12), create("b", factor=3))
NEVER: list[Document] = [{"expression": "request.name == ''", "message": "never"}]
ALL = test_of("replicas", FEW, MANY, EDGE)


@pytest.fixture
def write(project: Project) -> Project:
    """A project with the policy ``replicas``, its complete test, and a policy in Python."""
    return put(project, replicas(), ALL)


def put(project: Project, *documents: Document, **spec: object) -> Project:
    project.write(topic())
    policies: list[object] = ["policies", {"class": "naming:TeamPrefix", "level": "soft"}]
    project.write_file(**({"policies": policies} | spec))  # type: ignore[arg-type]
    (project.folder / "naming.py").write_text(NAMING)
    folder = project.folder / "policies"
    folder.mkdir(exist_ok=True)
    (folder / "all.yaml").write_text(as_yaml(documents))
    return project


@pytest.mark.slow
def test_mutants_that_no_test_notices_are_listed_with_their_lines(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, replicas(), test_of("replicas", FEW, case("three", create("a", factor=3))))
    ran = kgitops("policy", "test", project.folder, "--mutate")
    assert ran.code == 1
    survivors = re.findall(r"all\.yaml:(\d+):\d+: (.*)\n +(.*)\n", ran.out)
    changes = {(what, code) for _, what, code in survivors}
    assert (">= → >", "requested.replicationFactor >= 2") in changes
    assert ("validation dropped", "requested.partitions <= 12") in changes
    assert ("12 → 13", "requested.partitions <= 12") in changes
    text = (project.folder / "policies/all.yaml").read_text().splitlines()
    for line, _, code in survivors:
        assert code in text[int(line) - 1]
    assert re.search(
        r"\d+ of \d+ mutants caught: score [\d.]+ %; --min-score asks for 90 %", ran.out
    )
    assert kgitops("policy", "test", project.folder, "--mutate", "--min-score", "20").code == 0


@pytest.mark.slow
def test_good_tests_catch_every_mutant(write: Project, kgitops: Kgitops) -> None:
    ran = kgitops("policy", "test", write.folder, "--mutate")
    assert ran.code == 0
    assert "No mutant survived." in ran.out
    assert "score 100 % (--min-score asks for 90 %)." in ran.out


@pytest.mark.slow
def test_junit_fails_for_mutants_only_below_the_score(project: Project, kgitops: Kgitops) -> None:
    put(project, replicas(), test_of("replicas", FEW))
    for least, failures in (("0", 0), ("100", 1)):
        words = ("--mutate", "--min-score", least, "--format", "junit")
        root = JUnitXml.fromstring(kgitops("policy", "test", project.folder, *words).out.encode())
        assert root.failures == failures


@pytest.mark.slow
def test_explain_gives_a_waiver_that_works_when_pasted(project: Project, kgitops: Kgitops) -> None:
    put(project, replicas())
    assert kgitops("plan", project.folder).code == 3
    shown = kgitops("policy", "explain", "team-prefix", project.folder).out
    for text in ("A topic's name begins with its team.", "The team is the principal's", "Rename"):
        assert text in shown
    pasted = shown[shown.index("  apiVersion") : shown.index("\nTest it")]
    words = pasted.replace("topic/NAME", "topic/orders")
    (project.folder / "policies/waiver.yaml").write_text(words)
    ran = kgitops("plan", project.folder)
    assert (ran.code, "1 waived" in ran.out) == (0, True), ran.said
    again = kgitops("policy", "explain", "team-prefix", project.folder).out
    assert "team-prefix-once: topic/orders, 30 days left" in again


@pytest.mark.slow
@pytest.mark.parametrize(
    "api",
    [
        "CreateTopic",
        "AlterTopic",
        "DeleteTopic",
        "DeleteRecords",
        "CreateAcl",
        "DeleteAcl",
        "AlterClientQuota",
        "AlterBroker",
    ],
)
def test_explain_gives_a_test_that_can_be_pasted(
    api: str, project: Project, kgitops: Kgitops
) -> None:
    put(project, replicas(match={"requests": [api]}, validations=NEVER))
    shown = kgitops("policy", "explain", "replicas", project.folder).out
    pasted = shown[shown.index("  apiVersion") :]
    (project.folder / "policies/test.yaml").write_text(pasted)
    ran = kgitops("policy", "test", project.folder / "policies/test.yaml")
    assert ran.code == 0, ran.said


def test_the_pasted_test_is_about_a_name_that_the_policy_judges_and_stands_beside_its_own(
    project: Project, kgitops: Kgitops
) -> None:
    judged = {"requests": ["CreateTopic"], "names": ["payments.*"]}
    own = test_of("replicas", case("others", create("a")))
    put(project, replicas(match=judged, validations=NEVER), own)
    shown = kgitops("policy", "explain", "replicas", project.folder).out
    (project.folder / "policies/test.yaml").write_text(shown[shown.index("  apiVersion") :])
    ran = kgitops("policy", "test", project.folder)
    assert (ran.code, "All 2 cases in 2 documents passed." in ran.out) == (0, True), ran.said


@pytest.mark.slow
def test_a_new_project_tests_its_policies_green(here: Path, kgitops: Kgitops) -> None:
    """From an empty folder: init, plan, apply, and tests that notice every mistake."""
    assert kgitops("init", "shop").code == 0
    assert kgitops("plan", "shop").code == 0
    assert kgitops("apply", "shop", "--auto-approve").code == 0
    tested = kgitops("policy", "test", "shop", "--min", "100", "--mutate", "--min-score", "100")
    assert tested.code == 0, tested.said
    workflow = (here / "shop/.github/workflows/kgitops.yaml").read_text()
    assert "- run: kgitops policy test --coverage --min 100\n" in workflow


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ({"replicationFactor": 2, "partitions": 1}, "replication-factor-range"),
        ({"configs": {"min.insync.replicas": 3}}, "min-insync-replicas-range"),
        ({"configs": {"min.insync.replicas": 2, "retention.ms": -1}}, "retention-range"),
    ],
)
def test_a_new_projects_policies_stop_a_plan(
    spec: dict[str, object], policy: str, here: Path, kgitops: Kgitops
) -> None:
    kgitops("init", "shop")
    bad = {"partitions": 1, "replicationFactor": 3} | spec
    (here / "shop/manifests/bad.yaml").write_text(as_yaml([topic("bad", **bad)]))  # type: ignore[arg-type]
    ran = kgitops("plan", "shop")
    assert (ran.code, policy in ran.said) == (3, True), ran.said
