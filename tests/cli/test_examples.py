"""Every example runs as it is, and so does what the README shows."""

import re
import shlex
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.policed import judging_in_process
from cli.projects import EXAMPLES
from cli.projects import Project as Folder

from kgitops.manifests.project_file import load_project

ROOT = EXAMPLES.parent
PROJECTS = [
    (str(file.parent.relative_to(EXAMPLES)), name)
    for file in sorted(EXAMPLES.rglob("kgitops.yaml"))
    for name in load_project(file, env={}).cluster_names
    if name != "sandbox"  # a real one: tests/sandbox/test_readme.py
]
COMMAND = re.compile(r"^\$ (?:uv run )?(kgitops .*)$", re.MULTILINE)


@pytest.fixture
def examples(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of all examples, without the clusters that someone may have made in them."""
    monkeypatch.setenv("CLICKS_APP_PASSWORD", "a password")
    leave = shutil.ignore_patterns(".kgitops")
    copy = shutil.copytree(EXAMPLES, here / "examples", ignore=leave)
    # No waiver lasts for ever: the copy's is renewed, as its owner would have to.
    waiver = copy / "policies/policies/waivers.yaml"
    ends = datetime.now(UTC).date() + timedelta(days=30)
    renewed, count = re.subn(r'expires: "[0-9-]+"', f'expires: "{ends}"', waiver.read_text())
    assert count == 1
    waiver.write_text(renewed)
    return copy


def test_there_are_projects_and_workflows_to_copy() -> None:
    """CI's files are run by tests/actions, the migration as a whole by test_migration_stages.

    The nights of the fleet are test_nightly_example's, what surrounds a loop test_deployment's. A
    gateway needs a real Kafka: tests/gateway/examples.
    """
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    projects = {"quickstart", "environments", "shared-cluster", "policies", "virtual-clusters"}
    ci = {"github", "gitlab", "jenkins", "atlantis"}
    assert folders == projects | ci | {
        "profiles",
        "serve",
        "fleet",
        "migration",
        "convert",
        "reconcile",
        "gateway",
    }


@pytest.mark.parametrize(("folder", "cluster"), PROJECTS)
def test_an_example_validates_applies_and_plans_to_nothing(
    folder: str, cluster: str, examples: Path, kgitops: Kgitops
) -> None:
    """Its policies judge in their own process once: the apply, which plans first, asks them all."""
    here = (examples / folder, "--cluster", cluster)
    with judging_in_process(examples):
        assert kgitops("validate", *here).code == 0
        assert kgitops("plan", *here, "--detailed-exitcode").code == 2
    applied = kgitops("apply", *here, "--auto-approve")
    assert applied.code == 0
    assert "Applied: " in applied.out
    assert "failed" not in applied.out
    with judging_in_process(examples):
        again = kgitops("plan", *here, "--detailed-exitcode")
    assert (again.code, "No changes" in again.out) == (0, True)


def test_the_password_of_the_examples_user_is_asked_for_and_written_nowhere(
    examples: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = (examples / "environments", "--cluster", "prod")
    monkeypatch.delenv("CLICKS_APP_PASSWORD")
    refused = kgitops("apply", *here, "--auto-approve")
    assert refused.code == 1
    assert "CLICKS_APP_PASSWORD is not set or empty; nothing was sent" in refused.said
    monkeypatch.setenv("CLICKS_APP_PASSWORD", "correct horse")
    assert kgitops("apply", *here, "--auto-approve").code == 0
    written = [file.read_bytes() for file in here[0].rglob("*") if file.is_file()]
    assert written
    assert not any(b"correct horse" in data for data in written)


def test_the_two_teams_of_the_shared_cluster_keep_what_the_other_owns(
    examples: Path, kgitops: Kgitops
) -> None:
    teams = [examples / "shared-cluster" / name for name in ("payments", "search")]
    for team in teams:
        assert kgitops("apply", team, "--auto-approve").code == 0
    for team in teams:
        again = kgitops("plan", team, "--detailed-exitcode")
        assert (again.code, "of other projects" in again.out) == (0, True)


def test_the_example_of_policies_waives_one_denial_and_its_tests_notice_every_mistake(
    examples: Path, kgitops: Kgitops
) -> None:
    planned = kgitops("plan", examples / "policies", "--cluster", "prod")
    assert (planned.code, "1 waived" in planned.out) == (0, True)
    every = ("--min", "100", "--mutate", "--min-score", "100")
    tested = kgitops("policy", "test", examples / "policies", *every)
    assert tested.code == 0, tested.said
    assert kgitops("policy", "test", examples / "fleet", *every).code == 0
    (examples / "policies/policies/waivers.yaml").unlink()
    assert kgitops("plan", examples / "policies", "--cluster", "prod").code == 3


def test_the_commands_of_the_examples_page_run(examples: Path, kgitops: Kgitops) -> None:
    commands = COMMAND.findall((EXAMPLES / "README.md").read_text())
    assert len(commands) == 3
    for command in commands:
        assert kgitops(*shlex.split(command)[1:]).code == 0, command


def test_the_first_command_of_the_readme_applies_the_quickstart(
    examples: Path, process: Kgitops
) -> None:
    """The others are tests/sandbox/test_readme.py's."""
    text = (ROOT / "README.md").read_text()
    assert COMMAND.findall(text)[0] == "kgitops apply examples/quickstart --auto-approve"
    ran = process("apply", "examples/quickstart", "--auto-approve")
    assert (ran.code, ran.err) == (0, "")
    assert "Applied: 13 done. Run" in ran.out
    after = process("plan", "examples/quickstart", "--detailed-exitcode")
    assert after.code == 0


def test_a_new_project_is_an_example_too(here: Path, kgitops: Kgitops) -> None:
    assert kgitops("init", "My Payments!").code == 0
    for words in (
        ("validate", "My Payments!"),
        ("apply", "My Payments!", "--auto-approve"),
        ("plan", "My Payments!", "--detailed-exitcode"),
    ):
        ran = kgitops(*words)
        assert ran.code == 0, ran.said
    assert Folder(here / "My Payments!").records()
    assert load_project(here / "My Payments!", env={}).name == "my-payments"


def test_init_takes_this_folder_and_says_how_to_go_on(here: Path, kgitops: Kgitops) -> None:
    ran = kgitops("init")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "next: kgitops plan")
    assert kgitops("plan").code == 0


def test_two_new_projects_have_different_identities(here: Path, kgitops: Kgitops) -> None:
    for name in ("a", "b"):
        kgitops("init", name)
    uids = {load_project(here / name, env={}).metadata.uid for name in ("a", "b")}
    assert len(uids) == 2
    assert None not in uids
