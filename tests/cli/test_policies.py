"""Where policies are found, whom they judge, and what is said of those that can't be used."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.policed import (
    THREE,
    TWO,
    in_process,
    policy,
    set_clock,
    waiver,
    write_module,
    write_policies,
)
from cli.projects import Document, Project, acl, as_yaml, quota, topic

__all__ = ["in_process", "set_clock"]

pytestmark = pytest.mark.usefixtures("in_process")

NAMING = '''
from kgitops.policy import BaseTopicPolicy, PolicyViolation

class TeamPrefix(BaseTopicPolicy):
    """A name begins with its team.

    More of it.
    """

    remediation = "Begin with the team."

    def configure(self, configs):
        self.separator = configs["separator"]

    def validate_create_topic(self, request, cluster_state):
        if str(request.principal) != "User:admin" and self.separator not in request.topic:
            raise PolicyViolation(f"{request.principal} may not", field="name")
'''


def denied(ran: Ran) -> list[str]:
    """The addresses that policies deny, of a plan as JSON."""
    return [
        change["address"]
        for change in json.loads(ran.out)["changes"]
        if any(row["outcome"] == "denied" for row in change["policies"])
    ]


def with_naming(project: Project, **entry: object) -> None:
    write_module(project, "naming", NAMING)
    plain = {"class": "naming:TeamPrefix", "configs": {"separator": "."}}
    project.write_file(policies=[{**plain, **entry}])


# Where they are found


def test_a_policy_in_python_is_found_from_the_projects_folder(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic("orders"), topic("payments.orders"))
    with_naming(project)
    ran = kgitops("plan", project.folder, "--format", "json")
    assert denied(ran) == ["topic/orders"]
    (loaded,) = json.loads(ran.out)["policies_loaded"]
    assert loaded["name"] == "team-prefix"
    assert (loaded["level"], loaded["description"]) == ("hard", "A name begins with its team.")
    assert loaded["remediation"] == "Begin with the team."
    assert (loaded["source"]["file"], loaded["source"]["line"]) == ("payments/kgitops.yaml", 20)


def test_a_policy_in_python_takes_the_name_and_level_that_the_project_gives(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic())
    with_naming(project, name="teams", level="advisory")
    ran = kgitops("plan", project.folder, "--format", "json")
    assert ran.code == 0
    (loaded,) = json.loads(ran.out)["policies_loaded"]
    assert (loaded["name"], loaded["level"]) == ("teams", "advisory")


def test_the_digest_of_a_policy_in_python_covers_class_configs_and_text(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic("a.b"))

    def digest() -> str:
        ran = kgitops("plan", project.folder, "--format", "json")
        return json.loads(ran.out)["policies_loaded"][0]["digest"]

    with_naming(project)
    first = digest()
    with_naming(project, level="soft", name="other")
    assert digest() == first
    with_naming(project, configs={"separator": "-"})
    second = digest()
    write_module(project, "naming", NAMING + "\n# more\n")
    assert len({first, second, digest()}) == 3


def test_one_of_the_pack_is_described(project: Project, kgitops: Kgitops) -> None:
    project.write(TWO)
    entry = {"class": "kgitops.policies:ReplicationFactorRange", "configs": {"min": 3}}
    project.write_file(policies=[entry])
    ran = kgitops("plan", project.folder, "--format", "json")
    assert denied(ran) == ["topic/orders"]
    (loaded,) = json.loads(ran.out)["policies_loaded"]
    assert loaded["description"]
    assert loaded["remediation"]


@pytest.mark.parametrize("where", ["policies", "manifests"])
@pytest.mark.parametrize("part", [".", "manifests/all.yaml", "elsewhere.yaml"])
def test_policies_judge_whatever_part_is_loaded(
    where: str, part: str, project: Project, kgitops: Kgitops
) -> None:
    """Those among the manifests as well, also where their file is not given."""
    project.write(TWO)
    (project.folder / "elsewhere.yaml").write_text(as_yaml([topic("other")]))
    (project.folder / where).mkdir(exist_ok=True)
    (project.folder / where / "policy.yaml").write_text(as_yaml([policy()]))
    project.write_file(policies=["policies"] if where == "policies" else [])
    ran = kgitops("plan", project.folder / part, "--format", "json")
    assert ran.code == 3
    assert len(denied(ran)) == 1
    ran = kgitops("apply", project.folder / part, "--auto-approve")
    assert ran.code == 3
    assert project.records() == []


def test_a_policy_that_an_escape_hides_from_a_search_judges(
    project: Project, kgitops: Kgitops
) -> None:
    r"""``kind: "Pol\x69cy"`` is the kind Policy to YAML."""
    project.write(TWO)
    text = as_yaml([policy()]).replace('"kind": "Policy"', r'"kind": "Pol\x69cy"')
    assert "Policy" not in text
    (project.folder / "manifests" / "policy.yaml").write_text(text)
    assert kgitops("plan", project.folder / "manifests" / "all.yaml").code == 3


def test_what_is_wrong_with_other_manifests_does_not_stop_a_part(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic(partitions=0), {**policy(), "spec": {"validations": []}})
    (project.folder / "other.yaml").write_text(as_yaml([topic("other")]))
    ran = kgitops("plan", project.folder / "other.yaml")
    assert ran.code == 1
    assert "spec.validations must not be empty" in ran.said
    assert "spec.partitions" not in ran.said
    project.write(topic(partitions=0))
    assert kgitops("plan", project.folder / "other.yaml").code == 0


def test_a_policy_in_two_places_counts_once(project: Project, kgitops: Kgitops) -> None:
    """Folders may lie in each other."""
    project.write(TWO, policy())
    project.write_file(policies=["manifests/policies"])
    folder = project.folder / "manifests" / "policies"
    folder.mkdir()
    (folder / "more.yaml").write_text(as_yaml([policy("more")]))
    ran = kgitops("plan", project.folder, "--format", "json")
    assert [item["name"] for item in json.loads(ran.out)["policies_loaded"]] == ["more", "replicas"]


def test_a_policy_without_a_project_judges_the_paths_it_is_among(
    here: Path, kgitops: Kgitops
) -> None:
    (here / "all.yaml").write_text(as_yaml([THREE, policy()]))
    assert kgitops("plan", "all.yaml", "-o", "plan.json").code == 0
    ran = kgitops("apply", "plan.json")
    assert ran.code == 3
    assert "the policy replicas, which was hard when the plan was made, is not loaded" in ran.said
    assert kgitops("apply", "all.yaml", "--auto-approve").code == 0


def test_a_policy_for_other_clusters_judges_nothing_here(
    project: Project, kgitops: Kgitops
) -> None:
    """And neither do its waivers have anything to say."""
    project.write(TWO)
    elsewhere = policy()
    elsewhere["metadata"]["clusters"] = ["prod"]  # type: ignore[index, call-overload]
    write_policies(project, elsewhere, waiver())
    levels = {"policyLevels": {"replicas": "soft"}}
    clusters = {name: {"url": "embedded:", "brokers": 3, **levels} for name in ("local", "prod")}
    project.write_file(clusters=clusters, policies=["policies"])
    ran = kgitops("plan", project.folder, "-c", "local", "--format", "json")
    assert (ran.code, json.loads(ran.out)["policies_loaded"]) == (0, [])
    assert json.loads(ran.out)["warnings"] == []


def test_levels_are_those_of_the_chosen_cluster(project: Project, kgitops: Kgitops) -> None:
    project.write(TWO)
    write_policies(project, policy())
    clusters = {
        name: {"url": "embedded:", "brokers": 3, "policyLevels": {"replicas": level}}
        for name, level in {"dev": "advisory", "prod": "hard"}.items()
    }
    project.write_file(clusters=clusters, policies=["policies"])
    assert kgitops("plan", project.folder, "-c", "dev").code == 0
    assert kgitops("plan", project.folder, "-c", "prod").code == 3


def test_a_url_is_judged_at_the_strictest_level_of_any_cluster(
    project: Project, kgitops: Kgitops
) -> None:
    """A URL may name the very cluster that the project is strict on: it is no way around that."""
    project.write(TWO)
    write_policies(project, policy(level="advisory"))
    clusters = {
        name: {"url": "embedded:", "brokers": 3, "policyLevels": {"replicas": level}}
        for name, level in {"dev": "off", "prod": "hard"}.items()
    }
    project.write_file(clusters=clusters, policies=["policies"])
    assert kgitops("plan", project.folder, "-c", "dev").code == 0
    assert kgitops("plan", project.folder, "-c", "embedded:").code == 3


def test_a_url_is_judged_by_the_policies_of_every_cluster(
    project: Project, kgitops: Kgitops
) -> None:
    """A placeholder that only that cluster has a value for stops the run: nothing is decided."""
    project.write(TWO)
    of_prod = policy()
    of_prod["metadata"]["clusters"] = ["prod"]  # type: ignore[index, call-overload]
    write_policies(project, of_prod)
    clusters: Document = {name: {"url": "embedded:", "brokers": 3} for name in ("dev", "prod")}
    project.write_file(clusters=clusters, policies=["policies"])
    assert kgitops("plan", project.folder, "-c", "dev").code == 0
    assert kgitops("plan", project.folder, "-c", "embedded:").code == 3
    of_prod["spec"]["validations"] = [  # type: ignore[index, call-overload]
        {"expression": "requested.replicationFactor >= ${var:least}"}
    ]
    write_policies(project, of_prod, clusters=clusters)
    assert kgitops("plan", project.folder, "-c", "dev").code == 0
    assert kgitops("plan", project.folder, "-c", "embedded:").code == 1


def test_manifests_that_are_not_there_may_hold_policies(project: Project, kgitops: Kgitops) -> None:
    """A part is not judged without them, say where only a part was checked out."""
    project.write(TWO)
    project.write_file(manifests=["manifests", "rules"])
    ran = kgitops("plan", project.folder / "manifests")
    assert ran.code == 1
    assert "rules does not exist; correct the path" in ran.said


@pytest.mark.parametrize("part", [".", "manifests"])
def test_a_project_file_that_links_to_nothing_may_name_policies(
    part: str, project: Project, kgitops: Kgitops
) -> None:
    project.write(TWO)
    (project.folder / "kgitops.yaml").unlink()
    (project.folder / "kgitops.yaml").symlink_to("nowhere.yaml")
    ran = kgitops("plan", project.folder / part)
    assert ran.code == 1
    assert "kgitops.yaml links to nothing; correct the link" in ran.said


def test_a_policy_takes_nothing_from_the_environment(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    project.write(THREE)
    write_policies(project, policy("leaky", expression="requested.name != '${env:TOKEN}'"))
    ran = kgitops("plan", project.folder)
    assert ran.code == 1
    assert "the policy leaky takes a value from the environment" in ran.err
    assert "hunter2" not in ran.out + ran.err


def test_placeholders_of_a_policy_are_the_clusters_variables(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(TWO)
    write_policies(project, policy(expression="requested.replicationFactor >= ${var:least}"))
    for least, code in ((2, 0), (3, 3)):
        project.write_file(cluster={"variables": {"least": least}}, policies=["policies"])
        assert kgitops("plan", project.folder).code == code


# What is wrong with them


def test_a_policy_that_cannot_be_read_is_not_said_to_be_missing_too(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(THREE)
    write_policies(project, policy(levle="soft"))
    clusters = {"local": {"url": "embedded:", "policyLevels": {"replicas": "hard"}}}
    project.write_file(clusters=clusters, policies=["policies"])
    ran = kgitops("plan", project.folder)
    assert ran.code == 1
    assert "levle" in ran.err
    assert "has no policy" not in ran.err


def test_a_class_that_is_misspelt_is_named_as_it_is_written(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(THREE)
    project.write_file(policies=[{"class": "rules.naming.TeamPrefix"}])
    ran = kgitops("plan", project.folder)
    assert ran.code == 1
    assert "the policy rules" in ran.err


def test_a_project_of_policies_alone_needs_no_manifests(project: Project, kgitops: Kgitops) -> None:
    """Unless it says where they are: then they may hold policies, and must be there."""
    write_policies(project, policy())
    file = project.folder / "kgitops.yaml"
    said = file.read_text()
    file.write_text(re.sub(r'"manifests": \[[^]]*\],', "", said))
    assert "manifests" not in file.read_text()
    assert "there is no PolicyTest in" in kgitops("policy", "test", project.folder).err
    listed = kgitops("policy", "list", project.folder)
    assert (listed.code, "replicas" in listed.out) == (0, True), listed.said
    file.write_text(said)
    assert "manifests does not exist" in kgitops("policy", "list", project.folder).err


def test_the_name_of_the_brokers_own_policies_is_taken(project: Project, kgitops: Kgitops) -> None:
    project.write(THREE)
    write_policies(project, policy("broker"))
    ran = kgitops("plan", project.folder)
    assert ran.code == 1
    assert "policies/all.yaml:6:13: " in ran.err
    assert "reports name the brokers' own policies broker, so no other may be; choose" in ran.err


@pytest.mark.parametrize(
    ("documents", "spec", "says"),
    [
        (
            [policy(), policy()],
            {},
            "yaml:30:13: the policy replicas is here and at payments/policies/all.yaml:6:13",
        ),
        (
            [policy()],
            {"cluster": {"policyLevels": {"replica": "soft"}}},
            "kgitops.yaml:18:11: the project has no policy 'replica'; did you mean replicas?",
        ),
        ([policy(level="strict")], {}, "spec.level must be one of info, advisory, soft, hard, off"),
        ([topic()], {}, "a Topic is among the policies, so nothing would plan it"),
        ([policy(expression="requested.replicas >= 3")], {}, "replicas"),
        ([policy(), waiver(), waiver()], {}, "the waiver old is here and at"),
        ([policy()], {"policies": ["polices"]}, "polices does not exist; correct the path"),
        (
            [],
            {"policies": [{"class": "nowhere:Policy"}]},
            "the policy policy can't be loaded: there is no module nowhere",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_stops_every_command_with_nothing_sent(
    documents: list[dict[str, object]],
    spec: dict[str, object],
    says: str,
    project: Project,
    kgitops: Kgitops,
) -> None:
    project.write(THREE)
    kgitops("plan", project.folder, "-o", project.plan_file)
    write_policies(project, *documents)
    project.write_file(**({"policies": ["policies"]} | spec))
    before = project.records()
    for words in (
        ("validate", project.folder),
        ("plan", project.folder),
        ("apply", project.folder, "--auto-approve"),
        ("apply", project.plan_file),
        ("apply", project.folder, "--resume", "--auto-approve"),
    ):
        ran = kgitops(*words)
        assert ran.code == 1, words
        assert says in ran.said
        assert "where it should not" not in ran.said
    assert project.records() == before


def test_everything_that_is_wrong_is_said_at_once(project: Project, kgitops: Kgitops) -> None:
    project.write(topic(partitions=0))
    write_policies(project, policy(level="strict"), waiver(expires="soon"))
    project.write_file(policies=["policies", {"class": "nowhere:Policy"}])
    ran = kgitops("validate", project.folder)
    for words in ("spec.partitions", "spec.level", "spec.expires"):
        assert words in ran.said
    write_policies(project)
    project.write_file(policies=["policies", {"class": "nowhere:Policy"}])
    ran = kgitops("validate", project.folder)
    for words in ("spec.partitions", "no module nowhere"):
        assert words in ran.said


def test_the_environment_is_not_shown(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hunter22")
    project.write(TWO)
    write_policies(project, policy(level="${env:SECRET}"))
    ran = kgitops("validate", project.folder)
    assert ran.code == 1
    assert "${env:SECRET}" in ran.said
    assert "hunter22" not in ran.said


# Whom they judge, and on what


def test_the_principal_decides(project: Project, kgitops: Kgitops) -> None:
    """P201-12, P201-51: --as, else the project's principal, else User:ANONYMOUS."""
    project.write(topic())
    with_naming(project)
    assert "User:ANONYMOUS may not" in kgitops("plan", project.folder).said
    assert kgitops("plan", project.folder, "--as", "User:admin").code == 0
    project.write_file(
        policies=[{"class": "naming:TeamPrefix", "configs": {"separator": "."}}],
        principal="User:sales",
    )
    assert "User:sales may not" in kgitops("plan", project.folder).said
    ran = kgitops("apply", project.folder, "--as", "User:admin", "--auto-approve")
    assert ran.code == 0, ran.said


def test_a_cap_holds_for_a_batch_and_for_one_after_another(
    project: Project, kgitops: Kgitops
) -> None:
    """P201-41: neither many topics in one plan, nor one plan after another, pass it."""
    cap = policy("cap", expression="cluster.partitions + requested.partitions <= 10")
    cap["spec"]["match"] = {"requests": ["CreateTopic"]}  # type: ignore[index, call-overload]
    three = [topic(name, partitions=4) for name in ("a", "b", "c")]
    project.write(*three)
    write_policies(project, cap)
    ran = kgitops("plan", project.folder, "--format", "json")
    assert (ran.code, denied(ran)) == (3, ["topic/c"])
    assert kgitops("apply", project.folder, "--auto-approve").code == 3
    assert project.records() == []
    for document, code in zip(three, (0, 0, 3), strict=True):
        (project.folder / "one.yaml").write_text(as_yaml([document]))
        ran = kgitops("apply", project.folder / "one.yaml", "--auto-approve")
        assert ran.code == code, ran.said


def test_what_was_planned_apart_is_judged_together_when_it_is_applied(
    project: Project, kgitops: Kgitops
) -> None:
    """Each of two plans keeps to the cap: the second to be applied breaks it and sends nothing."""
    cap = policy("cap", expression="cluster.partitions + requested.partitions <= 10")
    cap["spec"]["match"] = {"requests": ["CreateTopic"]}  # type: ignore[index, call-overload]
    project.write(topic("a", partitions=6))
    write_policies(project, cap)
    other = project.folder / "other.yaml"
    other.write_text(as_yaml([topic("b", partitions=6)]))
    second = project.folder / "second.json"
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    assert kgitops("plan", other, "-o", second).code == 0
    assert kgitops("apply", project.plan_file).code == 0
    before = project.records()
    ran = kgitops("apply", second)
    assert ran.code == 3
    assert "other.yaml:2:1: the hard policy cap denies topic/b" in ran.said
    assert project.records() == before


def test_a_plan_never_changes_anything(project: Project, kgitops: Kgitops) -> None:
    """P201-76, P108-24: judged as often as one likes, with the same words."""
    project.write(topic(), acl(), quota())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    write_policies(project, policy())
    project.write(topic(partitions=5, configs={"retention.ms": 1000}))
    project.write_file(policies=["policies"], safety={"maxDeletePercent": 100})
    before = project.records()
    plans = [json.loads(kgitops("plan", project.folder, "--format", "json").out) for _ in "ab"]
    assert plans[0]["plan_digest"] == plans[1]["plan_digest"]
    assert project.records() == before


def test_a_snapshot_is_judged_like_the_cluster(project: Project, kgitops: Kgitops) -> None:
    project.write(THREE)
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    state = project.folder / "state.json"
    assert kgitops("snapshot", project.folder, "-o", state).code == 0
    project.write(topic(partitions=5, replicationFactor=3))
    write_policies(project, policy(expression="requested.partitions <= 4"))
    for words in ((), ("--snapshot", state)):
        ran = kgitops("plan", project.folder, "--format", "json", *words)
        assert (ran.code, denied(ran)) == (3, ["topic/orders"])


def test_drift_asks_no_policy(project: Project, kgitops: Kgitops) -> None:
    """It is no change that anyone asks for, and must be told also where it breaks a rule."""
    project.write(TWO)
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    write_policies(project, policy(expression="false"))
    assert kgitops("drift", project.folder).code == 0


@pytest.mark.parametrize(
    "rule", [policy(), policy(expression="requested.configs['no'] == 'such key'")]
)
def test_a_denial_is_said_once_where_brokers_judge_as_well(
    rule: Document, project: Project, kgitops: Kgitops
) -> None:
    project.write(TWO)
    write_policies(project, rule)
    ran = kgitops("apply", project.folder, "--auto-approve", "--format", "json")
    assert ran.code == 3
    assert len(json.loads(ran.out.splitlines()[-1])["verdict"]["reasons"]) == 1


def test_brokers_do_not_deny_what_only_an_earlier_request_makes_right(
    project: Project, kgitops: Kgitops
) -> None:
    """They judge a plan's requests one by one; the plan knows what comes before (P201-41)."""
    text = """
from kgitops.policy import BaseTopicPolicy, PolicyViolation

class AfterA(BaseTopicPolicy):
    def validate_alter_topic(self, request, cluster_state):
        if cluster_state.topic_state("a") is None:
            raise PolicyViolation("a comes first")
"""
    project.write(topic("b"))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.write(topic("a"), topic("b", configs={"retention.ms": 1000}))
    write_module(project, "after", text)
    project.write_file(policies=[{"class": "after:AfterA"}])
    ran = kgitops("apply", project.folder, "--auto-approve")
    assert ran.code == 0, ran.said


def test_a_resume_is_denied_by_what_the_policies_say_now(
    project: Project, kgitops: Kgitops
) -> None:
    """Contract §6: what has not begun is judged; the run did begin, so the exit is 6."""
    acls = {"requests": ["CreateAcl"]}
    project.write(topic(), acl())
    write_policies(project, policy("readers", expression="true", match=acls))
    project.write_file(policies=["policies"])
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    broken = {"url": "embedded:.kgitops/local.db?authorizer=disabled"}
    project.write_file(policies=["policies"], cluster=broken)
    assert kgitops("apply", project.plan_file).code == 6
    write_policies(project, policy("readers", expression="false", match=acls))
    ran = kgitops("apply", project.folder, "--resume", "--auto-approve")
    assert ran.code == 6
    assert "the hard policy readers denies acl/User:billing" in ran.said
    write_policies(project)
    project.write_file()
    ran = kgitops("apply", "--resume", "-c", "local", "--auto-approve", project.folder)
    assert "the policy readers, which was hard when the plan was made, is not loaded" in ran.said


def test_the_clock_is_the_same_for_a_plan_and_its_waivers(
    project: Project, kgitops: Kgitops, set_clock
) -> None:
    set_clock(datetime(2031, 1, 1, tzinfo=UTC))
    project.write(TWO)
    write_policies(project, policy(level="soft"), waiver(expires="2031-01-01"))
    assert kgitops("plan", project.folder, "-o", project.plan_file).code == 0
    assert json.loads(project.plan_file.read_text())["envelope"]["created"].startswith("2031-01-01")
    assert kgitops("apply", project.plan_file).code == 0
