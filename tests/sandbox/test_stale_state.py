"""``url: "sandbox:"`` while the state folder says that a sandbox runs, and it is not so."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ports import first_port
from strangers import stranger

from kgitops.sandbox.files import META
from kgitops.sandbox.service import load

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("sandbox-commands")]
START = "start it with kgitops sandbox start --brokers 1"


class Machine:
    """Runs commands with a state folder of the tests' own, in a folder without a project.

    Its ports are not those of a first start, which another run of the tests may have.
    """

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.home = self.state / "kgitops" / "sandbox"
        self._folder = folder
        first = first_port(6)
        self.wanted = tuple(range(first, first + 6))
        self.home.parent.mkdir(parents=True)
        self.home.with_name("sandbox.ports").write_text(json.dumps(self.wanted))

    def __call__(self, *words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "kgitops", *words],
            cwd=self._folder,
            env={**os.environ, "XDG_STATE_HOME": str(self.state)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def snapshot(self) -> tuple[int, str]:
        code, _, said = self("snapshot", "-c", "sandbox:", "-o", "state.json")
        return code, said

    @property
    def ports(self) -> tuple[int, ...]:
        found = load(self.home)
        assert found
        return found.layout.all_ports


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """One on which a sandbox of one broker runs."""
    machine = Machine(tmp_path)
    code, _, said = machine("sandbox", "start")
    assert code == 0, said
    yield machine
    machine("sandbox", "stop", "--yes")


def test_a_stranger_on_the_port_of_a_dead_sandbox_is_not_spoken_to(machine: Machine) -> None:
    broker = psutil.Process(int((machine.home / "broker-1" / "pid").read_text()))
    broker.kill()
    broker.wait()  # its port is free only then
    with stranger(machine.ports[0]) as other:
        for words in (
            ["snapshot", "-c", "sandbox:", "-o", "state.json"],
            ["sandbox", "tool", "kafka-topics", "--list"],
        ):
            code, _, said = machine(*words)
            assert (code, said) == (8, f"kgitops: the sandbox does not run; {START}\n")
        assert other.connections == 0


def test_a_state_file_with_the_ports_of_a_stranger_leads_nowhere(machine: Machine) -> None:
    """The sandbox's own process runs, and does not listen there."""
    file = machine.home / "sandbox.json"
    content = json.loads(file.read_text())
    with stranger(0) as other:
        changed = {**content, "ports": {"1": {**content["ports"]["1"], "PLAINTEXT": other.port}}}
        file.write_text(json.dumps(changed))
        code, said = machine.snapshot()
        assert (code, other.connections) == (8, 0)
        assert f"does not listen on {other.servers}" in said
        assert START in said
    file.write_text(json.dumps(content))
    assert machine.snapshot() == (0, "")


def test_the_cluster_that_answers_must_have_the_id_of_the_data(machine: Machine) -> None:
    meta = machine.home / "broker-1" / "data" / META
    written = meta.read_text()
    found = load(machine.home)
    assert found
    real = found.cluster_id
    assert real
    meta.write_text(written.replace(real, "AAAAAAAAAAAAAAAAAAAAAA"))
    code, said = machine.snapshot()
    assert code == 8
    assert f"leads to the cluster {real}, not to the sandbox" in said
    meta.write_text(written)


def test_ports_stay_over_starts_and_busy_ones_are_named(tmp_path: Path) -> None:
    """The data is deleted each time; what the stranger took is not asked back."""
    machine = Machine(tmp_path)
    try:
        with stranger(machine.wanted[0]) as other:
            code, said, progress = machine("sandbox", "start")
            assert code == 0
            assert f"Port {other.port} is in use by another program" in said
            assert "starting Kafka with 1 broker\n" in progress
            assert "0 of 1 brokers answer" in progress
            ports = machine.ports
            assert other.port not in ports
            assert machine.snapshot() == (0, "")
        assert machine("sandbox", "stop", "--yes")[0] == 0
        code, said, _ = machine("sandbox", "start")
        assert (code, machine.ports) == (0, ports)
        assert "in use" not in said
        assert machine("sandbox", "stop", "--keep", "--yes")[0] == 0
        with stranger(ports[0]) as other:
            code, said, _ = machine("sandbox", "start")
            assert f"Port {ports[0]} is in use by another program" in said
            assert machine.ports[1:] == ports[1:]
            assert machine.snapshot() == (0, "")
            assert other.connections == 0
    finally:
        machine("sandbox", "stop", "--yes")
