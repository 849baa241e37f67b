"""The README's way to a real Kafka, command by command."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from strangers import stranger_on_the_first_port

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"^\$ uv run (kgitops [^#\n]*)", re.MULTILINE)
pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("sandbox-commands")]


def test_the_readme_leads_to_a_real_kafka_and_back(tmp_path: Path) -> None:
    """The lines as they are, while another Kafka has the sandbox's first port."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}

    def run(command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout + done.stderr)
        return done.stdout

    section = (ROOT / "README.md").read_text().partition("### On a real Apache Kafka")[2]
    start, *between, stop = COMMAND.findall(section.partition("\n### ")[0])
    assert (start.split()[1:3], stop.split()[1:3]) == (["sandbox", "start"], ["sandbox", "stop"])
    with stranger_on_the_first_port(tmp_path / "state") as other:
        try:
            started = run(start)
            said = [run(command) for command in between]
        finally:
            run(stop)
        assert f"Port {other.port} is in use" in started
        assert other.connections == 0
    assert "Plan: 13 to create" in said[0]
    assert "Applied: 13 done." in said[1]
    assert "No changes." in said[2]
