"""Projects as a user would write them, and what their embedded clusters were really asked."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from kgitops.cluster.connect import connect
from kgitops.cluster.port import Cluster
from kgitops.model.registry import Json
from kgitops.model.requests import Request

EXAMPLES = Path(__file__).parents[2] / "examples"
UID = "0c6f0a52-98f3-4b65-8f1c-0e6a5a3d9b10"

Document = dict[str, Json]


def topic(name: str = "orders", **spec: Json) -> Document:
    """A document of a topic with three partitions of two replicas, if nothing else is said."""
    counts = {} if "assignments" in spec else {"partitions": 3, "replicationFactor": 2}
    return document("Topic", name, **(counts | spec))


def acl(name: str = "billing", **spec: Json) -> Document:
    """A document that lets ``User:<name>`` read the topic orders, if nothing else is said."""
    given = {
        "principal": f"User:{name}",
        "permission": "Allow",
        "operations": ["Read"],
        "resource": {"type": "topic", "name": "orders"},
    }
    return document("Acl", f"{name}-reads", **(given | spec))


def quota(name: str = "billing", **quotas: float) -> Document:
    """A document of a user's quotas."""
    quotas = quotas or {"consumer_byte_rate": 1024}
    return document("ClientQuota", name, entity={"user": name}, quotas=quotas)


def tombstone(address: str) -> Document:
    """A document that has the object at ``address`` deleted."""
    return document("Tombstone", "gone", target={"address": address}, reason="not needed")


def document(kind: str, name: str, **spec: Json) -> Document:
    """Any document."""
    return {"apiVersion": "kgitops/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


class Project(Struct, frozen=True):
    """A project folder with one cluster in one file."""

    folder: Path
    name: str = "payments"
    uid: str = UID

    @property
    def store(self) -> Path:
        return self.folder / ".kgitops" / "local.db"

    @property
    def plan_file(self) -> Path:
        return self.folder / "plan.json"

    def write(self, *documents: Document) -> "Project":
        """Let the project consist of these documents."""
        self.write_file()
        manifests = self.folder / "manifests"
        manifests.mkdir(parents=True, exist_ok=True)
        (manifests / "all.yaml").write_text(as_yaml(documents))
        return self

    def write_file(
        self,
        *,
        metadata: Mapping[str, Json] | None = None,
        cluster: Mapping[str, Json] | None = None,
        **spec: Json,
    ) -> "Project":
        """Write the project file; what is given replaces or adds to the plainest one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        local = {"url": "embedded:.kgitops/local.db", "brokers": 3, **(cluster or {})}
        plain = {"manifests": ["manifests"], "clusters": {"local": local}}
        content = {
            "apiVersion": "kgitops/v1",
            "kind": "Project",
            "metadata": {"name": self.name, "uid": self.uid, **(metadata or {})},
            "spec": plain | spec,
        }
        (self.folder / "kgitops.yaml").write_text(as_yaml([content]))
        return self

    def change_behind(self, *requests: Request) -> None:
        """What somebody else does to the cluster with other tools."""
        with closing(self.connect()) as cluster:
            for request in requests:
                (result,) = cluster.execute([request], validate_only=False, principal="User:other")
                assert result.ok, result

    def connect(self) -> Cluster:
        return connect("embedded:.kgitops/local.db", brokers=3, base=self.folder)

    def records(self) -> object:
        """Everything that was ever changed in the cluster; its bytes where it is no store."""
        return metadata_log(self.store)


def metadata_log(store: Path) -> object:
    """Every batch of changes in the store; its bytes where it can't be read as a store.

    That brokers registered, when the cluster was first connected to, is no change of anyone's.
    """
    if not store.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT log_offset, records FROM log").fetchall()
    except sqlite3.DatabaseError:
        return store.read_bytes()
    return [row for row in rows if "RegisterBrokerRecord" not in row[1]]


def as_yaml(documents: Iterable[Mapping[str, Json]]) -> str:
    """JSON is YAML."""
    return "".join(f"---\n{json.dumps(content, indent=2)}\n" for content in documents)
