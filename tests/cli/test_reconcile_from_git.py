"""``kgitops reconcile --git``, and the notifications of the project that it finds there."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.projects import metadata_log
from other_processes import running
from reconcile.notifications.receivers import Receiver, receiver
from reconcile.sources.repositories import Repository, allowed_signers, run, ssh_key

TOPIC = """apiVersion: kgitops/v1
kind: Topic
metadata: {{name: orders}}
spec: {{partitions: {partitions}, replicationFactor: 1}}
"""


def project(store: Path, notifications: object = ()) -> str:
    """A project whose embedded cluster lies outside of the repository."""
    return json.dumps(
        {
            "apiVersion": "kgitops/v1",
            "kind": "Project",
            "metadata": {"name": "payments", "uid": "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11"},
            "spec": {
                "clusters": {"local": {"url": f"embedded:{store}", "brokers": 3}},
                "reconcile": {"mode": "converge", "notifications": list(notifications)},
            },
        }
    )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "origin")


def words(repository: Repository, *more: str) -> list[str]:
    return ["reconcile", "--git", str(repository.folder), "--ref", "main", *more]


def test_what_is_signed_is_applied_and_what_is_not_is_told(repository, kgitops, tmp_path):
    alice = ssh_key(tmp_path, "alice")
    signers = allowed_signers(tmp_path / "signers", alice=alice)
    repository.commit(project(tmp_path / "store.db"), file="kgitops.yaml")
    repository.commit(TOPIC.format(partitions=1), alice, file="manifests/orders.yaml")
    once = words(
        repository, "--once", "--format", "json", "--allowed-signers", str(signers),
        "--state", str(tmp_path / "state"),
    )  # fmt: skip
    ran = kgitops(*once)
    turn = json.loads(ran.out.splitlines()[0])
    assert (ran.code, turn["outcome"], turn["revision"]) == (0, "applied", repository.head())

    good = repository.head()
    repository.commit(TOPIC.format(partitions=2), file="manifests/orders.yaml")
    ran = kgitops(*once)
    turn = json.loads(ran.out.splitlines()[0])
    assert (turn["outcome"], turn["revision"]) == ("in-sync", good)
    assert "is not signed; nothing of it is planned" in turn["revision_problem"]

    unknown = words(repository, "--once", "--allowed-signers", str(signers))
    ran = kgitops(*unknown, "--state", str(tmp_path / "other"))
    assert ran.code == 5
    assert "is not signed; nothing of it is planned" in ran.said


@contextmanager
def looping(arguments: list[str], printed: Path, **environ: str) -> Iterator[subprocess.Popen]:
    """The command in a process of its own, ended by SIGTERM; its output is in ``printed``."""
    with (
        printed.open("w") as output,
        printed.with_suffix(".err").open("w") as errors,
        running(
            [sys.executable, "-m", "kgitops", *arguments],
            env={**os.environ, **environ},
            stdout=output,
            stderr=errors,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def kinds(told: Receiver) -> list[str]:
    return [json.loads(body)["data"]["kind"] for body in told.bodies]


def test_events_reach_who_the_project_names_and_follow_its_revisions(repository, tmp_path):
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}}
    store = tmp_path / "store.db"
    repository.commit(project(store, [chat]), file="kgitops.yaml")
    repository.commit(TOPIC.format(partitions=1), file="manifests/orders.yaml")
    state = str(tmp_path / "state")
    arguments = words(repository, "--interval", "1s", "--format", "json", "--state", state)
    with receiver() as first, receiver() as second:
        addresses = {"CHAT_URL": first.url, "OTHER_URL": second.url}
        with looping(arguments, tmp_path / "printed", **addresses) as process:
            first.wait_for(1)
            assert kinds(first)[0] == "applied"
            other = {"name": "other", "webhook": {"url": {"env": "OTHER_URL"}}}
            (repository.folder / "manifests/orders.yaml").write_text(TOPIC.format(partitions=2))
            repository.commit(project(store, [other]), file="kgitops.yaml")
            second.wait_for(1)
            assert kinds(second) == ["pending"], "more partitions is nothing to do alone"
            broken = {"name": "other", "webhook": {"url": {"env": "NOT_SET"}}}
            (repository.folder / "manifests/orders.yaml").write_text(TOPIC.format(partitions=3))
            repository.commit(project(store, [broken]), file="kgitops.yaml")
            count = len(second.bodies)
            second.wait_for(count + 1)
        printed = (tmp_path / "printed").read_text()
    assert process.returncode == 143, printed
    assert "secret-path" not in printed + (tmp_path / "printed.err").read_text()
    notices = [line for line in map(json.loads, printed.splitlines()) if line["type"] == "notice"]
    assert [notice["sentence"] for notice in notices] == [
        "the notifications of payments stay as they were: the notification 'other' needs the "
        "environment variable NOT_SET, which is not set; set it"
    ]


def test_one_turn_tells_nobody(repository, kgitops, tmp_path, monkeypatch):
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}}
    repository.commit(project(tmp_path / "store.db", [chat]), file="kgitops.yaml")
    repository.commit(TOPIC.format(partitions=1), file="manifests/orders.yaml")
    with receiver() as told:
        monkeypatch.setenv("CHAT_URL", told.url)
        assert kgitops(*words(repository, "--once")).code == 0
    assert told.bodies == []


def test_a_secret_in_the_project_file_is_refused_and_not_shown(repository, kgitops, tmp_path):
    chat = {"name": "chat", "webhook": {"url": "https://hooks.example.com/s3cret"}}
    repository.commit(project(tmp_path / "store.db", [chat]), file="kgitops.yaml")
    repository.commit(TOPIC.format(partitions=1), file="manifests/orders.yaml")
    ran = kgitops("plan", repository.folder)
    assert ran.code == 1
    assert "spec.reconcile.notifications[0].webhook.url: a secret can't be written here" in ran.said
    assert "s3cret" not in ran.said


def with_submodule(repository: Repository, folder: Path) -> None:
    """Move the manifests into a repository of their own, as a submodule at the same place."""
    repository.git("mv", "manifests", "moved")
    (repository.folder / "moved").rename(folder)
    run("git", "init", "-q", "-b", "main", cwd=folder)
    run("git", "add", "--all", cwd=folder)
    run("git", "commit", "-q", "-m", "all", cwd=folder)
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    repository.git(*add, str(folder), "manifests/shared")


def turn_in(printed: str) -> dict[str, object]:
    (turn,) = [line for line in map(json.loads, printed.splitlines()) if "outcome" in line]
    return turn


DELETABLE = TOPIC.replace("replicationFactor: 1", "replicationFactor: 1, deletionPolicy: Delete")
OTHER = TOPIC.format(partitions=1).replace("orders", "other")


def test_a_submodule_is_a_broken_revision_and_applies_nothing(repository, kgitops, tmp_path):
    store = tmp_path / "store.db"
    repository.commit(project(store).replace("converge", "auto"), file="kgitops.yaml")
    repository.commit(DELETABLE.format(partitions=1), file="manifests/orders.yaml")
    once = words(repository, "--once", "--format", "json", "--state", str(tmp_path / "state"))
    ran = kgitops(*once)
    assert turn_in(ran.out)["outcome"] == "applied", ran.said
    before = metadata_log(store)

    with_submodule(repository, tmp_path / "library")
    repository.commit(OTHER, file="manifests/other.yaml")
    for _ in range(2):
        ran = kgitops(*once)
        turn = turn_in(ran.out)
        assert (ran.code, turn["outcome"]) == (5, "refused")
        assert (
            "nothing of this revision is planned: manifests/shared is a git submodule that was not "
            "checked out; kgitops fetches no submodules, so put their files into the repository"
        ) in str(turn["reasons"])
    assert metadata_log(store) == before, "nothing is deleted, and nothing applied"

    repository.git("rm", "-q", "-f", "manifests/shared")
    repository.commit(DELETABLE.format(partitions=1), file="manifests/orders.yaml")
    ran = kgitops(*once)
    assert (ran.code, turn_in(ran.out)["outcome"]) == (0, "applied")


@pytest.mark.parametrize("name", ["orders.YAML", "orders.yaml.bak"])
def test_a_manifest_that_is_not_read_is_a_broken_revision(repository, kgitops, tmp_path, name):
    store = tmp_path / "store.db"
    repository.commit(project(store).replace("converge", "auto"), file="kgitops.yaml")
    repository.commit(OTHER, file="manifests/other.yaml")
    repository.commit(DELETABLE.format(partitions=1), file="manifests/orders.yaml")
    once = words(repository, "--once", "--format", "json", "--state", str(tmp_path / "state"))
    assert kgitops(*once).code == 0
    before = metadata_log(store)
    repository.git("mv", "manifests/orders.yaml", f"manifests/{name}")
    repository.sign_commit()
    ran = kgitops(*once)
    assert ran.code == 1
    assert f"manifests/{name}:1:1: the name looks like a manifest's" in ran.said
    assert metadata_log(store) == before
