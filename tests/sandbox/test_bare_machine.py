"""A machine without Java and Maven: Kafka from Python packages alone.

Downloads Kafka (56 MB) into an empty cache each time, which is what it proves: about 25 s on an
idle machine, and as much for the broker on a Java that no archive was made for yet.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import eventually

from kgitops.sandbox.jars import KAFKA, pinned_jars

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("bare-machine")]

FETCH = """
from kgitops.sandbox.jars import fetch_libs
fetch_libs(lambda stage: print(stage, flush=True))
"""
START = """
import sys
from pathlib import Path
from kgitops.sandbox.sandbox import start
with start(Path(sys.argv[1])) as sandbox:
    print(sandbox.tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", "made"))
"""


class BareMachine:
    """Processes that see Python and nothing else, with a cache of their own."""

    def __init__(self, folder: Path) -> None:
        self.libs = folder / "kgitops" / f"kafka-{KAFKA}"
        nothing = folder / "bin"
        nothing.mkdir()
        leave = {"JAVA_HOME", "M2_HOME", "MAVEN_HOME"}
        kept = {key: value for key, value in os.environ.items() if key not in leave}
        self.env = {
            **kept,
            "PATH": str(nothing),
            "XDG_CACHE_HOME": str(folder),
            "HOME": str(folder),
        }

    def begin(self, script: str, *words: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", script, *map(str, words)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> BareMachine:
    """The machine, which keeps what a test has downloaded."""
    machine = BareMachine(tmp_path_factory.mktemp("bare"))
    assert shutil.which("java", path=machine.env["PATH"]) is None
    assert shutil.which("mvn", path=machine.env["PATH"]) is None
    return machine


@pytest.fixture
def machine(downloaded: BareMachine) -> BareMachine:
    """The machine before any download."""
    shutil.rmtree(downloaded.libs, ignore_errors=True)
    return downloaded


def test_a_killed_download_is_not_used(machine: BareMachine) -> None:
    with machine.begin(FETCH) as process:
        part = machine.libs.with_name(f"{machine.libs.name}.part")

        def loaded() -> list[Path]:
            assert process.poll() is None, process.communicate()
            return [*part.glob("*.jar")]

        eventually(loaded, what="the first file is loaded")
        process.send_signal(signal.SIGKILL)
    assert not machine.libs.exists()


def test_of_two_that_download_at_once_one_does(machine: BareMachine) -> None:
    processes = [machine.begin(FETCH) for _ in range(2)]
    said = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    last = f"{len(pinned_jars())} of {len(pinned_jars())} files"
    assert sorted(last in text for text in said) == [False, True]
    assert {file.name for file in machine.libs.iterdir()} == {jar.file for jar in pinned_jars()}


def test_a_broker_runs_on_the_packaged_java(downloaded: BareMachine, tmp_path: Path) -> None:
    process = downloaded.begin(START, tmp_path / "home")
    said, _ = process.communicate(timeout=300)
    assert "Created topic made." in said
    assert process.returncode == 0
