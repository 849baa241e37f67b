"""The contestants of ``gateway.py``, and the broker that they stand before."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import psutil
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from gateway_kroxylicious import PHYSICAL, kroxylicious
from msgspec import Struct, json

from kgitops.sandbox.layout import choose_ports, is_free
from kgitops.sandbox.sandbox import Sandbox

CLUSTER, VIRTUAL_CLUSTER = "kafka", "bench"
PLAIN, TLS = "SASL_PLAINTEXT", "SASL_SSL"
NONE, RELAY, NAMES = "no gateway", "kgitops, addresses only", "kgitops, names"
KROX, KROX_NAMES = "Kroxylicious, addresses only", "Kroxylicious, names"
TOPICS = {
    NONE: "without",
    RELAY: "relayed",
    NAMES: "named",
    KROX: "passed",
    KROX_NAMES: f"{PHYSICAL}perf",
}
"""The brokers' names of topics, one a contestant."""
LOCAL = "perf"
"""The topic's name for clients where names are translated."""
SMALL_SEGMENTS = {"segment.bytes": 33554432, "file.delete.delay.ms": 0}
PORTS = 6
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

    @property
    def environment(self) -> dict[str, str]:
        """The environment of kgitops's processes."""
        return {**os.environ, "BENCHMARK_WORD": self.users["admin"]}

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


class Contestant(Struct, frozen=True, kw_only=True):
    """One way to the broker: where clients connect to, and the process that pays for it."""

    name: str
    protocol: str
    servers: str
    process: psutil.Process | None

    @property
    def user(self) -> str:
        """The one who logs in, which decides whether the gateway translates names."""
        return "member" if self.name == NAMES else "admin"

    @property
    def topic(self) -> str:
        """Its topic, as clients call it."""
        return LOCAL if self.name in {NAMES, KROX_NAMES} else self.physical

    @property
    def physical(self) -> str:
        """Its topic, as the broker calls it."""
        return TOPICS[self.name]

    def processor_seconds(self) -> dict[int, float]:
        """User and system time of each process, of threads that have ended too."""
        times = {member.pid: member.cpu_times() for member in self._family()}
        return {pid: found.user + found.system for pid, found in times.items()}

    def megabytes(self) -> float:
        """Resident memory of all processes."""
        return sum(member.memory_info().rss for member in self._family()) / 1e6

    def _family(self) -> list[psutil.Process]:
        first = self.process
        return [first, *first.children(recursive=True)] if first else []


def prepare(contest: Contest) -> None:
    """Make the topics, and the virtual cluster with its link."""
    config = {key: str(value) for key, value in SMALL_SEGMENTS.items()}
    topics = [NewTopic(name, 1, 1, config=config) for name in TOPICS.values()]
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
        words, env=contest.environment, capture_output=True, text=True, check=False
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


@contextmanager
def enter(contest: Contest, name: str, protocol: str, workers: int = 1) -> Iterator[Contestant]:
    """Run a contestant while the context is open."""
    servers = contest.kafka.layout.servers(protocol)
    if name == NONE:
        yield Contestant(name=name, protocol=protocol, servers=servers, process=None)
        return
    port = _ports()
    certificate = contest.certificate if protocol == TLS else None
    if name in {RELAY, NAMES}:
        running = _gateway(contest, port, protocol, certificate, workers)
    else:
        running = kroxylicious(
            contest.home / f"{protocol}-{port}",
            port,
            servers,
            tenants=name == KROX_NAMES,
            certificate=certificate,
            authority=contest.authority,
        )
    with running as process:
        servers = f"127.0.0.1:{port}"
        yield Contestant(name=name, protocol=protocol, servers=servers, process=process)


@contextmanager
def _gateway(
    contest: Contest, port: int, protocol: str, certificate: Path | None, workers: int
) -> Iterator[psutil.Process]:
    words = [sys.executable, "-m", "kgitops", "gateway", str(contest.home / "project")]
    words += ["-c", protocol, "--listen", f"127.0.0.1:{port}", "--max-connections", "1000"]
    if workers > 1:
        words += ["--workers", str(workers)]
    if certificate:
        words += ["--tls-cert", str(certificate), "--tls-key", str(certificate)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=contest.environment)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        if not ready.startswith("ready "):
            raise SystemExit(f"the gateway does not start: {ready}")
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _ports() -> int:
    """The first of ports next to each other that are free."""
    while True:
        port = choose_ports(1, ["any"], None)[1]["any"]
        if all(is_free(port + more) for more in range(1, PORTS)):
            return port
