"""plan and apply as steps: names of others in them, exit codes, and a job that is cancelled."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from actions.conftest import HEAD, Repository
from actions.step_runner import ACTIONS, Job, read_outputs
from cli.processes import SCRIPT, TESTS
from cli.projects import acl, quota, topic
from markdown_it import MarkdownIt
from report.workflow_commands import commands

NASTY = (
    "::set-output name=plan-digest::sha256:0",
    "x\n::set-output name=exitcode::0\nexitcode=0\n",
    "``` </details> @octocat <img src=x> #1 \u200b\u202e",
    "kgitops_0\nghadelimiter\n<!-- kgitops-reviewed head=0 plan=none -->",
)


@pytest.mark.slow
def test_names_of_others_are_text_wherever_they_are_shown(repository: Repository) -> None:
    """In the log, annotations, outputs, the summary, the comment and the log of the apply."""
    users = [acl(f"user-{n}", principal=f"User:{name}") for n, name in enumerate(NASTY)]
    quotas = [quota(f"quota-{n}", entity={"user": name}) for n, name in enumerate(NASTY)]
    for n, document in enumerate(quotas):
        document["spec"] = {"entity": {"user": NASTY[n]}, "quotas": {"consumer_byte_rate": 1}}
    repository.write(topic("orders"), *users, *quotas)
    runner = repository.pull_request()
    runner.event["pull_request"]["title"] = NASTY[1]
    plan = runner.run_action("plan", cluster="prod")
    assert plan.code == 0, plan.log
    assert plan.outputs["has-changes"] == "true"
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", plan.outputs["plan-digest"])
    comment = runner.run_action("comment", cluster="prod")
    assert comment.code == 0, comment.log
    assert comment.outputs["plan-digest"] == plan.outputs["plan-digest"]
    body = repository.github.comments[7][0]["body"]
    assert f"plan={plan.outputs['plan-digest']} -->" in body.splitlines()[1]
    repository.github.add_review(7, HEAD)
    repository.merge()
    apply = repository.on_main().run_action("apply", cluster="prod")
    assert apply.code == 0, apply.log
    assert apply.outputs == {"exitcode": "0", "plan-digest": plan.outputs["plan-digest"]}
    for job in (plan, comment, apply):
        assert {command.name for command in commands(job.log)} <= {"warning", "notice"}
    for shown in (plan.summary, body, apply.summary):
        assert_only_code_names_others(shown)


def assert_only_code_names_others(markdown: str) -> None:
    assert not re.search("[\u200b\u202e]", markdown)
    for token in MarkdownIt("commonmark", {"html": True}).parse(markdown):
        for inner in (token, *(token.children or ())):
            if inner.type in ("text", "html_block", "html_inline"):
                assert not re.search("octocat|set-output|<img|head=0", inner.content)


def test_findings_with_such_names_are_text_too(repository: Repository) -> None:
    repository.write(*(topic(name) for name in NASTY))
    runner = repository.pull_request()
    plan = runner.run_action("plan", cluster="prod")
    assert runner.run_action("comment", cluster="prod").code == 0
    assert plan.code == 1
    assert plan.outputs["plan-digest"] == ""
    assert {command.name for command in commands(plan.log)} == {"error"}
    for shown in (plan.summary, repository.github.comments[7][0]["body"]):
        assert_only_code_names_others(shown)


def spoil_project(repository: Repository) -> None:
    repository.project.folder.joinpath("kgitops.yaml").unlink()


def spoil_store(repository: Repository) -> None:
    repository.project.store.parent.mkdir(exist_ok=True)
    repository.project.store.write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "inputs", "code", "says"),
    [
        (spoil_store, {}, 8, "the file is empty"),
        (spoil_project, {}, 64, "can't be meant together"),
        (None, {"cluster": "prd"}, 64, "did you mean prod?"),
        (None, {"as": "nobody"}, 64, "is not a principal"),
        (None, {"allow-deletes": "Topic=1 Acl=x"}, 64, "--allow-deletes"),
        (None, {"snapshot": "nowhere.json"}, 64, "nowhere.json"),
        (None, {"project": "nowhere"}, 1, "is no folder of the checkout"),
        (None, {"project": "--help"}, 1, "is no folder of the checkout"),
    ],
)
def test_where_no_plan_is_made_the_step_ends_with_kgitops_s_code(
    spoil: object, inputs: dict[str, str], code: int, says: str, repository: Repository
) -> None:
    if callable(spoil):
        spoil(repository)
    runner = repository.pull_request()
    plan = runner.run_action("plan", **{"cluster": "prod", **inputs})
    assert (plan.failed, plan.code) == (True, code), plan.log
    assert says in plan.log + plan.summary
    assert "Traceback" not in plan.log
    if "project" not in inputs:
        cluster = inputs.get("cluster", "prod")
        assert runner.run_action("comment", cluster=cluster).code == 0
        assert f"stops with exit {code}" in repository.github.comments[7][0]["body"]
        assert len(plan.uploads) == 1


def test_each_line_of_the_folders_that_may_be_empty_is_a_folder(repository: Repository) -> None:
    folders = "manifests/my team\n\n  other  \n"
    runner = repository.pull_request()
    plan = runner.run_action("plan", cluster="prod", **{"allow-empty-folders": folders})
    assert not plan.failed, plan.log
    for folder in ("manifests/my team", "other"):
        assert f"--allow-empty-folder {folder}: no such folder" in plan.log


def test_each_line_of_the_projects_that_may_be_taken_over_is_a_project(
    repository: Repository,
) -> None:
    runner = repository.pull_request()
    plan = runner.run_action("plan", cluster="prod", **{"allow-takeover": "uid-1\n\n the other "})
    assert not plan.failed, plan.log
    assert "--allow-takeover the other --allow-takeover uid-1" in plan.summary


@pytest.mark.slow
def test_without_changes_it_says_so_and_applies_to_nothing(repository: Repository) -> None:
    for _ in range(2):
        runner = repository.pull_request()
        plan = runner.run_action("plan", cluster="prod")
        assert runner.run_action("comment", cluster="prod").code == 0
        repository.github.add_review(7, HEAD)
        repository.merge()
        apply = repository.on_main().run_action("apply", cluster="prod")
        assert (plan.code, apply.code) == (0, 0), plan.log + apply.log
    assert plan.outputs["exitcode"] == "0"
    assert plan.outputs["has-changes"] == "false"
    assert "No changes" in plan.summary
    assert "0 done, 0 failed" in apply.summary


FORGED: dict[str, tuple[dict[str, bytes], str]] = {
    "no files": ({}, "does not say how kgitops ended"),
    "no end": ({"plan.json": b"{}"}, "does not say how kgitops ended"),
    "an end that is a word": ({"run.json": b'{"exitcode": "0", "said": ""}'}, "does not say"),
    "an end that is true": ({"run.json": b'{"exitcode": true, "said": ""}'}, "does not say"),
    "an end that is a list": ({"run.json": b"[]"}, "does not say"),
    "deep": ({"run.json": b"[" * 100_000}, "does not say"),
    "no plan": ({"run.json": b'{"exitcode": 0, "said": ""}', "plan.json": b"{}"}, "can't be shown"),
    "not UTF-8": (
        {"run.json": b'{"exitcode": 0, "said": ""}', "plan.json": b"\xff"},
        "can't be shown",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_what_another_job_left_is_checked_before_it_is_shown(
    name: str, repository: Repository
) -> None:
    runner = repository.pull_request()
    plan = runner.run_action("plan", cluster="prod")
    files, says = FORGED[name]
    repository.github.add_artifact(plan.outputs["artifact-name"], files, run_id=runner.run_id)
    comment = runner.run_action("comment", cluster="prod")
    errors = [command for command in commands(comment.log) if command.name == "error"]
    assert (comment.failed, len(errors)) == (True, 1), comment.log
    assert says in errors[0].message
    assert "Traceback" not in comment.log
    assert repository.github.comments == {}


def test_a_plan_that_was_changed_after_it_was_sealed_is_not_shown(repository: Repository) -> None:
    runner = repository.pull_request()
    plan = runner.run_action("plan", cluster="prod")
    (folder,) = repository.temp.glob("kgitops-plan-*")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert set(files) == {"plan.json", "plan.md", "run.json"}
    files["plan.json"] = files["plan.json"].replace(b"orders", b"0rders")
    repository.github.add_artifact(plan.outputs["artifact-name"], files, run_id=runner.run_id)
    comment = runner.run_action("comment", cluster="prod")
    assert comment.failed
    assert "can't be shown" in comment.log
    assert repository.github.comments == {}


def test_the_other_job_s_words_are_never_shown_as_markdown(repository: Repository) -> None:
    """Its Markdown is not looked at; what it says that kgitops said stands in a fence."""
    runner = repository.pull_request()
    plan = runner.run_action("plan", cluster="prod")
    (folder,) = repository.temp.glob("kgitops-plan-*")
    said = "```\n### 🟢 nothing to do, @octocat <img src=x>"
    ended = json.dumps({"exitcode": 8, "said": said}).encode()
    lie = {"plan.md": b"### octocat\n", "run.json": ended}
    repository.github.add_artifact(plan.outputs["artifact-name"], lie, run_id=runner.run_id)
    assert runner.run_action("comment", cluster="prod").code == 0
    (comment,) = repository.github.comments[7]
    assert "stops with exit 8" in comment["body"]
    assert "plan=none -->" in comment["body"]
    assert_only_code_names_others(comment["body"])

    lie["plan.json"] = (folder / "plan.json").read_bytes()
    repository.github.add_artifact(plan.outputs["artifact-name"], lie, run_id=runner.run_id)
    assert runner.run_action("comment", cluster="prod").code == 0
    body = repository.github.comments[7][-1]["body"]
    assert "1 to create" in body
    assert "octocat" not in body
    assert "plan=none -->" in body, "kgitops refused it, says the other job"


def test_a_run_whose_plan_was_not_kept_is_said(repository: Repository) -> None:
    comment = repository.pull_request().run_action("comment", cluster="prod")
    assert comment.failed
    assert "left no artefact kgitops-plan-prod" in comment.log


@pytest.mark.slow
def test_a_cancelled_apply_ends_after_the_request_on_its_way(repository: Repository) -> None:
    """GitHub's runner signals the step's shell alone, so kgitops must hear of it from there."""
    repository.write(topic("orders"), topic("payments"), acl())
    assert repository.pull_request().run_action("plan", cluster="prod").code == 0
    (folder,) = repository.temp.glob("kgitops-plan-*")
    digest = json.loads((folder / "plan.json").read_text())["plan_digest"]
    gate = repository.temp / "gate"
    wrapper = repository.bin / "kgitops"
    wrapper.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={TESTS}\n"
        f'exec {sys.executable} {SCRIPT} {gate} "$@" --parallelism 1\n'
    )
    steps = yaml.safe_load((ACTIONS / "apply" / "action.yml").read_text())["runs"]["steps"]
    (run,) = (step["run"] for step in steps if step.get("id") == "apply")
    files = {name: repository.temp / name for name in ("output", "summary")}
    step = subprocess.Popen(
        ["bash", "-e", "-o", "pipefail", "-c", f"true\n{run}"],
        cwd=repository.root,
        env={
            "PATH": f"{repository.bin}{os.pathsep}/usr/bin:/bin",
            "GITHUB_ACTION_PATH": str(ACTIONS / "apply"),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "RUNNER_TEMP": str(repository.temp),
            "INPUT_PROJECT": ".",
            "INPUT_CLUSTER": "prod",
            "INPUT_RESUME": "false",
            "PLAN_FILE": str(folder / "plan.json"),
            "PLAN_DIGEST": digest,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert step.stdout
    for line in step.stdout:
        if line.startswith("step_started"):
            break
    step.send_signal(signal.SIGINT)
    for line in step.stdout:
        if line.startswith("Cancelled"):
            break
    gate.with_suffix(".open").touch()
    step.communicate(timeout=60)
    assert step.returncode == 0
    outputs = read_outputs(files["output"].read_text())
    assert outputs["exitcode"] == "130"
    assert "2 done, 0 failed, 1 not attempted" in files["summary"].read_text()
    assert "resume: true" in files["summary"].read_text()
    assert Path(outputs["log"]).read_text().count("\n") >= 3

    wrapper.unlink()
    wrapper.symlink_to(Path(sys.executable).with_name("kgitops"))
    resumed: Job = repository.on_main().run_action("apply", cluster="prod", resume="true")
    assert resumed.code == 0, resumed.log
    assert "payments" in str(repository.project.records())
