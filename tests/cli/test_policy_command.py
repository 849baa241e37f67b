"""``kgitops policy``: list, explain and test, as a user runs them."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, Project, as_yaml, document, topic
from junitparser import JUnitXml, TestSuite

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
MANY_REQUESTS = ["CreateTopic", "AlterTopic", "DeleteTopic", "DeleteRecords", "CreateAcl"]
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


def test_all_cases_pass_and_untested_policies_are_named(write: Project, kgitops: Kgitops) -> None:
    ran = kgitops("policy", "test", write.folder)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"ok    replicas  3 cases  {write.folder.name}/policies/all.yaml",
        "",
        "All 3 cases in 1 document passed.",
        "No test has: team-prefix.",
    ]


def test_a_denial_that_is_not_expected_fails_the_case_with_its_line(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, replicas(), test_of("replicas", case("one is fine", create("a", factor=1))))
    ran = kgitops("policy", "test", project.folder)
    assert ran.code == 1
    place = re.search(r"(\S+all\.yaml):(\d+):\d+: one is fine", ran.out)
    assert place
    line = (project.folder / "policies/all.yaml").read_text().splitlines()[int(place[2]) - 1]
    assert '"createTopic"' in line or line.strip() == "{"
    assert "expected  replicas: topic/a not denied" in ran.out
    assert "came      denied: too few replicas" in ran.out
    assert "add {address: topic/a, outcome: denied} to expect" in ran.out
    assert "1 of 1 case in 1 document failed." in ran.out


@pytest.mark.parametrize(
    ("given", "expected", "came"),
    [
        (
            case("x", create("a"), expect=[{"address": "topic/a"}]),
            "replicas: topic/a denied",
            "passed",
        ),
        (
            case("x", create("a", factor=1), expect=[{"address": "topic/a", "message": "many"}]),
            "replicas: topic/a denied with a message like /many/",
            "denied: too few replicas",
        ),
        (
            case(
                "x", create("a", factor=1), expect=[{"address": "topic/a", "outcome": "passed"}]
            ),
            "replicas: topic/a passed",
            "denied: too few replicas",
        ),
        (
            case("x", {"deleteTopic": {"name": "old"}}, expect=[{"address": "topic/old"}]),
            "replicas: topic/old denied",
            "replicas does not judge this request",
        ),
        (
            case("x", create("a", factor=1), never=["replicas"]),
            "replicas: never denies here",
            "topic/a denied: too few replicas",
        ),
        (
            case("x", create("a"), never=["team-prefix"]),
            "team-prefix: never denies here",
            "topic/a denied: a does not begin with ANONYMOUS.",
        ),
        (
            case("x", create("a", factor=1), {"alterTopic": {"name": "a", "partitions": 2}},
                 expect=[{"address": "topic/a"}]),
            "this request can be made",
            "there is no topic a at this point",
        ),
    ],
)  # fmt: skip
def test_what_was_expected_and_what_came_is_said_once(
    given: Document, expected: str, came: str, project: Project, kgitops: Kgitops
) -> None:
    there = {"topics": {"old": {"partitions": 1, "replicationFactor": 1}}}
    put(project, replicas(), test_of("replicas", given, cluster=there))
    ran = kgitops("policy", "test", project.folder)
    assert ran.code == 1
    assert ran.out.count("expected  ") == 1
    assert f"expected  {expected}\n" in ran.out
    assert f"came      {came}\n" in ran.out


def test_what_is_accepted_takes_effect_for_the_next_request(
    project: Project, kgitops: Kgitops
) -> None:
    """P201-41: a request is judged on a cluster that has what was accepted, and no denied topic."""
    cap = replicas(validations=[{"expression": "cluster.topics < 2", "message": "full"}])
    gone = {"deleteTopic": {"name": "a"}}
    steps = (create("a"), create("b"), create("c"), gone, create("d"))
    cases = case("cap", *steps, expect=[{"address": "topic/c"}])
    put(project, cap, test_of("replicas", cases))
    ran = kgitops("policy", "test", project.folder)
    assert ran.code == 0, ran.said


def test_a_topic_that_may_not_be_deleted_is_still_there(project: Project, kgitops: Kgitops) -> None:
    never = [{"expression": "false", "message": "never"}]
    both = ["DeleteTopic", "DeleteRecords"]
    guard = replicas(match={"requests": both}, validations=never)
    there = {"topics": {"a": {"partitions": 1, "replicationFactor": 1}}}
    steps = ({"deleteTopic": {"name": "a"}}, {"deleteRecords": {"name": "a", "offsets": {"0": 1}}})
    kept = case("kept", *steps, expect=[{"address": "topic/a"}])
    put(project, guard, test_of("replicas", kept, cluster=there))
    ran = kgitops("policy", "test", project.folder)
    assert ran.code == 0, ran.said


def test_a_test_for_other_clusters_is_left_out(project: Project, kgitops: Kgitops) -> None:
    """As the policy is that it tests."""
    there = replicas() | {"metadata": {"name": "replicas", "clusters": ["prod"]}}
    tested = ALL | {"metadata": {"name": "replicas", "clusters": ["prod"]}}
    other = case("x", create("me.a"), principal="User:me")
    put(project, there, tested, test_of("team-prefix", other))
    local = {"url": "embedded:", "brokers": 3}
    policies = ["policies", {"class": "naming:TeamPrefix"}]
    clusters = {"local": local, "prod": local}
    project.write_file(policies=policies, clusters=clusters, defaultCluster="local")  # type: ignore[dict-item]
    assert "1 case passed." in kgitops("policy", "test", project.folder).out
    assert "All 4 cases" in kgitops("policy", "test", project.folder, "-c", "prod").out


@pytest.mark.slow
def test_coverage_says_what_never_fired_and_what_never_stayed_silent(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, replicas(), test_of("replicas", FEW))
    ran = kgitops("policy", "test", project.folder, "--coverage", "--min", "66")
    assert ran.code == 1
    rows = [line.split() for line in ran.out.splitlines() if " validation " in line]
    assert [row[3:5] for row in rows] == [["yes", "no"], ["no", "yes"]]
    assert re.search(r"team-prefix +CreateTopic +no +no +\S+naming\.py:17:1", ran.out)
    assert (
        "Coverage is 33.3 %: 3 rules did not both deny and let pass; --min asks for 66 %."
        in ran.out
    )
    assert kgitops("policy", "test", project.folder, "--min", "33").code == 0


def test_everything_covered_is_100_percent(project: Project, kgitops: Kgitops) -> None:
    yes = case("named so", create("me.a"), principal="User:me")
    no = case("not so", create("a"), principal="User:me", expect=[{"address": "topic/a"}])
    put(project, replicas(), ALL, test_of("team-prefix", yes, no))
    ran = kgitops("policy", "test", project.folder, "--coverage", "--min", "100")
    assert (ran.code, "Coverage is 100 %." in ran.out) == (0, True), ran.said


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


def test_no_mutants_are_tried_while_cases_fail(project: Project, kgitops: Kgitops) -> None:
    put(project, replicas(), test_of("replicas", case("no", create("a", factor=1))))
    ran = kgitops("policy", "test", project.folder, "--mutate")
    assert (ran.code, "No mutants were tried: correct what failed first." in ran.out) == (1, True)


def test_a_path_tests_only_what_lies_there(write: Project, kgitops: Kgitops) -> None:
    other = write.folder / "policies/other.yaml"
    cases = (case("a", create("me.a"), principal="User:me"),)
    other.write_text(as_yaml([test_of("team-prefix", *cases)]))
    ran = kgitops("policy", "test", other, "--coverage")
    assert (ran.code, "All" in ran.out, "replicas" in ran.out) == (0, False, False)
    assert "1 case passed." in ran.out


def test_a_class_that_no_project_names_is_tested_with_its_configs(
    here: Path, kgitops: Kgitops
) -> None:
    spec = {
        "class": "kgitops.policies:PartitionRange",
        "configs": {"max": 3},
        "cases": [
            case("four", create("a", partitions=4), expect=[{"address": "topic/a"}]),
            case("three", create("a", partitions=3)),
        ],
    }
    (here / "t.yaml").write_text(as_yaml([document("PolicyTest", "t", **spec)]))  # type: ignore[arg-type]
    ran = kgitops("policy", "test", "t.yaml")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "ok    t  2 cases  partition-range  t.yaml")


def test_policies_beside_the_tests_count_where_there_is_no_project(
    here: Path, kgitops: Kgitops
) -> None:
    (here / "all.yaml").write_text(as_yaml([replicas(), ALL]))
    assert kgitops("policy", "test", "all.yaml").code == 0


def test_a_policy_that_fails_never_counts_as_a_denial(project: Project, kgitops: Kgitops) -> None:
    broken = replicas(validations=[{"expression": "int(requested.name) > 0", "message": "no"}])
    expected = case("x", create("a"), expect=[{"address": "topic/a"}])
    put(project, broken, test_of("replicas", expected))
    ran = kgitops("policy", "test", project.folder)
    assert ran.code == 1
    assert ran.out.count("expected  replicas: topic/a judged") == 1
    assert ran.out.count("expected  ") == 1
    assert "correct the policy: where it fails, it denies" in ran.out


def test_json_holds_everything(project: Project, kgitops: Kgitops) -> None:
    put(project, replicas(), test_of("replicas", FEW))
    words = ("--coverage", "--mutate", "--format", "json")
    ran = kgitops("policy", "test", project.folder, *words)
    content = json.loads(ran.out)
    assert (content["kind"], content["format_version"]) == ("kgitops.policy-test", "1.0")
    assert content["untested"] == ["team-prefix"]
    (suite,) = content["suites"]
    assert (suite["policy"], [one["passed"] for one in suite["cases"]]) == ("replicas", [True])
    assert {rule["rule"] for rule in content["coverage"]["rules"]} == {
        "validation 1",
        "validation 2",
        "CreateTopic",
    }
    mutation = content["mutation"]
    assert mutation["caught"] + len(mutation["survivors"]) == mutation["mutants"]
    assert content["summary"]["passed"] is (ran.code == 0)


def test_junit_counts_what_failed(project: Project, kgitops: Kgitops) -> None:
    wrong = case("<bad> & \x1b[31mred", create("a", factor=1))
    put(project, replicas(), test_of("replicas", wrong, EDGE))
    ran = kgitops("policy", "test", project.folder, "--coverage", "--format", "junit")
    assert ran.code == 1
    assert "\x1b" not in ran.out
    root = JUnitXml.fromstring(ran.out.encode())
    assert (root.tests, root.failures, root.errors) == (3, 1, 0)
    suite = next(iter(root))
    assert isinstance(suite, TestSuite)
    first, second = suite
    assert (first.name, second.name) == ("<bad> & \\x1b[31mred", "just enough")
    (failure,) = first.result
    assert failure.message == "denied: too few replicas"
    assert re.match(r"\S+all\.yaml:\d+:\d+: expected replicas: topic/a not", failure.text)


@pytest.mark.slow
def test_junit_fails_for_mutants_only_below_the_score(project: Project, kgitops: Kgitops) -> None:
    put(project, replicas(), test_of("replicas", FEW))
    for least, failures in (("0", 0), ("100", 1)):
        words = ("--mutate", "--min-score", least, "--format", "junit")
        root = JUnitXml.fromstring(kgitops("policy", "test", project.folder, *words).out.encode())
        assert root.failures == failures


def waiver(days: int) -> Document:
    ends = datetime.now(UTC).date() + timedelta(days=days)
    return document(
        "Waiver",
        "once",
        policy="team-prefix",
        address="topic/orders",
        owner="me",
        reason="old",
        ticket="T-1",
        expires=str(ends),
    )


def test_list_shows_levels_requests_and_waivers(project: Project, kgitops: Kgitops) -> None:
    put(project, replicas(), ALL, waiver(20))
    levels = {"replicas": "advisory"}
    local = {"url": "embedded:.kgitops/local.db", "policyLevels": levels}
    policies = ["policies", {"class": "naming:TeamPrefix", "level": "soft"}]
    project.write_file(policies=policies, clusters={"local": local})  # type: ignore[dict-item]
    ran = kgitops("policy", "list", project.folder)
    assert ran.code == 0
    _, first, second, _, last = ran.out.splitlines()
    assert first.split()[:6] == ["replicas", "advisory", "hard", "CEL", "CreateTopic", "-"]
    assert second.split()[:6] == ["team-prefix", "soft", "soft", "Python", "CreateTopic", "1"]
    assert last == "2 policies on local."
    listed = json.loads(kgitops("policy", "list", project.folder, "--format", "json").out)
    assert [item["name"] for item in listed["policies"]] == ["replicas", "team-prefix"]
    assert listed["policies"][0]["levels"] == {"local": "advisory"}
    (held,) = listed["policies"][1]["waivers"]
    assert (held["address"], held["days_left"]) == ("topic/orders", 20)


def test_a_project_without_policies_lists_none(project: Project, kgitops: Kgitops) -> None:
    project.write(topic())
    ran = kgitops("policy", "list", project.folder)
    assert (ran.code, "has no policies" in ran.out) == (0, True)


def test_explain_shows_a_policy_in_cel_with_its_lines(write: Project, kgitops: Kgitops) -> None:
    ran = kgitops("policy", "explain", "replicas", write.folder)
    assert ran.code == 0
    for text in (
        "replicas  hard on local  CEL",
        "Topics survive.",
        "What to do: Add replicas.",
        "CreateTopic",
        "else: too few replicas",
        "policy: replicas",
    ):
        assert text in ran.out
    place = re.search(r"requested\.replicationFactor >= 2  # \S+all\.yaml:(\d+):\d+", ran.out)
    assert place
    text = (write.folder / "policies/all.yaml").read_text().splitlines()[int(place[1]) - 1]
    assert "requested.replicationFactor >= 2" in text
    assert "kind: Waiver" not in ran.out  # it is hard


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


def test_the_waiver_of_a_policy_on_acls_has_an_address_of_one(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, replicas(level="soft", match={"requests": ["CreateAcl"]}, validations=NEVER))
    shown = kgitops("policy", "explain", "replicas", project.folder).out
    assert 'address: "acl/User:*/Allow/All/topic/literal/*@*"' in shown


def test_a_policy_that_judges_everything_keeps_its_row_short(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, replicas(match={"requests": MANY_REQUESTS}, validations=NEVER))
    listed = kgitops("policy", "list", project.folder).out
    assert "CreateTopic, AlterTopic, DeleteTopic and 2 more  " in listed


def test_explain_does_not_take_a_bases_words_for_the_policys(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, policies=[{"class": "own:NoDeletes"}])
    (project.folder / "own.py").write_text(
        "from kgitops.policy import BaseTopicPolicy, PolicyViolation\n"
        "class NoDeletes(BaseTopicPolicy):\n"
        "    def validate_delete_topic(self, request, cluster_state):\n"
        "        raise PolicyViolation('no')\n"
    )
    ran = kgitops("policy", "explain", "no-deletes", project.folder)
    assert ran.code == 0, ran.said
    assert "own:NoDeletes" in ran.out
    assert "accepts everything" not in ran.out


def test_explain_says_what_a_class_can_be_configured_with(
    project: Project, kgitops: Kgitops
) -> None:
    policies = [{"class": "kgitops.policies:PartitionRange", "configs": {"max": 7}}]
    put(project, policies=policies)
    (project.folder / "policies/all.yaml").unlink()
    ran = kgitops("policy", "explain", "partition-range", project.folder)
    assert "max: 7  (the most partitions of a topic)" in ran.out
    assert "topics: * by default" in ran.out
    explained = json.loads(
        kgitops("policy", "explain", "partition-range", project.folder, "--format=json").out
    )
    assert explained["configs"] == {"max": "7"}


def test_a_policy_that_cannot_be_loaded_is_listed_all_the_same(
    project: Project, kgitops: Kgitops
) -> None:
    put(project, policies=[{"class": "nowhere:Nothing"}])
    ran = kgitops("policy", "list", project.folder)
    assert (ran.code, "unknown: it can't be loaded" in ran.out) == (0, True)


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
