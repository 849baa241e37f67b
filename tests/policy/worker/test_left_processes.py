"""What policies start ends with the worker, whatever it did to stay, and holds no file of ours."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from patience import eventually
from policy.worker.judgings import SHORT, a_creation, a_policy, is_running, judging, started

from kgitops.model.errors import KgitopsError
from kgitops.policy.worker.process import Limits
from kgitops.policy.worker.session import WorkerEvaluator

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="docs/reference/policy-limits.md says what holds elsewhere"
)
PATIENCE_S = 30


def leaving(file: Path, then: str = "", limits: Limits = SHORT) -> WorkerEvaluator:
    policy = a_policy("bad:LeavesADaemon", configs={"file": str(file), "then": then})
    return judging(policy, limits=limits)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pid"


@pytest.mark.parametrize("then", ["", "die", "hang", "stop the supervisor", "kill the group"])
def test_a_daemon_ends_with_the_worker(file: Path, then: str) -> None:
    """Once the judging is closed, it and the worker are gone: nobody need wait for them."""
    before = started()
    with leaving(file, then) as judge:
        judge.judge(a_creation("orders"))
        daemon = int(file.read_text())
        # After a breach another worker goes on, and with the first one its processes went.
        assert is_running(daemon) is (then in ("", "stop the supervisor"))

    assert not is_running(daemon)
    assert started() == before


def test_who_kills_the_supervisor_leaves_nothing_either(file: Path) -> None:
    """They are known by what stands in their environment."""
    with leaving(file, "kill the supervisor") as judge:
        judge.judge(a_creation("orders"))
        daemon = int(file.read_text())
        assert not is_running(daemon)


@pytest.mark.parametrize("then", ["", "hang"])
def test_a_daemon_ends_soon_after_kgitops_is_killed(file: Path, then: str) -> None:
    """So does the worker, also where a policy is at work and nobody reads its pipes any more."""
    program = f"""
import sys, time
sys.path[:] = {sys.path!r}
from pathlib import Path
from policy.worker.judgings import a_creation
from policy.worker.test_left_processes import leaving
from kgitops.policy.worker.process import Limits
with leaving(Path({str(file)!r}), {then!r}, Limits(seconds=3600)) as judge:
    judge.judge(a_creation("orders"))
    time.sleep(3600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program])
    eventually(lambda: file.exists() and file.read_text(), what="the policy is asked")
    daemon = int(file.read_text())
    below = [process.pid for process in psutil.Process(parent.pid).children(recursive=True)]
    assert below
    assert is_running(daemon)

    parent.kill()
    parent.wait()

    eventually(
        lambda: [process for process in (daemon, *below) if is_running(process)],
        lambda left: not left,
        what="the processes end",
    )


def test_whoever_reads_what_kgitops_prints_gets_to_its_end(file: Path) -> None:
    """Also while the worker, and what it left, still run: they hold none of its files."""
    program = f"""
import os, signal, sys
sys.path[:] = {sys.path!r}
from pathlib import Path
from policy.worker.judgings import a_creation
from policy.worker.test_left_processes import leaving
held = leaving(Path({str(file)!r}))
judge = held.__enter__()
judge.judge(a_creation("orders"))
print("done", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
os._exit(0)
"""
    reader = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert reader.stdout is not None
    eventually(
        psutil.Process(reader.pid).status,
        lambda status: status == psutil.STATUS_STOPPED,
        what="the reader stops",
    )
    daemon = int(file.read_text())
    ours = os.fstat(reader.stdout.fileno()).st_ino
    below = [one.pid for one in psutil.Process(reader.pid).children(recursive=True)]
    for pid in (daemon, *filter(is_running, below)):
        files = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
        assert files
        assert f"pipe:[{ours}]" not in files
    assert is_running(daemon)
    reader.send_signal(signal.SIGCONT)
    assert reader.communicate(timeout=PATIENCE_S)[0] == b"done\n"


def test_what_is_printed_comes_to_stderr_before_the_judging_ends(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with judging(a_policy("bad:Prints")) as judge:
        judge.judge(a_creation("bad"))
    said = capfd.readouterr()
    assert said.err.endswith("written\n")
    assert len(said.err) > len("printed") << 20
    assert said.out == ""


def test_a_worker_that_can_not_be_started_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    before = open_files()
    with pytest.raises(KgitopsError, match="can't be started"):
        WorkerEvaluator([a_policy("good:Accepts")])
    assert open_files() == before


def test_many_workers_leave_no_files_open() -> None:
    def once() -> int:
        with suppress(KgitopsError), judging(a_policy("good:Accepts")) as judge:
            judge.judge(a_creation("orders"))
        return open_files()

    first = once()
    assert [once() for _ in range(3)] == [first] * 3
