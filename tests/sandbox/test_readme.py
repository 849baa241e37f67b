"""The README's way to a real Kafka, command by command."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"^\$ uv run (?:--no-default-groups )?(kgitops [^#\n]*)", re.MULTILINE)
pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("sandbox-commands")]


def test_the_readme_leads_to_a_real_kafka_and_back(tmp_path: Path) -> None:
    """Only the port may differ, if 19092 is taken."""
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
    try:
        found = re.search(r"kafka://\S+?:\d+", run(start))
        assert found
        file = tmp_path / "examples" / "quickstart" / "kgitops.yaml"
        file.write_text(file.read_text().replace("kafka://127.0.0.1:19092", found[0]))
        said = [run(command) for command in between]
    finally:
        run(stop)
    assert "Plan: 13 to create" in said[0]
    assert "Applied: 13 done." in said[1]
    assert "No changes." in said[2]
