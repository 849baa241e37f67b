"""Where policies are found, whom they judge, and what is said of those that can't be used."""

import json
from datetime import UTC, datetime

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
from cli.projects import Project, acl, as_yaml, quota, topic

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


def test_a_policy_in_two_places_counts_once(project: Project, kgitops: Kgitops) -> None:
    """Folders may lie in each other."""
    project.write(TWO, policy())
    project.write_file(policies=["manifests/policies"])
    folder = project.folder / "manifests" / "policies"
    folder.mkdir()
    (folder / "more.yaml").write_text(as_yaml([policy("more")]))
    ran = kgitops("plan", project.folder, "--format", "json")
    assert [item["name"] for item in json.loads(ran.out)["policies_loaded"]] == ["more", "replicas"]


# What is wrong with them


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
            "the policy 'policy' can't be loaded: there is no module nowhere",
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


# Whom they judge, and on what


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
