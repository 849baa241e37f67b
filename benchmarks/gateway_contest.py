"""The broker of ``gateway.py``: its users, topics, and a virtual cluster with a link to one."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from gateway_kroxylicious import PHYSICAL
from msgspec import Struct, json

from kgitops.sandbox.sandbox import Sandbox

VIRTUAL_CLUSTER = "bench"
PLAIN, TLS = "SASL_PLAINTEXT", "SASL_SSL"
NONE, RELAY, NAMES = "no gateway", "kgitops, addresses only", "kgitops, names"
UVLOOP = "kgitops, names, uvloop"
KROX, KROX_NAMES = "Kroxylicious, addresses only", "Kroxylicious, names"
TOPICS = {
    NONE: "without",
    RELAY: "relayed",
    NAMES: "named",
    UVLOOP: "named",
    KROX: "passed",
    KROX_NAMES: f"{PHYSICAL}perf",
}
"""The brokers' names of the topics of contestants, who take turns."""
LOCAL = "perf"
"""The topic's name for clients where names are translated."""
SMALL_SEGMENTS = {"segment.bytes": 33554432, "file.delete.delay.ms": 0}
MANIFESTS = f"""\
apiVersion: kgitops/v1
kind: VirtualCluster
metadata: {{name: {VIRTUAL_CLUSTER}}}
spec: {{members: {{users: [{{principal: User:member}}]}}}}
---
apiVersion: kgitops/v1
kind: TopicLink
metadata: {{name: {LOCAL}, virtualCluster: {VIRTUAL_CLUSTER}}}
spec: {{target: {{physicalTopic: {TOPICS[NAMES]}}}}}
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: member}}
spec:
  virtualCluster: {VIRTUAL_CLUSTER}
  principal: User:member
  permission: Allow
  operations: [All]
  resource: {{type: topic, name: {LOCAL}}}
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: member-groups}}
spec:
  virtualCluster: {VIRTUAL_CLUSTER}
  principal: User:member
  permission: Allow
  operations: [All]
  resource: {{type: group, name: {LOCAL}, patternType: prefixed}}
"""


class Contest(Struct, frozen=True):
    """The broker, and a folder for what contestants need."""

    users: ClassVar[Mapping[str, str]] = {"admin": "admin-word", "member": "member-word"}
    kafka: Sandbox
    home: Path

    @property
    def certificate(self) -> Path:
        """That of the broker, with its key."""
        certificates = self.kafka.layout.certificates
        assert certificates
        return certificates.broker

    @property
    def authority(self) -> Path:
        """The certificate that clients trust."""
        certificates = self.kafka.layout.certificates
        assert certificates
        return certificates.authority

    def environment(self, *, uvloop: bool = False) -> dict[str, str]:
        """The environment of kgitops's processes, which use uvloop where they find it."""
        environ = {**os.environ, "BENCHMARK_WORD": self.users["admin"]}
        if not uvloop:
            hidden = self.home / "hidden"
            hidden.mkdir(exist_ok=True)
            (hidden / "uvloop.py").write_text("raise ImportError\n")
            environ["PYTHONPATH"] = str(hidden)
        return environ

    def logins(self, user: str) -> tuple[tuple[str, str], tuple[str, str]]:
        """The login through a contestant, and the one at the broker."""
        return (user, self.users[user]), ("admin", self.users["admin"])

    def admin(self) -> AdminClient:
        """An administrator of the broker; one without a name would end at once."""
        servers = self.kafka.layout.servers(PLAIN)
        configs = self.kafka.layout.client_configs(PLAIN)
        return AdminClient({"bootstrap.servers": servers, "log_level": "0", **configs})

    def end(self, topic: str) -> int:
        """The offset after the last record."""
        admin = self.admin()
        (future,) = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()}).values()
        return int(future.result().offset)

    def forget(self, topic: str) -> None:
        """Delete all records."""
        admin = self.admin()
        (future,) = admin.delete_records([TopicPartition(topic, 0, self.end(topic))]).values()
        future.result()


def prepare(contest: Contest) -> None:
    """Make the topics, and the virtual cluster with its link."""
    config = {key: str(value) for key, value in SMALL_SEGMENTS.items()}
    topics = [NewTopic(name, 1, 1, config=config) for name in set(TOPICS.values())]
    admin = contest.admin()
    for future in admin.create_topics(topics).values():
        future.result()
    folder = contest.home / "project"
    (folder / "manifests").mkdir(parents=True)
    (folder / "manifests" / "all.yaml").write_text(MANIFESTS)
    project = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": "bench", "uid": "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a33"},
        "spec": {
            "manifests": ["manifests"],
            "clusters": {name: _cluster(contest, name) for name in (PLAIN, TLS)},
        },
    }
    (folder / "kgitops.yaml").write_bytes(json.encode(project))
    words = [sys.executable, "-m", "kgitops", "apply", str(folder), "-c", PLAIN, "--auto-approve"]
    done = subprocess.run(
        words, env=contest.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def _cluster(contest: Contest, protocol: str) -> dict[str, object]:
    configs = {
        "security.protocol": protocol,
        "sasl.mechanism": "PLAIN",
        "sasl.username": "admin",
        "sasl.password": "${env:BENCHMARK_WORD}",
    }
    if protocol == TLS:
        configs["ssl.ca.location"] = str(contest.authority)
    return {"url": f"kafka://{contest.kafka.layout.servers(protocol)}", "configs": configs}
