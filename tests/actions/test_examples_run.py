"""The example workflows, run step by step: from a pull request to the cluster."""

import json
import re

import pytest
from actions.conftest import HEAD, MERGED, Repository
from actions.fake_github import BOT, TOKEN
from actions.step_runner import Job, Runner
from cli.projects import Project, acl, topic
from report.workflow_commands import commands

pytestmark = pytest.mark.slow

CONFIG = topic("orders", configs={"retention.ms": 1000}, deletionPolicy="Delete")


def job(runner: Runner, workflow: str, name: str, **more: object) -> Job:
    done = runner.run_job(workflow, name, **more)
    assert done is not None, f"{name} is skipped"
    return done


def shown(repository: Repository, *, head: str = HEAD) -> Job:
    """The pull request's workflow: a plan, and a comment with it; the job that planned."""
    runner = repository.pull_request(head=head)
    plan = job(runner, "plan.yaml", "plan")
    comment = job(runner, "plan.yaml", "comment", needs={"plan": plan})
    assert comment.code == 0, comment.log
    return plan


def planned(repository: Repository, *, head: str = HEAD) -> Job:
    """As above, and then approved."""
    plan = shown(repository, head=head)
    repository.github.add_review(7, head)
    return plan


def applied(repository: Repository) -> Job:
    repository.merge()
    return job(repository.on_main(), "apply.yaml", "reviewed")


def test_a_pull_request_is_planned_reviewed_merged_and_applied(repository: Repository) -> None:
    plan = planned(repository)
    assert (plan.failed, plan.code) == (False, 0), plan.log
    (comment,) = repository.github.comments[7]
    assert comment["body"].startswith("<!-- kgitops-plan:.:prod -->\n")
    assert "1 to create" in comment["body"]
    assert "1 to create" in plan.summary
    assert plan.uploads[0].startswith("kgitops-plan-prod-")
    assert repository.project.records() == []

    apply = applied(repository)
    assert (apply.failed, apply.code) == (False, 0), apply.log
    assert "🟢 kgitops apply: exit 0" in apply.summary
    assert "1 done, 0 failed, 0 not attempted" in apply.summary
    assert "orders" in str(repository.project.records())
    ((words, _),) = [run for run in repository.kgitops_runs if run[0][0] == "apply"]
    reviewed = re.search(r"plan=(sha256:\w{64}) -->", comment["body"])
    assert reviewed
    assert words[words.index("--expect-digest") + 1] == reviewed[1]

    again = applied(repository)
    assert again.code == 9
    assert "was already applied" in again.summary


def test_no_kgitops_ever_sees_the_token_and_no_other_step_the_secrets(
    repository: Repository,
) -> None:
    secrets = {"KAFKA_PLAN_PASSWORD": "hush-plan", "KAFKA_APPLY_PASSWORD": "hush-apply"}
    runner = repository.pull_request(secrets=secrets)
    plan = job(runner, "plan.yaml", "plan")
    job(runner, "plan.yaml", "comment", needs={"plan": plan})
    repository.github.add_review(7, HEAD)
    repository.merge()
    job(repository.on_main(secrets=secrets), "apply.yaml", "reviewed")
    job(repository.on_main("schedule", secrets=secrets), "drift.yaml", "drift")
    runs = repository.kgitops_runs
    assert [words[0] for words, _ in runs] == ["plan", "show", "show", "apply", "drift", "show"]
    for _, env in runs:
        assert TOKEN not in env.values()
    with_secrets = [env["KAFKA_PASSWORD"] for _, env in runs if "KAFKA_PASSWORD" in env]
    assert len(with_secrets) == len(runs) - 1, "the comment's job has none"


def test_jobs_run_where_their_if_says(repository: Repository) -> None:
    """A fork never meets secrets, and nothing is applied but after a merge or by hand."""
    own, fork = repository.pull_request(), repository.pull_request(fork=True)
    by_hand = repository.on_main("workflow_dispatch", inputs={"resume": False})
    resuming = repository.on_main("workflow_dispatch", inputs={"resume": True})
    push = repository.on_main()
    runs = [
        (own, "plan.yaml", "plan-without-secrets"),
        (fork, "plan.yaml", "plan"),
        (by_hand, "apply.yaml", "reviewed"),
        (resuming, "apply.yaml", "reviewed"),
        (push, "apply.yaml", "plan"),
        (resuming, "apply.yaml", "plan"),
        (push, "apply.yaml", "resume"),
        (by_hand, "apply.yaml", "resume"),
    ]
    for runner, workflow, name in runs:
        assert runner.run_job(workflow, name) is None, (runner.event_name, name)
    assert repository.kgitops_runs == []


def test_a_new_commit_gets_a_new_comment_and_folds_the_earlier_one(
    repository: Repository,
) -> None:
    planned(repository)
    repository.write(topic("orders"), topic("payments"))
    planned(repository, head="d" * 40)
    earlier, comment = repository.github.comments[7]
    assert "is superseded by" in earlier["body"]
    assert comment["html_url"] in earlier["body"]
    assert "2 to create" in comment["body"]
    assert f"head={'d' * 40} plan=sha256:" in comment["body"]


@pytest.mark.parametrize("missing", ["actions", "pull-requests"])
def test_each_permission_of_the_comment_is_needed(missing: str, repository: Repository) -> None:
    runner = repository.pull_request()
    plan = job(runner, "plan.yaml", "plan")
    given = {"actions": "read", "pull-requests": "write"}
    del given[missing]
    runner.before_step = lambda script: setattr(repository.github, "permissions", given)
    comment = job(runner, "plan.yaml", "comment", needs={"plan": plan})
    assert comment.failed
    assert "docs/guides/github-actions.md" in comment.log


def test_a_plan_that_was_made_after_the_approval_is_not_applied(repository: Repository) -> None:
    """The plan's job is run again: another digest stands there, which nobody approved."""
    planned(repository)
    repository.write(topic("orders"), topic("payments"))
    shown(repository)
    earlier, comment = repository.github.comments[7]
    assert "is superseded by" in earlier["body"]
    assert "It is applied only if it is approved again." in comment["body"]
    swapped = applied(repository)
    assert swapped.failed
    assert "after ada approved" in swapped.log
    assert [words[0] for words, _ in repository.kgitops_runs].count("apply") == 0

    repository.github.add_review(7, HEAD, "lin")
    assert applied(repository).code == 0
    assert "payments" in str(repository.project.records())


EVIL = """
import os
from kgitops.policy import BaseTopicPolicy

class Evil(BaseTopicPolicy):
    pass

temp = {temp!r}
fake = os.path.join(temp, "fake")
os.makedirs(fake, exist_ok=True)
for name in ("bash", "python3", "kgitops"):
    path = os.path.join(fake, name)
    with open(path, "w") as file:
        file.write("#!/bin/sh\\necho $0 $GITHUB_TOKEN >>" + temp + "/stolen\\n")
        file.write("PATH=/usr/bin:/bin BASH_ENV= exec " + name + ' "$@"\\n')
    os.chmod(path, 0o755)
with open(os.path.join(temp, "_path"), "a") as file:
    file.write(fake + "\\n")
with open(os.path.join(temp, "fake", "env.sh"), "w") as file:
    file.write("echo BASH_ENV $GITHUB_TOKEN >>" + temp + "/stolen\\n")
with open(os.path.join(temp, "_env"), "a") as file:
    file.write("BASH_ENV=" + fake + "/env.sh\\n")
"""


def test_a_policy_of_the_pull_request_never_meets_the_token(repository: Repository) -> None:
    """It sets the path of later steps of its job, where its own programs stand."""
    from cli.policed import write_module

    write_module(repository.project, "evil", EVIL.format(temp=str(repository.temp)))
    repository.project.write_file(
        clusters={"prod": {"url": "embedded:.kgitops/local.db", "brokers": 3}},
        policies=[{"class": "evil:Evil"}],
    )
    runner = repository.pull_request()
    plan = job(runner, "plan.yaml", "plan")
    assert plan.path, "the policy did not run, so this shows nothing"
    stolen = repository.temp / "stolen"
    ran = stolen.read_text()
    assert "fake/bash" in ran
    comment = job(runner, "plan.yaml", "comment", needs={"plan": plan})
    assert comment.code == 0, comment.log
    assert stolen.read_text() == ran, "nothing of the other job ran here"
    assert TOKEN not in ran


def test_dependabot_is_told_that_it_gets_no_secrets(repository: Repository) -> None:
    kept = job(repository.on_main("schedule"), "snapshot.yaml", "snapshot")
    assert kept.code == 0
    runner = repository.pull_request(author="dependabot[bot]")
    assert runner.run_job("plan.yaml", "plan") is None
    plan = job(runner, "plan.yaml", "plan-without-secrets")
    assert plan.code == 0, plan.log
    assert "1 to create" in plan.summary
    assert "gives Dependabot's runs no secrets" in plan.summary
    assert any("no secrets" in said.message for said in commands(plan.log))
    assert repository.github.comments == {}


def test_dependabot_s_pull_request_is_not_applied_and_says_why(repository: Repository) -> None:
    repository.merge()
    repository.github.pulls[MERGED][0]["user"] = {"login": "dependabot[bot]"}
    apply = job(repository.on_main(), "apply.yaml", "reviewed")
    assert apply.failed
    assert "is Dependabot's, whose runs get no secrets" in apply.log


def test_a_refused_plan_is_shown_kept_and_never_applied(repository: Repository) -> None:
    repository.write(topic("orders"), acl())
    planned(repository)
    assert applied(repository).code == 0
    repository.write(acl())
    before = repository.project.records()

    plan = planned(repository, head="d" * 40)
    assert (plan.failed, plan.code) == (True, 5)
    assert "stops with exit 5" in plan.summary
    assert [command.name for command in commands(plan.log)][:1] == ["error"]
    body = repository.github.comments[7][-1]["body"]
    assert "topic/orders is protected" in body
    assert "plan=none" in body
    assert len(plan.uploads) == 1

    repository.merge(head="d" * 40)
    apply = job(repository.on_main(), "apply.yaml", "reviewed")
    assert apply.code == 1
    assert "is refused" in apply.log
    assert [words[0] for words, _ in repository.kgitops_runs].count("apply") == 1
    assert repository.project.records() == before


def test_what_can_t_be_planned_is_shown_with_its_place(repository: Repository) -> None:
    repository.write(topic("orders", partitons=3))
    plan = planned(repository)
    assert (plan.failed, plan.code) == (True, 1)
    (found,) = [command for command in commands(plan.log) if "file" in command.properties]
    assert found.properties["file"] == "manifests/all.yaml"
    for shown in (plan.summary, repository.github.comments[7][0]["body"]):
        assert "stops with exit 1" in shown
        assert "partitons is not a field of Topic" in shown


def test_a_stale_plan_is_not_applied_and_a_new_one_by_hand_is(repository: Repository) -> None:
    from cli.exit_cases import with_retention

    repository.write(CONFIG)
    planned(repository)
    assert applied(repository).code == 0
    repository.write(topic("orders", configs={"retention.ms": 3000}))
    planned(repository, head="d" * 40)
    repository.project.change_behind(with_retention(repository.project, "2000"))
    before = repository.project.records()
    repository.merge(head="d" * 40)
    stale = job(repository.on_main(), "apply.yaml", "reviewed")
    assert stale.code == 4
    assert "Make a new plan" in stale.summary
    assert "configs.retention.ms" in stale.summary
    assert repository.project.records() == before

    by_hand = repository.on_main("workflow_dispatch", inputs={"resume": False})
    plan = job(by_hand, "apply.yaml", "plan")
    assert plan.code == 0, plan.log
    apply = job(by_hand, "apply.yaml", "planned", needs={"plan": plan})
    assert apply.code == 0, apply.log
    assert repository.project.records() != before


def test_a_partly_applied_plan_is_resumed(repository: Repository) -> None:
    repository.write(topic("orders"), acl())
    planned(repository)
    cluster = {"url": "embedded:.kgitops/local.db", "brokers": 3}
    without = {**cluster, "url": "embedded:.kgitops/local.db?authorizer=disabled"}
    repository.project.write_file(clusters={"prod": without})
    partly = applied(repository)
    assert partly.code == 6
    assert "1 done, 1 failed, 0 not attempted" in partly.summary
    assert "resume: true" in partly.summary
    assert "SECURITY_DISABLED" in partly.summary
    (name,) = partly.uploads
    kept = [artifact for artifact in repository.github.artifacts if artifact["name"] == name]
    log = repository.github.files[kept[-1]["id"]]
    assert len(log) > 100

    repository.project.write_file(clusters={"prod": cluster})
    resumed = job(
        repository.on_main("workflow_dispatch", inputs={"resume": True}), "apply.yaml", "resume"
    )
    assert resumed.code == 0, resumed.log
    assert "User:billing" in str(repository.project.records())


def test_a_fork_is_planned_from_the_snapshot_of_main(repository: Repository) -> None:
    """Without secrets, without a comment, with nothing but reading."""
    kept = job(repository.on_main("schedule"), "snapshot.yaml", "snapshot")
    assert (kept.code, kept.uploads) == (0, ["kgitops-snapshot-prod"])
    # What a fork's run left under the same name, on a branch that it called main too.
    repository.github.add_artifact(
        "kgitops-snapshot-prod", {"state.json": b"{}"}, head_branch="main", head_repository_id=2002
    )
    repository.github.add_artifact(
        "kgitops-snapshot-prod", {"state.json": b"{}"}, head_branch="a-pull-request"
    )
    (repository.project.store).unlink()
    fork = job(repository.pull_request(fork=True), "plan.yaml", "plan-without-secrets")
    assert (fork.failed, fork.code) == (False, 0), fork.log
    assert "1 to create" in fork.summary
    assert repository.github.comments == {}
    assert repository.github.changes == []
    assert not repository.project.store.exists()
    # The store of artefacts never sees the token.
    assert [asked.authorization for asked in repository.github.blob_asked] == [None]

    repository.merge(fork=True)
    apply = job(repository.on_main(), "apply.yaml", "reviewed")
    assert apply.failed
    assert "is from a fork" in apply.log
    assert MERGED not in str(repository.project.records())


def test_drift_opens_one_issue_keeps_it_and_closes_it(repository: Repository) -> None:
    from cli.exit_cases import with_retention

    repository.write(CONFIG)
    planned(repository)
    applied(repository)
    github = repository.github

    def look() -> Job:
        return job(repository.on_main("schedule"), "drift.yaml", "drift")

    assert look().code == 0
    assert github.issues == {}
    repository.project.change_behind(with_retention(repository.project, "2000"))
    assert look().code == 0
    (number,) = github.issues
    assert (github.issues[number]["state"], github.issues[number]["user"]["login"]) == ("open", BOT)
    assert "retention.ms" in github.issues[number]["body"]
    repository.project.change_behind(with_retention(repository.project, "2500"))
    assert look().code == 0
    assert list(github.issues) == [number]
    assert "2500" in github.issues[number]["body"]

    store = repository.project.store
    good = store.read_bytes()
    store.write_bytes(b"")
    body = github.issues[number]["body"]
    unknown = look()
    assert (unknown.code, github.issues[number]["body"]) == (8, body)
    assert "the file is empty" in unknown.summary
    store.write_bytes(good)

    repository.project.change_behind(with_retention(repository.project, "1000"))
    assert look().code == 0
    assert github.issues[number]["state"] == "closed"
    changes = len(github.changes)
    assert look().code == 0
    assert len(github.changes) == changes


def test_the_log_of_an_apply_is_the_run_s_events(repository: Repository) -> None:
    planned(repository)
    apply = applied(repository)
    events = (repository.temp / "kgitops-apply" / "apply.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["type"] for line in events]
    assert kinds == ["apply_started", "step_started", "step_done", "apply_finished"]
    assert "step_done CreateTopic topic/orders" in apply.log


def test_a_locked_cluster_is_waited_for_and_its_holder_named(repository: Repository) -> None:
    from cli.processes import PausedApply

    prod = {"url": "embedded:.kgitops/local.db", "brokers": 3}
    repository.project.write_file(clusters={"prod": prod}, safety={"lockTimeout": "1s"})
    planned(repository)
    other = Project(repository.root.parent / "search", name="search", uid="search-1")
    other.write(topic("searches")).write_file(
        cluster={"url": f"embedded:{repository.project.store}"}
    )
    holder = PausedApply(repository.root.parent / "gate", "apply", other.folder, "--auto-approve")
    try:
        locked = applied(repository)
        assert locked.code == 7
        assert "waiting up to 1s for the lock" in locked.log
        assert "This job waited for the lock" in locked.summary
        assert f"process {holder.process.pid}" in locked.summary
    finally:
        holder.stop()
