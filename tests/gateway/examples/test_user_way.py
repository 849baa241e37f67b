"""The guide's way from a sandbox to a consumer inside a virtual cluster, command by command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgitops.sandbox.layout import is_free

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("sandbox-commands")]


def test_a_new_user_gets_to_a_consumer_in_ten_commands(tmp_path: Path) -> None:
    """Only the gateway's ports may differ, where others have them."""
    guide = (ROOT / "docs" / "guides" / "gateway.md").read_text()
    section = guide.partition("## From nothing to a consumer")[2]
    block = section.partition("```console\n")[2].partition("```")[0]
    commands = [line.removeprefix("$ ") for line in block.splitlines()]
    assert len(commands) == 10
    start, *between, stop = commands
    assert (start.split()[:3], stop.split()[:3]) == (
        ["kgitops", "sandbox", "start"],
        ["kgitops", "sandbox", "stop"],
    )
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    words = tmp_path / "bin"
    words.mkdir()
    for name, line in {"kgitops": "-m kgitops", "python": ""}.items():
        (words / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {line} "$@"\n')
        (words / name).chmod(0o755)
    environ = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": f"{words}:{os.environ['PATH']}",
    }

    def run(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-em", "-c", script],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    try:
        started = run(start)
        assert started.returncode == 0, started.stderr
        # Broker 1 has the second port after the gateway's.
        port = next(
            p for p in range(29092, 39092, 10) if is_free(p) and is_free(p + 1) and is_free(p + 2)
        )
        script = "\n".join(between).replace("127.0.0.1:29092", f"127.0.0.1:{port}")
        done = run(script)
    finally:
        run(stop)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    lines = done.stdout.splitlines()
    assert f"ready kafka://127.0.0.1:{port}" in lines
    assert lines[lines.index("Orders") :][:3] == [
        "Orders",
        "written to Orders",
        "read from Orders one order",
    ], said
