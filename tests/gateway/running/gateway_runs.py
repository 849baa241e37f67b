"""``kgitops gateway`` as a process before a real Kafka, and what clients of it are given."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from patience import eventually
from ports import first_port

from kgitops.sandbox.sandbox import Sandbox

USERS = {"admin": "admin-secret", "alice": "alice-secret", "keeper": "keeper-secret"}
PATIENCE_S = 90
PASSWORD = "KAFKA_PASSWORD"  # noqa: S105 (the name of a variable)
LISTENER = "SASL_PLAINTEXT"


class GatewayRun:
    """A project on a Kafka, and a gateway before it that can be killed and started again."""

    def __init__(self, kafka: Sandbox, folder: Path, user: str = "admin") -> None:
        self.kafka = kafka
        self.folder = folder
        self.user = user
        self.servers = kafka.layout.servers(LISTENER)
        self.port = first_port(2 + len(kafka.broker_ids))
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "gateway.log"
        self.access_log = folder / "refusals.log"
        self.environ = {**os.environ, PASSWORD: USERS["admin"]}
        (folder / "manifests").mkdir()
        self._write_project(folder, "admin")

    def _write_project(self, folder: Path, user: str) -> None:
        configs = {
            "security.protocol": LISTENER,
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": "${env:" + PASSWORD + "}",
        }
        project = {
            "apiVersion": "kgitops/v1",
            "kind": "Project",
            "metadata": {"name": "shop", "uid": "5b0c8c1d-7f3e-4a47-9f5a-2f6f6a1d9c65"},
            "spec": {
                "manifests": ["manifests"],
                "clusters": {"real": {"url": f"kafka://{self.servers}", "configs": configs}},
            },
        }
        (folder / "kgitops.yaml").write_text(yaml.safe_dump(project))

    def apply(self, *documents: dict[str, Any]) -> None:
        """Let the project consist of these documents."""
        text = yaml.safe_dump_all(documents)
        (self.folder / "manifests" / "all.yaml").write_text(text)
        done = self.kgitops("apply", str(self.folder), "--auto-approve", "--allow-deletes", "Acl=9")
        assert done.returncode == 0, done.stdout + done.stderr

    def kgitops(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kgitops", *words],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def start(self, *words: str) -> None:
        """Start the gateway, and wait until it is ready."""
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        environ = {**self.environ, PASSWORD: USERS[self.user]}
        project = self.folder
        if self.user != "admin":
            project = self.folder / self.user
            project.mkdir(exist_ok=True)
            self._write_project(project, self.user)
            (project / "manifests").mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            self.process = process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "kgitops", "gateway", str(project)),
                    *("--listen", f"127.0.0.1:{self.port}", "--ready-file", str(ready)),
                    *("--access-log", str(self.access_log), *words),
                ],
                env=environ,
                stdout=log,
                stderr=log,
            )

        def said() -> str:
            assert process.poll() is None, self.log.read_text()
            return self.log.read_text()

        eventually(said, lambda _: ready.exists(), what="the gateway is ready")

    def kill(self) -> None:
        """End it without any warning."""
        assert self.process
        self.process.kill()
        self.process.wait()
        self.process = None

    def end(self) -> int:
        """End it by SIGTERM; its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code

    @property
    def refusals(self) -> list[dict[str, str]]:
        lines = self.access_log.read_text().splitlines() if self.access_log.exists() else []
        return [json.loads(line) for line in lines]

    def client(self, user: str = "alice", **more: object) -> dict[str, Any]:
        """The configs of a librdkafka client that comes by the gateway."""
        return {
            "bootstrap.servers": f"127.0.0.1:{self.port}",
            "security.protocol": LISTENER,
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": USERS[user],
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
            **more,
        }


def virtual_cluster(name: str, *users: str) -> dict[str, Any]:
    members = {"users": [{"principal": user, "move": True} for user in users]} if users else {}
    return document("VirtualCluster", {"name": name}, {"members": members} if members else {})


def topic(name: str, within: str, replicas: int = 1, partitions: int = 3) -> dict[str, Any]:
    spec = {
        "partitions": partitions,
        "replicationFactor": replicas,
        "deletionPolicy": "Orphan",
    }
    return document("Topic", {"name": name, "virtualCluster": within}, spec)


def rights(name: str, within: str, user: str, topics: Sequence[str] = ("*",)) -> list[Any]:
    """A user may use the topics of a virtual cluster, and its groups."""
    common = {"virtualCluster": within, "principal": user, "permission": "Allow"}
    made = [
        document(
            "Acl",
            {"name": f"{name}-{number}"},
            {**common, "operations": ["Read", "Write"], "resource": {"type": "topic", "name": one}},
        )
        for number, one in enumerate(topics)
    ]
    group = {**common, "operations": ["Read"], "resource": {"type": "group", "name": "*"}}
    return [*made, document("Acl", {"name": f"{name}-groups"}, group)]


def document(kind: str, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "kgitops/v1", "kind": kind, "metadata": metadata, "spec": spec}
