"""Kills a real process with SIGKILL at each boundary of an apply or a resume, one after the other.

Usage: crash_driver.py STORE PLAN FOLDER TIMES. For every boundary k there are then FOLDER/k.db,
the store as the killed process left it, and FOLDER/k.sent, a line for every request that had
reached the cluster. With TIMES 2 each store is resumed once more and killed again, at boundary
k * 5 % 17 of the resume. Prints how many boundaries there are.
"""

import os
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, open_cluster, spelt
from builders import UID

from kgitops.model.requests import Request
from kgitops.plan.reading import read_plan

TESTS = Path(__file__).parent.parent


def kill_everywhere(folder: Path, times: int) -> int:
    """Run this file on ``store.db`` and ``plan.json`` of the folder; count the boundaries."""
    inputs = (folder / "store.db", folder / "plan.json", folder)
    done = subprocess.run(
        [sys.executable, __file__, *inputs, str(times)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    boundaries = int(done.stdout)
    assert boundaries > 15
    return boundaries


def main(store: Path, plan: Path, folder: Path, times: int) -> None:
    # What the first apply of a process imports and builds, no child has to.
    whole = folder / "whole.db"
    shutil.copy(store, whole)
    _run_until(whole, sys.maxsize, plan)
    whole.unlink()
    whole.with_suffix(".sent").unlink()
    boundary = 0
    while True:
        copy = folder / f"{boundary}.db"
        shutil.copy(store, copy)
        killed = _in_child(copy, boundary, plan)
        if not killed:
            copy.unlink()
            print(boundary)
            return
        if times > 1:
            _in_child(copy, boundary * 5 % 17, None)
        boundary += 1


def _in_child(store: Path, boundary: int, plan: Path | None) -> bool:
    """Run the child; return whether it was killed. Without a plan it resumes."""
    child = os.fork()
    if child == 0:
        try:
            _run_until(store, boundary, plan)
        except Exception:  # noqa: BLE001 (the child must not run on as its parent)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, f"{store} failed by itself"
    return False


def _run_until(store: Path, boundary: int, plan: Path | None) -> None:
    left = boundary

    def pass_boundary(*_: object) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def note_sent(requests: list[Request]) -> None:
        with store.with_suffix(".sent").open("a") as file:
            file.writelines(f"{line}\n" for line in spelt(requests))
        pass_boundary()

    # A resume begins when the killed process's lease is long over.
    clock = FakeClock(ahead_s=0 if plan else 1800)
    cluster = FaultyCluster(
        open_cluster(store, clock),
        before_send=pass_boundary,
        after_send=note_sent,
        before_append=pass_boundary,
        after_append=pass_boundary,
    )
    apply = Apply(cluster=cluster, clock=clock)
    if plan:
        result = apply.plan(read_plan(plan.read_text(), str(plan)))
        assert result.verdict.exit == 0, result.verdict
    else:
        apply.resume(UID)
    cluster.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
