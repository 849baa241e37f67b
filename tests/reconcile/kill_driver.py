"""Kills a process with SIGKILL at each boundary of a turn, one after the other.

Usage: kill_driver.py PROJECT FOLDER. For every boundary k there is then FOLDER/k, the project with
its cluster and its plans as the killed process left them. Prints how many boundaries there are.
"""

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from apply.faults import FakeClock, FaultyCluster
from apply.plans import open_cluster

from kgitops.cluster.port import Cluster
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.reconcile.turns.shelf import PlanShelf
from kgitops.reconcile.turns.surroundings import TurnContext, TurnMemory
from kgitops.reconcile.turns.turn import take_turn
from kgitops.workflow.project.selection import Selection


def take(folder: Path, *, ahead_s: float, pass_boundary: Callable[..., None]) -> TurnResult:
    """One turn of the project by a clock that is ahead, with a hook at every boundary."""
    clock = FakeClock(ahead_s=ahead_s)
    context = TurnContext(plans=folder / "plans", clock=clock)
    revision = Revision(name="1", folder=folder)
    selection = Selection(paths=(folder,), environ={})
    with hooked(folder, clock, pass_boundary):
        result, _ = take_turn(selection, revision, TurnMemory(), context)
    return result


@contextmanager
def hooked(folder: Path, clock: FakeClock, pass_boundary: Callable[..., None]) -> Iterator[None]:
    def connect(*_: object, **__: object) -> Cluster:
        real = open_cluster(folder / ".kgitops" / "local.db", clock)
        return FaultyCluster(  # type: ignore[return-value]
            real,
            before_send=pass_boundary,
            after_send=pass_boundary,
            before_append=pass_boundary,
            after_append=pass_boundary,
            before_read=pass_boundary,
            before_fence=pass_boundary,
        )

    put, clear = PlanShelf.put, PlanShelf.clear

    def put_between(self: PlanShelf, *words: object) -> Path:
        pass_boundary()
        path = put(self, *words)  # type: ignore[arg-type]
        pass_boundary()
        return path

    def clear_after(self: PlanShelf, **words: Path) -> None:
        pass_boundary()
        clear(self, **words)

    with (
        patch("kgitops.workflow.project.clusters.connect", connect),
        patch.object(PlanShelf, "put", put_between),
        patch.object(PlanShelf, "clear", clear_after),
    ):
        yield


def main(project: Path, folder: Path) -> None:
    # What the first turn of a process imports and builds, no child has to.
    whole = folder / "whole"
    shutil.copytree(project, whole)
    _run_until(whole, sys.maxsize)
    shutil.rmtree(whole)
    boundary = 0
    while True:
        copy = folder / str(boundary)
        shutil.copytree(project, copy)
        if not _killed(copy, boundary):
            shutil.rmtree(copy)
            print(boundary)
            return
        boundary += 1


def _killed(folder: Path, boundary: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            _run_until(folder, boundary)
        except BaseException:  # noqa: BLE001 (the child must not run on as its parent)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, f"{folder} failed by itself"
    return False


def _run_until(folder: Path, boundary: int) -> None:
    left = boundary

    def pass_boundary(*_: object) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    result = take(folder, ahead_s=0, pass_boundary=pass_boundary)
    assert result.outcome in (TurnOutcome.PENDING, TurnOutcome.APPLIED), result


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
