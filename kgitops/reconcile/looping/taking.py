"""A turn in its thread: how it is told to end, kept alone on its cluster, and told if it fails."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec.structs import replace

from kgitops.model import clock as moments
from kgitops.model.clock import Clock
from kgitops.model.errors import LockedError, StaleError
from kgitops.model.verdict import ExitCode, Reason, decide
from kgitops.reconcile.looping.board import TargetStatus
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.transitions import says_something
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.reconcile.turns.surroundings import TurnMemory
from kgitops.workflow.project.selection import Workspace

_TERM = 15


class UnderWay:
    """A turn under way: the stage it is in, whether it is to stop, and whether files changed."""

    def __init__(self, deadline: float, clock: Clock, stopping: Callable[[], int | None]) -> None:
        self._deadline = deadline
        self._clock = clock
        self._stopping = stopping
        self.timed_out = False
        self.outdated = False
        self.stage = ""

    def interrupted(self) -> int | None:
        """The signal that asks the turn to end: the process's own, or SIGTERM after its time."""
        number = self._stopping()
        if number is None and self._clock.monotonic() >= self._deadline:
            self.timed_out = True
            return _TERM
        return number

    def has_time_for(self, seconds: float) -> bool:
        """Return True if an attempt of so many seconds may begin, and can end in time."""
        return self._stopping() is None and self._clock.monotonic() + seconds < self._deadline

    def is_current(self, feed: RevisionFeed, revision: Revision) -> bool:
        """Return True if the files are still those of the revision, and note if they are not."""
        try:
            self.outdated = not feed.is_current(revision)
        except StaleError:  # they change while they are read
            self.outdated = True
        return not self.outdated

    def on_stage(self, stage: str) -> None:
        """Note the stage that begins."""
        self.stage = stage


class ClusterLocks:
    """A lock for each cluster: turns of several projects on it take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    @contextmanager
    def alone(self, workspace: Workspace, seconds: float) -> Iterator[None]:
        """Hold the lock of the workspace's cluster; others are waited for that long.

        Raises:
            LockedError: another turn on it has not ended by then.
        """
        cluster = workspace.cluster
        relative = cluster.url.startswith("embedded:")
        place = f"{cluster.url} {cluster.base.resolve() if relative else ''}"
        with self._lock:
            lock = self._locks.setdefault(place, threading.Lock())
        if not lock.acquire(timeout=seconds):
            raise LockedError(
                "another project's turn on this cluster has not ended; see which hangs"
            )
        try:
            yield
        finally:
            lock.release()


def source_failures(
    status: TargetStatus, result: TurnResult, memory: TurnMemory, revision: Revision | None
) -> int:
    """Count the attempts in a row that found no newer revision that can be used."""
    if revision is None:
        return status.source_failures + 1
    if memory.loaded is not None and memory.loaded.name == revision.name:
        return revision.failures
    if not says_something(result):
        return status.source_failures
    return max(revision.failures, status.source_failures + 1)


def turn_without_manifests(
    names: tuple[str, str], number: int, reasons: Sequence[Reason], now: datetime
) -> TurnResult:
    """The result of a turn that could not be taken, since there is no revision."""
    verdict = decide(reasons, changes=False)
    project, cluster = names
    return TurnResult(
        project=project,
        cluster=cluster,
        number=number,
        mode="",
        started=moments.to_text(now),
        ended=moments.to_text(now),
        seconds=0.0,
        outcome=TurnOutcome.FAILED,
        exit=verdict.exit,
        reasons=verdict.reasons,
    )


def timed_out(result: TurnResult, timeout_s: float) -> TurnResult:
    """The result of a turn that was stopped because it took too long."""
    sentence = (
        f"the turn took longer than {timeout_s:g} seconds and was stopped; see what the cluster "
        "waits for, or raise --timeout"
    )
    reason = Reason(exit=ExitCode.UNREACHABLE, sentence=sentence)
    kept = tuple(r for r in result.reasons if r.exit is not ExitCode.TERMINATED)
    exit_ = ExitCode.PARTIAL if result.exit is ExitCode.PARTIAL else ExitCode.UNREACHABLE
    return replace(result, outcome=TurnOutcome.FAILED, exit=exit_, reasons=(reason, *kept))
