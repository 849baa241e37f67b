"""No policy and no project is skipped because its file was renamed or was not checked out."""

import os
import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, as_yaml, document, topic
from reconcile.sources.repositories import run

DENIES = document(
    "Policy",
    "no-topics",
    match={"requests": ["CreateTopic"]},
    validations=[{"expression": "false", "message": "no topics"}],
)
TEST = document(
    "PolicyTest",
    "no-topics",
    policy="no-topics",
    cases=[
        {
            "name": "any",
            "requests": [{"createTopic": {"name": "a", "partitions": 1, "replicationFactor": 1}}],
            "expect": [{"address": "topic/a", "outcome": "denied"}],
        }
    ],
)
OF_PACK = document(
    "PolicyTest",
    "range",
    **{"class": "kgitops.policies:PartitionRange", "configs": {"max": 3}},
    cases=[
        {
            "name": "one",
            "requests": [{"createTopic": {"name": "a", "partitions": 1, "replicationFactor": 1}}],
        }
    ],
)
LOOKS_LIKE = "the name looks like a manifest's, but files with this ending are not read"


@pytest.fixture
def policed(project: Project) -> Project:
    """A project whose policy denies all topics, with a test of it."""
    project.write(topic("a"))
    project.write_file(policies=["policies"])
    team = project.folder / "policies" / "team"
    team.mkdir(parents=True)
    (team / "no.yaml").write_text(as_yaml([DENIES]))
    (team / "no.test.yaml").write_text(as_yaml([TEST]))
    return project


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def pipe_in_capitals(file: Path) -> None:
    file.unlink()
    os.mkfifo(file.with_suffix(".YAML"))


def link_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


MISTAKES = {
    "capitals": lambda file: file.rename(file.with_suffix(".YAML")),
    "another ending": lambda file: file.rename(file.with_suffix(".yaml.tmp")),
    "pipe": pipe,
    "a pipe in capitals": pipe_in_capitals,
    "link": link_to_nothing,
    "folder": folder,
}
COMMANDS = (["plan"], ["validate"], ["policy", "list"], ["policy", "test"])


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("name", ["no.yaml", "no.test.yaml"])
def test_a_document_of_a_policy_folder_is_not_skipped(
    policed: Project, kgitops: Kgitops, mistake: str, name: str
) -> None:
    MISTAKES[mistake](policed.folder / "policies" / "team" / name)
    for command in COMMANDS:
        ran = kgitops(*command, policed.folder)
        assert ran.code == 1, (command, ran.said)
        assert "payments/policies/team/no" in ran.said


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_policy_among_manifests_judges_a_part_or_nothing_is_planned(
    policed: Project, kgitops: Kgitops, mistake: str
) -> None:
    manifests = policed.folder / "manifests"
    (policed.folder / "policies" / "team" / "no.yaml").rename(manifests / "no.yaml")
    part = manifests / "all.yaml"
    assert kgitops("plan", part).code == 3
    MISTAKES[mistake](manifests / "no.yaml")
    for command in (["plan", part], ["apply", "--auto-approve", part], ["policy", "list", part]):
        ran = kgitops(*command)
        assert ran.code == 1, (command, ran.said)
        assert "payments/manifests/no." in ran.said
    assert policed.records() == []


def test_an_applied_plan_is_judged_by_all_policies_or_refused(
    policed: Project, kgitops: Kgitops
) -> None:
    rules = policed.folder / "policies" / "team" / "no.yaml"
    away = policed.folder / "away"
    rules.rename(away)
    assert kgitops("plan", policed.folder, "-o", "plan.json").code == 0
    away.rename(policed.folder / "manifests" / "no.yaml.new")
    ran = kgitops("apply", "plan.json")
    assert (ran.code, LOOKS_LIKE in ran.said) == (1, True), ran.said


def test_the_profile_of_a_part_is_not_skipped(project: Project, kgitops: Kgitops) -> None:
    project.write(topic("a"))
    shared = project.folder / "manifests" / "shared"
    shared.mkdir()
    (shared / "profiles.YAML").write_text(as_yaml([document("TopicProfile", "p", partitions=1)]))
    ran = kgitops("plan", project.folder / "manifests" / "all.yaml")
    assert (ran.code, "shared/profiles.YAML:1:1: the name looks" in ran.said) == (1, True), ran.said


def test_a_folder_of_policies_that_is_empty_is_an_error(policed: Project, kgitops: Kgitops) -> None:
    team = policed.folder / "policies" / "team"
    (policed.folder / "policies" / "other.yaml").write_text(as_yaml([TEST]))
    for file in team.iterdir():
        file.unlink()
    words = (
        "the folder payments/policies/team is empty, so files may be missing; put its files back, "
        "or remove the folder"
    )
    for command in (["plan"], ["validate"], ["apply", "--auto-approve"], ["policy", "list"]):
        ran = kgitops(*command, policed.folder)
        assert (ran.code, words in ran.said) == (1, True), ran.said
    (team / ".gitkeep").touch()
    assert words not in kgitops("plan", policed.folder).said


@pytest.mark.parametrize("kept", [None, ".gitkeep", "tests.yaml"])
def test_a_folder_of_policies_may_be_empty_or_hold_tests_only(
    policed: Project, kgitops: Kgitops, kept: str | None
) -> None:
    """A new project has no policy yet; the folder itself must be there."""
    policies = policed.folder / "policies"
    shutil.rmtree(policies)
    policies.mkdir()
    if kept is not None:
        (policies / kept).write_text(as_yaml([OF_PACK]))
    for command in (["validate"], ["plan"], ["policy", "list"], ["policy", "audit"], ["apply"]):
        auto = ["--auto-approve"] if command == ["apply"] else []
        ran = kgitops(*command, policed.folder, *auto)
        assert ran.code == 0, ran.said
    policies.rename(policed.folder / "elsewhere")
    ran = kgitops("plan", policed.folder)
    assert (ran.code, "policies does not exist; correct the path" in ran.said) == (1, True)


def test_a_folder_of_policies_that_is_a_submodule_must_be_checked_out(
    policed: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(policed.folder)
    shutil.rmtree("policies")
    Path("policies").mkdir()
    Path(".gitmodules").write_text('[submodule "p"]\n path = policies\n url = x\n')
    for command in (["validate"], ["plan"], ["policy", "list"]):
        ran = kgitops(*command)
        assert ran.code == 1, ran.said
        assert "policies is a git submodule that was not checked out; run `git" in ran.said


@pytest.mark.parametrize("exists", [True, False])
def test_a_submodule_of_policies_that_was_not_checked_out_is_an_error(
    policed: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    monkeypatch.chdir(policed.folder)
    run("git", "init", "-q", cwd=Path())
    Path(".gitmodules").write_text('[submodule "team"]\n path = policies/team\n url = x\n')
    for file in (Path("policies/team/no.yaml"), Path("policies/team/no.test.yaml")):
        file.unlink()
    Path("policies/kept.yaml").write_text(as_yaml([TEST]))
    if not exists:
        Path("policies/team").rmdir()
    ran = kgitops("plan")
    assert ran.code == 1, ran.said
    assert "policies/team is a git submodule that was not checked out; run `git submodule" in (
        ran.said
    )


def test_policies_that_a_sparse_checkout_leaves_out_are_an_error(
    policed: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(policed.folder)
    Path("policies/kept.yaml").write_text(as_yaml([{**DENIES, "metadata": {"name": "other"}}]))
    run("git", "init", "-q", cwd=Path())
    run("git", "add", "kgitops.yaml", "manifests", "policies", cwd=Path())
    run("git", "commit", "-q", "-m", "all", cwd=Path())
    run("git", "sparse-checkout", "set", "--no-cone", "/*", "!/policies/team/", cwd=Path())
    assert not Path("policies/team").exists()
    ran = kgitops("plan")
    assert ran.code == 1, ran.said
    assert "the sparse checkout leaves out manifests in policies/team; run `git" in ran.said


@pytest.mark.parametrize("name", ["no.PY", "no.py.tmp", "no.py/x"])
def test_a_python_policy_that_was_renamed_is_an_error(
    project: Project, kgitops: Kgitops, name: str
) -> None:
    project.write(topic("a")).write_file(policies=[{"class": "rules.no:Policy"}])
    file = project.folder / "rules" / name
    file.parent.mkdir(parents=True)
    file.write_text("class Policy: ...\n")
    ran = kgitops("plan", project.folder)
    assert (ran.code, "rules.no" in ran.said) == (1, True), ran.said


RENAMED = ["kgitops.yml", "kgitops.YAML", "Kgitops.yaml", "kgitops.yaml.tmp", "kgitops.yaml~"]


@pytest.mark.parametrize("name", RENAMED)
def test_a_project_file_that_was_renamed_is_not_skipped(
    policed: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Without the project its policies, its limits and its name would count for nothing."""
    (policed.folder / "kgitops.yaml").rename(policed.folder / name)
    problem = f"{name} looks like a project file, but its name is not kgitops.yaml; rename it"
    for path in ("manifests", "manifests/all.yaml", "."):
        for command in (["plan"], ["apply", "--auto-approve"], ["validate"], ["policy", "test"]):
            ran = kgitops(*command, policed.folder / path)
            assert (ran.code, problem in ran.said) == (64, True), (command, path, ran.said)
    monkeypatch.chdir(policed.folder)
    for command in (["plan"], ["vc", "list", "-c", "embedded:"], ["policy", "list"]):
        ran = kgitops(*command)
        assert (ran.code, problem in ran.said) == (64, True), (command, ran.said)
    assert policed.records() == []


def test_a_copy_beside_the_project_file_is_passed_over(policed: Project, kgitops: Kgitops) -> None:
    (policed.folder / "kgitops.yaml.bak").write_text("")
    assert kgitops("plan", policed.folder).code == 3
    assert kgitops("plan", policed.folder / "manifests").code == 3
