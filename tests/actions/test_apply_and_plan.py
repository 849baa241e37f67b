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
from actions.conftest import Repository
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
    body = repository.github.comments[7][0]["body"]
    assert f"plan={plan.outputs['plan-digest']} -->" in body.splitlines()[1]
    repository.merge()
    apply = repository.on_main().run_action("apply", cluster="prod")
    assert apply.code == 0, apply.log
    assert apply.outputs == {"exitcode": "0", "plan-digest": plan.outputs["plan-digest"]}
    for job in (plan, apply):
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
    plan = repository.pull_request().run_action("plan", cluster="prod")
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
        (None, {"as": "nobody"}, 64, "is no principal"),
        (None, {"allow-deletes": "Topic=1 Acl=x"}, 64, "--allow-deletes"),
        (None, {"snapshot": "nowhere.json"}, 8, "nowhere.json"),
        (None, {"project": "nowhere"}, 1, "is no folder of the checkout"),
        (None, {"project": "--help"}, 1, "is no folder of the checkout"),
    ],
)
def test_where_no_plan_is_made_the_step_ends_with_kgitops_s_code(
    spoil: object, inputs: dict[str, str], code: int, says: str, repository: Repository
) -> None:
    if callable(spoil):
        spoil(repository)
    plan = repository.pull_request().run_action("plan", **{"cluster": "prod", **inputs})
    assert (plan.failed, plan.code) == (True, code), plan.log
    assert says in plan.log + plan.summary
    assert "Traceback" not in plan.log
    if "project" not in inputs:
        assert f"stops with exit {code}" in repository.github.comments[7][0]["body"]
        assert len(plan.uploads) == 1


def test_without_changes_it_says_so_and_applies_to_nothing(repository: Repository) -> None:
    for _ in range(2):
        plan = repository.pull_request().run_action("plan", cluster="prod")
        repository.merge()
        apply = repository.on_main().run_action("apply", cluster="prod")
        assert (plan.code, apply.code) == (0, 0), plan.log + apply.log
    assert plan.outputs["exitcode"] == "0"
    assert plan.outputs["has-changes"] == "false"
    assert "No changes" in plan.summary
    assert "0 done, 0 failed" in apply.summary


def test_a_comment_that_can_t_be_written_fails_the_job_but_keeps_the_plan(
    repository: Repository,
) -> None:
    """Else reviewers would look at the comment of an earlier commit."""
    repository.github.permissions = {"contents": "read"}
    plan = repository.pull_request().run_action("plan", cluster="prod")
    assert (plan.failed, len(plan.uploads)) == (True, 1)
    assert plan.ran("end.sh")
    assert "docs/github-actions.md" in plan.log


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
