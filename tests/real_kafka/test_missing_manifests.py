"""A loop in mode auto on real brokers loses its manifests to a submodule, and removes nothing."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from cli.projects import Project, acl, as_yaml, topic
from cli.test_reconcile_from_git import looping, with_submodule, words
from kafka_java_tools import topics
from reconcile.notifications.receivers import Receiver, receiver
from reconcile.sources.repositories import Repository

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

OLD = [topic(f"old-{n}", replicationFactor=1, deletionPolicy="Delete") for n in range(4)]
RIGHTS = [acl(f"reader-{n}", resource={"type": "topic", "name": f"old-{n}"}) for n in range(4)]


def end_of_registry(kafka: Sandbox) -> int:
    with closing(connect(f"kafka://{kafka.servers}", base=Path())) as cluster:
        entries = cluster.registry.read()
        assert entries
        return entries[-1].offset


def event(told: Receiver, kind: str) -> str:
    """The sentence of the first event of a kind; waits until there is one."""
    for count in range(1, 20):
        told.wait_for(count)
        data = json.loads(told.bodies[count - 1])["data"]
        if data["kind"] == kind:
            return str(data["sentence"])
    raise AssertionError(kind)


def test_a_submodule_or_a_renamed_file_removes_nothing_and_tells(
    kafka: Sandbox, kafka_cluster: Cluster, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "origin")
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}}
    project = Project(tmp_path / "project").write_file(
        clusters={"kafka": {"url": f"kafka://{kafka.servers}"}},
        reconcile={"mode": "auto", "notifications": [chat]},
    )
    new = topic("new", replicationFactor=1)
    repository.commit((project.folder / "kgitops.yaml").read_text(), file="kgitops.yaml")
    repository.commit(as_yaml([*OLD, *RIGHTS]), file="manifests/old.yaml")
    arguments = words(repository, "--interval", "1s", "--state", str(tmp_path / "state"))
    names = {f"old-{n}" for n in range(4)}
    for lose in (submodule, renamed):
        with receiver() as told, looping(arguments, tmp_path / lose.__name__, CHAT_URL=told.url):
            event(told, "synced")
            before = end_of_registry(kafka)
            lose(repository, tmp_path)
            repository.commit(as_yaml([new]), file="manifests/new.yaml")
            sentence = event(told, "failed")
            assert ("git submodule" in sentence) or ("looks like a manifest" in sentence)
        assert set(topics(kafka)) == names, "nothing is deleted, and nothing applied"
        assert end_of_registry(kafka) == before
        repository.git("reset", "-q", "--hard", "HEAD~1")
    del kafka_cluster


def submodule(repository: Repository, folder: Path) -> None:
    """Lose the manifests to a submodule."""
    with_submodule(repository, folder / "library")


def renamed(repository: Repository, folder: Path) -> None:
    """Lose the manifests to a name that is not read."""
    del folder
    repository.git("mv", "manifests/old.yaml", "manifests/old.YAML")
