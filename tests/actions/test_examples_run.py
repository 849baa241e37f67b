"""The example workflows, run step by step: from a pull request to the cluster."""

import json
import re

import pytest
from actions.conftest import HEAD, MERGED, Repository
from actions.fake_github import BOT, TOKEN
from actions.step_runner import Job, Runner
from cli.projects import Project, acl, topic
from report.workflow_commands import commands

CONFIG = topic("orders", configs={"retention.ms": 1000}, deletionPolicy="Delete")


def job(runner: Runner, workflow: str, name: str, **more: object) -> Job:
    done = runner.run_job(workflow, name, **more)
    assert done is not None, f"{name} is skipped"
    return done


def planned(repository: Repository, *, head: str = HEAD) -> Job:
    return job(repository.pull_request(head=head), "plan.yaml", "plan")


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
    job(repository.pull_request(secrets=secrets), "plan.yaml", "plan")
    repository.merge()
    job(repository.on_main(secrets=secrets), "apply.yaml", "reviewed")
    job(repository.on_main("schedule", secrets=secrets), "drift.yaml", "drift")
    runs = repository.kgitops_runs
    assert [words[0] for words, _ in runs] == ["plan", "show", "apply", "drift", "show"]
    for _, env in runs:
        assert TOKEN not in env.values()
        assert env["KAFKA_PASSWORD"] in secrets.values()


def test_jobs_run_where_their_if_says(repository: Repository) -> None:
    """A fork never meets secrets, and nothing is applied but after a merge or by hand."""
    own, fork = repository.pull_request(), repository.pull_request(fork=True)
    by_hand = repository.on_main("workflow_dispatch", inputs={"resume": False})
    resuming = repository.on_main("workflow_dispatch", inputs={"resume": True})
    push = repository.on_main()
    runs = [
        (own, "plan.yaml", "plan-of-a-fork"),
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


def test_a_new_commit_updates_the_comment_in_place(repository: Repository) -> None:
    planned(repository)
    repository.write(topic("orders"), topic("payments"))
    planned(repository, head="d" * 40)
    (comment,) = repository.github.comments[7]
    assert "2 to create" in comment["body"]
    assert f"head={'d' * 40} plan=sha256:" in comment["body"]


@pytest.mark.parametrize("missing", ["contents", "pull-requests"])
def test_each_permission_of_the_plan_is_needed(missing: str, repository: Repository) -> None:
    """``contents`` is for the checkout, which is not run here."""
    del missing
    runner = repository.pull_request()
    runner.before_step = lambda script: setattr(repository.github, "permissions", {})
    plan = job(runner, "plan.yaml", "plan")
    assert plan.failed
    assert "docs/github-actions.md" in plan.log


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
    body = repository.github.comments[7][0]["body"]
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
    fork = job(repository.pull_request(fork=True), "plan.yaml", "plan-of-a-fork")
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


def test_a_locked_cluster_is_named_and_not_waited_for(repository: Repository) -> None:
    from cli.processes import PausedApply

    planned(repository)
    other = Project(repository.root.parent / "search", name="search", uid="search-1")
    other.write(topic("searches")).write_file(
        cluster={"url": f"embedded:{repository.project.store}"}
    )
    holder = PausedApply(repository.root.parent / "gate", "apply", other.folder, "--auto-approve")
    try:
        locked = applied(repository)
        assert locked.code == 7
        assert "does not wait or try again" in locked.summary
        assert f"process {holder.process.pid}" in locked.summary
    finally:
        holder.stop()
