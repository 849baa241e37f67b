"""Policies that stand beside a project, or without any: those of a whole fleet."""

from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.policed import policy, waiver, write_policies
from cli.projects import Document, Project, as_yaml, document, topic

from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import DesiredTopic
from kgitops.policy.evaluate.bundle import Bundle, Level
from kgitops.workflow.loading import loaded
from kgitops.workflow.policies import load_policies, load_policies_from, open_policies
from kgitops.workflow.project.selection import Selection, open_workspace

ONE = [{"createTopic": {"name": "orders", "partitions": 1, "replicationFactor": 3}}]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """With the policies ``own`` (soft) and ``naming`` (hard) beside one topic."""
    project = Project(tmp_path / "project").write(topic())
    write_policies(
        project,
        policy("own", "soft"),
        policy("naming"),
        cluster={"policyLevels": {"own": "advisory"}},
    )
    return project


def beside(tmp_path: Path, *documents: Document) -> Path:
    folder = tmp_path / "fleet"
    folder.mkdir(exist_ok=True)
    (folder / "rules.yaml").write_text(as_yaml(documents))
    return folder


def levels(bundle: Bundle) -> Mapping[str, Level]:
    return {one.name: one.level for one in bundle.policies}


def of(project: Project, *paths: Path) -> Bundle:
    selection = Selection(paths=[project.folder], policies=paths, environ={})
    return load_policies(open_workspace(selection))


def problems(error: pytest.ExceptionInfo[FindingsError]) -> str:
    return "\n".join(map(str, error.value.findings))


def test_they_judge_beside_a_projects_own(project, tmp_path):
    rules = beside(tmp_path, policy("fleet", "soft"))
    assert levels(of(project)) == {"own": Level.ADVISORY, "naming": Level.HARD}
    assert levels(of(project, rules)) == {**levels(of(project)), "fleet": Level.SOFT}
    assert levels(of(project, rules / "rules.yaml")) == levels(of(project, rules))


def test_no_project_weakens_them(project, tmp_path):
    """Nor names one: its own plans would not know it."""
    rules = beside(tmp_path, policy("fleet"))
    write_policies(project, policy("own"), cluster={"policyLevels": {"fleet": "off"}})
    with pytest.raises(FindingsError) as error:
        of(project, rules)
    assert "the project has no policy 'fleet'; its policies are own" in problems(error)


def test_a_name_that_a_project_has_too_is_a_finding(project, tmp_path):
    rules = beside(tmp_path, policy("own"), policy("twice"), policy("twice"))
    with pytest.raises(FindingsError) as error:
        of(project, rules)
    assert problems(error).count("is here and at") == 2
    assert "the policy own is here and at" in problems(error)
    with pytest.raises(FindingsError) as error:
        load_policies_from([rules], cluster="prod", environ={})
    assert problems(error).count("is here and at") == 1


def test_a_file_that_is_the_projects_own_too_is_read_once(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    selection = Selection(policies=[Path("policies")], environ={})
    assert levels(load_policies(open_workspace(selection))) == levels(of(project))


def test_without_a_project_they_are_the_only_ones(tmp_path):
    """Each on its clusters, with waivers that hold, and tests left to policy test."""
    here = {"metadata": {"name": "here", "clusters": ["prod", "other"]}}
    there = {"metadata": {"name": "there", "clusters": ["other"]}}
    rules = beside(
        tmp_path,
        policy("fleet", "soft"),
        policy() | here,
        policy() | there,
        waiver(policy="fleet", expires="9999-01-01"),
        document("PolicyTest", "tries", policy="fleet", cases=[{"name": "one", "requests": ONE}]),
    )
    found = load_policies_from([rules], cluster="prod", environ={})
    assert levels(found) == {"fleet": Level.SOFT, "here": Level.HARD}
    assert found.waivers == ()
    assert "longer than 90 days" in str(found.warnings[0])
    assert levels(load_policies_from([], cluster="prod", environ={})) == {}


def test_clusters_that_a_project_does_not_know_are_no_mistake(project, tmp_path):
    only = {"metadata": {"name": "fleet", "clusters": ["eu-1", "eu-2"]}}
    assert levels(of(project, beside(tmp_path, policy() | only))) == levels(of(project))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (topic(), "a Topic is among the policies, so nothing would plan it"),
        (policy("broker"), "so no other may be"),
        (policy(expression="${env:SECRET}"), "takes a value from the environment"),
        (policy(expression="${var:LIMIT}"), "LIMIT"),
    ],
    ids=["a topic", "a name of the brokers'", "a secret", "a project's variable"],
)
def test_what_is_wrong_there_is_a_finding(project, tmp_path, document, said):
    rules = beside(tmp_path, document)
    environ = {"SECRET": "true"}
    with pytest.raises(FindingsError) as error:
        load_policies_from([rules], cluster="prod", environ=environ)
    assert said in problems(error)
    selection = Selection(paths=[project.folder], policies=[rules], environ=environ)
    with pytest.raises(FindingsError) as error:
        load_policies(open_workspace(selection))
    assert said in problems(error)


def test_a_path_that_is_not_there_is_a_finding(tmp_path):
    """A rule that went missing must not look like no rule."""
    with pytest.raises(FindingsError, match="nowhere"):
        load_policies_from([tmp_path / "nowhere"], cluster="prod", environ={})


def test_who_loads_may_open_the_policies_in_a_way_of_its_own(project, tmp_path):
    """As a fleet does, which keeps them open."""
    seen: list[Mapping[str, Level]] = []

    @contextmanager
    def opening(bundle: Bundle):
        seen.append(levels(bundle))
        with open_policies(bundle) as policies:
            yield policies

    selection = Selection(
        paths=[project.folder], policies=[beside(tmp_path, policy("fleet"))], environ={}
    )
    with loaded(open_workspace(selection), opening=opening) as declared:
        assert [item.name for item in declared.desired.of(DesiredTopic)] == ["orders"]
        assert declared.policies.evaluator is not None
    assert seen == [levels(declared.policies.bundle)]
    assert "fleet" in seen[0]
