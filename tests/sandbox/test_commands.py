"""``kgitops sandbox start|stop|status``, each in a process of its own, on a real Kafka."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from other_processes import running

from kgitops.model.errors import KgitopsError
from kgitops.sandbox.running import Sandbox
from kgitops.sandbox.service import load, service_home

TOPICS = "org.apache.kafka.tools.TopicCommand"
pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("sandbox-commands")]


class Ran(NamedTuple):
    """The outcome of a command."""

    code: int
    out: str
    err: str


class Commands:
    """Runs sandbox commands with a state folder of the tests' own."""

    def __init__(self, state: Path) -> None:
        self.home = state / "kgitops" / "sandbox"
        self.env = {**os.environ, "XDG_STATE_HOME": str(state)}

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "kgitops", "sandbox", *words],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str) -> Ran:
        return self.end(self.begin(*words))

    def end(self, process: "subprocess.Popen[str]") -> Ran:
        out, err = process.communicate(timeout=300)
        return Ran(process.returncode, out, err)

    @property
    def sandbox(self) -> Sandbox:
        found = load(self.home)
        assert found
        return found

    def pid(self, broker: int) -> int:
        return int((self.home / f"broker-{broker}" / "pid").read_text())


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """None of their sandboxes is left at the end, even after a failure."""
    made = Commands(tmp_path_factory.mktemp("state"))
    yield made
    made("stop", "--yes")


@pytest.fixture
def nothing(commands: Commands) -> Commands:
    """There is no sandbox."""
    if commands.home.exists():
        assert commands("stop", "--yes").code == 0
    return commands


@pytest.fixture
def sandbox(commands: Commands) -> Commands:
    """One runs, with what tests before have left in it."""
    ran = commands("start", "--sasl")
    assert ran.code == 0, ran.err
    return commands


def create(sandbox: Commands, topic: str) -> None:
    sandbox.sandbox.tool(TOPICS, "--create", "--topic", topic)


def topics(sandbox: Commands) -> list[str]:
    return sandbox.sandbox.tool(TOPICS, "--list").split()


def test_there_is_none_at_first(nothing: Commands) -> None:
    ran = nothing("status")
    assert (ran.code, ran.err) == (1, "")
    assert "Start one with: kgitops sandbox start" in ran.out
    assert nothing("stop").out == "There is no sandbox.\n"


def test_each_name_is_a_sandbox_of_its_own(commands: Commands) -> None:
    said = commands("stop", "--name", "mine").out
    assert said == "There is no sandbox mine.\n"
    assert "sandbox start --name mine" in commands("status", "--name", "mine").out
    assert service_home("mine") != service_home()


def test_of_two_that_start_at_once_one_finds_the_others(nothing: Commands) -> None:
    started = [nothing.begin("start", "--sasl") for _ in range(2)]
    ran = [nothing.end(process) for process in started]
    assert [code for code, _, _ in ran] == [0, 0], ran
    joined, made = sorted((out.splitlines() for _, out, _ in ran), key=lambda lines: lines[0])
    assert joined[0].startswith("Joined the sandbox sandbox, which runs already: what is in it")
    assert joined[1] == "One of your own: kgitops sandbox start --name NAME"
    assert made[0] == "Kafka is ready."
    assert joined[2:] == made[made.index("") :]


def test_it_says_how_to_reach_it(sandbox: Commands, tmp_path: Path) -> None:
    """Its output makes a project file that plans; the broker outlives the command."""
    ran = sandbox("status")
    assert ran.code == 0
    said = ran.out.partition("In kgitops.yaml:\n")[2].partition("\nWithout it:")[0]
    project = "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: tried}\nspec:\n"
    tmp_path.joinpath("kgitops.yaml").write_text(project + said)
    snapshot = subprocess.run(
        [sys.executable, "-m", "kgitops", "snapshot", "-c", "sandbox", "-o", "-"],
        cwd=tmp_path,
        env=sandbox.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert snapshot.returncode == 0, snapshot.stderr


def test_one_with_other_settings_is_not_this_one(sandbox: Commands) -> None:
    ran = sandbox("start", "--brokers", "3")
    assert (ran.code, ran.out) == (64, "")
    assert "--brokers 1 --sasl" in ran.err


def test_a_killed_broker_is_told_and_started_with_its_data(sandbox: Commands) -> None:
    create(sandbox, "before-the-crash")
    os.kill(sandbox.pid(1), signal.SIGKILL)
    ran = sandbox("status")
    assert ran.code == 1
    assert "No broker runs" in ran.out
    assert sandbox("start", "--sasl").code == 0
    assert "before-the-crash" in topics(sandbox)


def test_kafkas_own_tools_run_on_it(sandbox: Commands) -> None:
    """Each takes the address and the login, and its exit code is the command's."""
    made = sandbox("tool", "kafka-topics", "--create", "--topic", "by-hand")
    assert (made.code, made.out) == (0, "Created topic by-hand.\n"), made.err
    assert "by-hand" in sandbox("tool", "topics.sh", "--list").out.split()
    told = sandbox("tool", "kafka-cluster", "cluster-id")
    assert told.out == f"Cluster ID: {sandbox.sandbox.cluster_id}\n"
    failed = sandbox("tool", "kafka-topics", "--describe", "--topic", "missing")
    assert failed.code == 1
    assert "Topic 'missing' does not exist" in failed.out
    unknown = sandbox("tool", "kafka-topic", "--list")
    assert unknown.code == 64
    assert "did you mean kafka-topics?" in unknown.err


def test_what_is_kept_is_there_again(sandbox: Commands) -> None:
    """The data, and the address; others of this machine can't read it, not even what was open."""
    create(sandbox, "before-the-stop")
    assert sandbox.home.stat().st_mode & 0o777 == 0o700
    servers, pid = sandbox.sandbox.servers, sandbox.pid(1)
    assert sandbox("stop", "--keep", "--auto-approve").code == 0
    assert not psutil.pid_exists(pid)
    sandbox.home.chmod(0o755)
    assert sandbox("start", "--sasl").code == 0
    assert sandbox.home.stat().st_mode & 0o777 == 0o700
    assert sandbox.sandbox.servers == servers
    assert "before-the-stop" in topics(sandbox)


def test_a_pid_that_another_process_has_by_now_is_left_alone(sandbox: Commands) -> None:
    os.kill(sandbox.pid(1), signal.SIGKILL)
    with running([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (sandbox.home / "broker-1" / "pid").write_text(f"{other.pid}\n")
        assert sandbox("status").code == 1
        assert sandbox("stop", "--keep", "--yes").code == 0
        assert other.poll() is None
        other.communicate(b"\n")


def test_a_pid_file_that_says_nothing_is_no_broker(sandbox: Commands) -> None:
    assert sandbox("stop", "--keep", "--yes").code == 0
    (sandbox.home / "broker-1" / "pid").write_text("")
    assert sandbox("status").code == 1


def test_stopping_deletes_the_data(sandbox: Commands) -> None:
    refused = sandbox("stop")
    assert (refused.code, refused.out) == (64, "")
    assert refused.err == "kgitops: there is nobody to ask; pass --yes\n"
    assert sandbox.home.exists()
    ran = sandbox("stop", "--yes")
    assert (ran.code, ran.out) == (0, "Stopped, and its data deleted.\n")
    assert not sandbox.home.exists()
    assert sandbox("status").code == 1


def test_a_broken_note_is_no_reason_to_guess(nothing: Commands) -> None:
    nothing.home.mkdir(parents=True)
    note = nothing.home / "sandbox.json"
    note.write_text("{")
    for word in ("start", "status", "stop"):
        ran = nothing(word)
        assert (ran.code, ran.out) == (1, "")
        assert str(note) in ran.err
    with pytest.raises(KgitopsError, match="can't be read"):
        load(nothing.home)
    note.unlink()
