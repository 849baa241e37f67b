"""Commands run as a user runs them, on projects whose cluster is the session's real one."""

from pathlib import Path

import pytest
from cli.conftest import here, kgitops
from cli.projects import Document, Project, as_yaml

from kgitops.cluster.port import Cluster
from kgitops.model.registry import Json
from kgitops.sandbox.sandbox import Sandbox

__all__ = ["here", "kgitops"]


class KafkaProject:
    """A folder ``payments`` with one cluster, ``kafka``."""

    def __init__(self, folder: Path, kafka: Sandbox) -> None:
        self.folder = folder
        self.manifests = folder / "manifests"
        self.manifests.mkdir(parents=True)
        self._url = f"kafka://{kafka.servers}"
        self.write_file()

    def write_file(self, **spec: Json) -> None:
        """Write the project file with these settings."""
        Project(self.folder).write_file(clusters={"kafka": {"url": self._url}}, **spec)

    def write(self, *documents: Document) -> None:
        """Let the project consist of these documents."""
        (self.manifests / "all.yaml").write_text(as_yaml(documents))


@pytest.fixture
def project(kafka: Sandbox, kafka_cluster: Cluster, here: Path) -> KafkaProject:
    """A project of which nothing is on the cluster, nor anything else."""
    return KafkaProject(here / "payments", kafka)
