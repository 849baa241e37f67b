"""``kgitops validate``: every declared cluster, and findings in the forms that programs read."""

import json

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, topic
from report.workflow_commands import commands

LOCAL = {"url": "embedded:", "brokers": 3}
WRONG = topic("a", configs={"retention.ms": "soon"})  # well-formed, so told only where it counts
CLUSTERS = {
    "local": LOCAL,
    "staging": {"url": "kafka://s:9092", "variables": {"count": 3}},
    "prod": {"url": "kafka://p:9092", "variables": {"count": 12}},
}


def only_on(given: Document, *clusters: str) -> Document:
    """The document for these clusters."""
    return {**given, "metadata": {**given["metadata"], "clusters": list(clusters)}}


def several(project: Project, *documents: Document, **clusters: Document) -> None:
    """A project with three clusters, two of which have variables."""
    project.write(*documents)
    project.write_file(clusters=CLUSTERS | clusters, defaultCluster="local")


def test_what_is_wrong_on_another_cluster_is_found(project: Project, kgitops: Kgitops) -> None:
    """A document that is for prod only, and a variable that one cluster lacks."""
    several(
        project,
        only_on(WRONG, "prod"),
        topic("b", configs={"retention.ms": "${var:count}"}),
        topic("c", partitons=3),
    )
    ran = kgitops("validate", project.folder)
    assert ran.code == 1
    lines = ran.err.splitlines()
    assert sum("on prod: retention.ms" in line for line in lines) == 1
    assert sum("on local: ${var:count} has no value" in line for line in lines) == 1
    (everywhere,) = [line for line in lines if "partitons" in line]
    assert ": spec.partitons is not a field" in everywhere
    assert "staging" not in ran.err
    assert lines[-1] == "3 findings."


def test_what_is_valid_is_told_by_cluster(project: Project, kgitops: Kgitops) -> None:
    several(project, topic("a"), only_on(topic("b"), "prod"))
    ran = kgitops("validate", project.folder)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "Valid on local, staging: 1 topic.",
        "Valid on prod: 2 topics.",
    ]


def test_a_cluster_that_was_left_is_said(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its settings need what is not set here; connections are not looked at at all."""
    monkeypatch.delenv("COUNT", raising=False)
    secret = {"url": "kafka://${env:COUNT}:1", "configs": {"sasl.password": "${env:COUNT}"}}
    unset = {"url": "kafka://x:1", "variables": {"count": "${env:COUNT}"}}
    several(project, topic("a"), secret=secret, unset=unset)
    ran = kgitops("validate", project.folder)
    assert ran.code == 0
    assert "unset was not looked at: ${env:COUNT} has no value" in ran.err
    assert "secret" in ran.out
    assert "unset" not in ran.out
    asked = kgitops("validate", project.folder, "-c", "unset")
    assert (asked.code, "${env:COUNT} has no value" in asked.err) == (1, True)
    one = kgitops("validate", project.folder, "-c", "prod")
    assert (one.code, one.out.startswith("Valid: 1 topic.")) == (0, True)
    assert "staging was not looked at: another cluster was asked for" in one.err


def test_a_wrong_setting_of_any_cluster_is_an_error(project: Project, kgitops: Kgitops) -> None:
    broken = {"url": "kafka://x:1", "policyLevels": {"naming": "strict"}}
    several(project, topic("a"), broken=broken)
    ran = kgitops("validate", project.folder)
    assert (ran.code, "strict" in ran.err) == (1, True)


def test_findings_as_json(project: Project, kgitops: Kgitops) -> None:
    several(project, only_on(WRONG, "prod"))
    ran = kgitops("validate", project.folder, "--format", "json")
    told = json.loads(ran.out)
    assert (ran.code, told["kind"], told["valid"]) == (1, "kgitops.validation", False)
    assert sorted(told["clusters"]) == ["local", "staging"]
    (finding,) = told["findings"]
    assert finding["source"]["file"] == "payments/manifests/all.yaml"
    assert finding["source"]["line"] == 15
    assert finding["problem"].startswith("on prod: ")
    assert finding["severity"] == "error"
    assert ran.err == ""


def test_findings_as_annotations(project: Project, kgitops: Kgitops) -> None:
    several(project, only_on(WRONG, "prod"))
    ran = kgitops("validate", project.folder, "--format", "github")
    (found,) = commands(ran.out)
    assert (ran.code, found.name, found.properties["line"]) == (1, "error", "15")
    several(project, topic("a"))
    fine = kgitops("validate", project.folder, "--format", "github")
    assert (fine.code, commands(fine.out), "Valid on local" in fine.out) == (0, [], True)


def test_findings_as_sarif(project: Project, kgitops: Kgitops) -> None:
    several(project, only_on(WRONG, "prod"), topic("b", configs={"retention.ms": "soon"}))
    ran = kgitops("validate", project.folder, "--format", "sarif")
    (run,) = json.loads(ran.out)["runs"]
    assert ran.code == 1
    assert [result["ruleId"] for result in run["results"]] == ["kgitops/finding"] * 2
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["kgitops/finding"]
    (location,) = run["results"][0]["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "payments/manifests/all.yaml"
    assert run["automationDetails"]["id"] == "kgitops/validate/"
    several(project, topic("a"))
    (fine,) = json.loads(kgitops("validate", project.folder, "--format", "sarif").out)["runs"]
    assert fine["results"] == []


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_words_that_cant_be_meant_are_told_in_each_form(kgitops: Kgitops, form: str) -> None:
    ran = kgitops("validate", "nowhere", "--format", form)
    assert (ran.code, "nowhere does not exist" in ran.err) == (64, True)


def test_a_cluster_given_by_url_says_that_it_has_no_variables(
    project: Project, kgitops: Kgitops
) -> None:
    several(project, topic("a", configs={"retention.ms": "${var:count}"}))
    for command in (("validate",), ("plan",), ("apply", "--auto-approve")):
        ran = kgitops(*command, project.folder, "-c", "embedded:x.db")
        assert ran.code == 1
        assert "a cluster that is given by its URL has no variables" in ran.err
        assert "--variables-of NAME" in ran.err


def test_a_cluster_given_by_url_takes_those_of_a_named_one(
    project: Project, kgitops: Kgitops
) -> None:
    several(project, topic("a", configs={"retention.ms": "${var:count}"}))
    words = (project.folder, "-c", "embedded:x.db?brokers=3", "--variables-of", "prod")
    assert kgitops("validate", *words).code == 0
    planned = kgitops("plan", *words, "-o", project.plan_file)
    assert "retention.ms  (not set) -> 12 " in planned.out
    applied = kgitops("apply", project.plan_file, "--variables-of", "prod")
    assert applied.code == 0, applied.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--variables-of", "prod"), "for a cluster that is given by its URL"),
        (("-c", "prod", "--variables-of", "staging"), "for a cluster that is given by its URL"),
        (("-c", "embedded:", "--variables-of", "prodd"), "did you mean prod?"),
    ],
)
def test_variables_of_a_cluster_that_cant_be_meant(
    project: Project, kgitops: Kgitops, words: tuple[str, ...], said: str
) -> None:
    several(project, topic("a"))
    ran = kgitops("plan", project.folder, *words)
    assert (ran.code, said in ran.err) == (64, True), ran.said
