"""The contestants of ``gateway.py``: what runs, where clients connect to, and what it costs."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
from gateway_contest import KROX_NAMES, LOCAL, NAMES, NONE, RELAY, TLS, TOPICS, UVLOOP, Contest
from gateway_kroxylicious import kroxylicious
from msgspec import Struct

from kgitops.sandbox.layout import choose_ports, is_free

PORTS = 6


class Contestant(Struct, frozen=True, kw_only=True):
    """One way to the broker: where clients connect to, and the process that pays for it."""

    name: str
    protocol: str
    servers: str
    process: psutil.Process | None

    @property
    def user(self) -> str:
        """The one who logs in, which decides whether the gateway translates names."""
        return "member" if self.name in {NAMES, UVLOOP} else "admin"

    @property
    def topic(self) -> str:
        """Its topic, as clients call it."""
        return LOCAL if self.name in {NAMES, UVLOOP, KROX_NAMES} else self.physical

    @property
    def physical(self) -> str:
        """Its topic, as the broker calls it."""
        return TOPICS[self.name]

    def processor_seconds(self) -> dict[int, float]:
        """User and system time of each process, of threads that have ended too."""
        return {member.pid: _processor_seconds(member) for member in self._family()}

    def megabytes(self) -> float:
        """Resident memory of all processes."""
        return sum(member.memory_info().rss for member in self._family()) / 1e6

    def _family(self) -> list[psutil.Process]:
        first = self.process
        return [first, *first.children(recursive=True)] if first else []


def _processor_seconds(process: psutil.Process) -> float:
    try:
        return time.clock_gettime(~process.pid << 3 | 2)  # Linux's exact clock of a process
    except OSError:
        times = process.cpu_times()
        return times.user + times.system


@contextmanager
def enter(contest: Contest, name: str, protocol: str, workers: int = 1) -> Iterator[Contestant]:
    """Run a contestant while the context is open."""
    servers = contest.kafka.layout.servers(protocol)
    if name == NONE:
        yield Contestant(name=name, protocol=protocol, servers=servers, process=None)
        return
    port = _ports()
    certificate = contest.certificate if protocol == TLS else None
    if name in {RELAY, NAMES, UVLOOP}:
        environ = contest.environment(uvloop=name == UVLOOP)
        running = _gateway(contest, port, protocol, certificate, workers, environ)
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
    contest: Contest,
    port: int,
    protocol: str,
    certificate: Path | None,
    workers: int,
    environ: Mapping[str, str],
) -> Iterator[psutil.Process]:
    words = [sys.executable, "-m", "kgitops", "gateway", str(contest.home / "project")]
    words += ["-c", protocol, "--listen", f"127.0.0.1:{port}", "--max-connections", "1000"]
    if workers > 1:
        words += ["--workers", str(workers)]
    if certificate:
        words += ["--tls-cert", str(certificate), "--tls-key", str(certificate)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ)
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
        port = choose_ports(1, ["any"])[1]["any"]
        if all(is_free(port + more) for more in range(1, PORTS)):
            return port
