"""The examples for GitLab, Jenkins and Atlantis: valid, and their commands run in their order."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a project in ``kafka``, whose cluster ``prod`` is embedded."""
    folder = tmp_path / "repository"
    (folder / "kafka" / "manifests").mkdir(parents=True)
    (folder / "kafka" / "kgitops.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Project\n"
        "metadata: {name: ci, uid: 5b7a2a8e-0c1d-4f6e-9a57-2f8f6f1f9d12}\n"
        "spec: {manifests: [manifests], clusters: {prod: {url: 'embedded:prod.db'}}}\n"
    )
    (folder / "kafka" / "manifests" / "topics.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Topic\nmetadata: {name: orders}\n"
        "spec: {partitions: 3, replicationFactor: 1}\n"
    )
    return folder


def run(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as such a CI does, with this installation's commands on the path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, **variables}
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def planned_digest(folder: Path) -> str:
    digest = json.loads((folder / "plan.json").read_text())["plan_digest"]
    assert digest.startswith("sha256:")
    return str(digest)


def retry_with_another_plan(folder: Path, script: str, **variables: str) -> None:
    """Plan again after something has changed: the file is another one from then on."""
    topics = folder / "kafka" / "manifests" / "topics.yaml"
    topics.write_text(topics.read_text().replace("partitions: 3", "partitions: 4"))
    done = run(folder, script, **variables)
    assert done.returncode == 0, done.stderr


def gitlab() -> dict[str, dict[str, list[str]]]:
    text = (EXAMPLES / "gitlab" / ".gitlab-ci.yml").read_text()
    jobs: dict[str, dict[str, list[str]]] = yaml.safe_load(text)
    return jobs


@pytest.mark.lint
def test_gitlab_s_file_is_one() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]
    file = EXAMPLES / "gitlab" / ".gitlab-ci.yml"
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_gitlab_s_jobs_apply_the_plan_that_was_shown(repository: Path) -> None:
    jobs = gitlab()
    for name in ("validate", "plan"):
        done = run(repository, "\n".join(jobs[name]["script"]))
        assert done.returncode == 0, done.stderr
    assert "orders" in (repository / "plan.md").read_text()
    approved = planned_digest(repository)
    assert approved in (repository / "plan.md").read_text()
    apply = "\n".join(jobs["apply"]["script"])
    for wrong in ("sha256:" + "0" * 64, ""):
        assert run(repository, apply, APPROVED=wrong).returncode != 0
    retry_with_another_plan(repository, "\n".join(jobs["plan"]["script"]))
    assert run(repository, apply, APPROVED=approved).returncode == 9
    approved = planned_digest(repository)
    done = run(repository, apply, APPROVED=approved)
    assert done.returncode == 0, done.stderr
    assert run(repository, "kgitops plan kafka -c prod --detailed-exitcode").returncode == 0
    assert run(repository, apply, APPROVED=approved).returncode != 0  # a plan is applied once


def test_gitlab_s_plan_fails_with_the_plan(repository: Path) -> None:
    (repository / "kafka" / "manifests" / "topics.yaml").write_text("kind: Topic\n")
    done = run(repository, "\n".join(gitlab()["plan"]["script"]))
    assert done.returncode == 1
    assert not (repository / "plan.json").exists()


def test_jenkins_s_steps_apply_the_plan_that_was_asked_about(repository: Path) -> None:
    text = (EXAMPLES / "jenkins" / "Jenkinsfile").read_text()
    assert text.count("{") == text.count("}")
    (repository / ".venv" / "bin").mkdir(parents=True)
    (repository / ".venv" / "bin" / "kgitops").symlink_to(Path(sys.executable).parent / "kgitops")
    (plan,) = re.findall(r"returnStatus: true, script: '([^']+)'", text)
    code = run(repository, plan).returncode
    assert code == 2
    steps = re.findall(r"^ +sh '([^']+)'$", text, re.MULTILINE)
    (show, check, apply) = [step for step in steps if "plan.json" in step or "CODE" in step]
    for step in (show, check):
        assert run(repository, step, CODE=str(code)).returncode == 0
    (digest_script,) = re.findall(r"returnStdout: true, script: '''(.+?)'''", text)
    digest = run(repository, digest_script).stdout.strip()
    assert digest == planned_digest(repository)
    assert run(repository, apply, PLAN_DIGEST="sha256:" + "1" * 64).returncode != 0
    assert run(repository, apply, PLAN_DIGEST=digest).returncode == 0


def test_atlantis_s_steps_apply_the_plan_that_was_named(repository: Path) -> None:
    workflow = yaml.safe_load((EXAMPLES / "atlantis" / "atlantis.yaml").read_text())
    steps = workflow["workflows"]["kgitops"]
    (plan,) = [step["run"] for step in steps["plan"]["steps"]]
    (apply,) = [step["run"] for step in steps["apply"]["steps"]]
    assert workflow["projects"][0]["dir"] == "kafka"
    folder, file = repository / "kafka", repository / "prod.tfplan"

    def in_kafka(script: str, comment: str = "") -> subprocess.CompletedProcess[str]:
        # As Atlantis passes what follows "--" in a comment on.
        escaped = "".join(f"\\{character}" for character in comment)
        return run(folder, script, PLANFILE=str(file), COMMENT_ARGS=escaped)

    shown = in_kafka(plan)
    assert shown.returncode == 0, shown.stderr
    approved = json.loads(file.read_text())["plan_digest"]
    assert approved in shown.stdout
    for wrong in ("", "sha256:" + "0" * 64, f"{approved},--auto-approve"):
        assert in_kafka(apply, wrong).returncode != 0
    retry_with_another_plan(repository, f"cd kafka && {plan}", PLANFILE=str(file))
    assert in_kafka(apply, approved).returncode == 9
    done = in_kafka(apply, json.loads(file.read_text())["plan_digest"])
    assert done.returncode == 0, done.stderr


def test_the_hook_finds_what_is_wrong(repository: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    assert run(repository, f"{hook['entry']} kafka").returncode == 0
    (repository / "kafka" / "manifests" / "topics.yaml").write_text("kind: Topic\n")
    assert run(repository, f"{hook['entry']} kafka").returncode == 1
