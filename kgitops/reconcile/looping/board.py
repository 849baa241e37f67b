"""The knowledge of a loop about its turns, for those who ask: status, page and metrics."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kgitops import __version__
from kgitops.model import clock as moments
from kgitops.model.clock import Clock
from kgitops.reconcile.loop_status import KEPT_TURNS, LoopStatus, UnitStatus
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import TurnOutcome, TurnResult

_GOOD = (TurnOutcome.IN_SYNC, TurnOutcome.APPLIED, TurnOutcome.PENDING, TurnOutcome.SUSPENDED)


class TargetKey(NamedTuple):
    """One project on one cluster, as the command line names them; the cluster None is its own."""

    project: str
    cluster: str | None


class TargetStatus(Struct, frozen=True, kw_only=True):
    """One target: its last turns, newest first, and the turn under way; times by the clock's ticks.

    ``last`` is the newest turn that said something about the state, ``revision`` the newest one.
    """

    key: TargetKey
    turns: tuple[TurnResult, ...] = ()
    last: TurnResult | None = None
    running_since: float | None = None
    hangs: bool = False
    next_due: float = 0.0
    failures: int = 0
    succeeded: float | None = None
    source_failures: int = 0
    revision: Revision | None = None

    @property
    def project(self) -> str:
        """The project's name, once a turn has read it."""
        return next((turn.project for turn in self.turns if turn.project), self.key.project)

    @property
    def cluster(self) -> str:
        """The cluster's name, once a turn has read it."""
        found = next((turn.cluster for turn in self.turns if turn.cluster), None)
        return found or self.key.cluster or ""


class Board:
    """Keeps the status of every target; its methods may be called from several threads."""

    def __init__(self, targets: Sequence[TargetKey], clock: Clock) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._targets = {key: TargetStatus(key=key) for key in targets}
        self._turns = {key: deque[TurnResult](maxlen=KEPT_TURNS) for key in targets}
        self._started = moments.to_text(clock.now())
        self.beat = clock.monotonic()

    def targets(self) -> tuple[TargetStatus, ...]:
        """The status of every target, in the order that they were given."""
        with self._lock:
            return tuple(self._targets.values())

    def status(self, interval_s: float) -> LoopStatus:
        """The state of the whole loop at this moment, as one value."""
        ticks, now = self.clock.monotonic(), self.clock.now()

        def moment(at: float | None) -> str | None:
            return None if at is None else moments.to_text(now + timedelta(seconds=at - ticks))

        return LoopStatus(
            version=__version__,
            started=self._started,
            heartbeat=self.beat,
            interval=interval_s,
            units=tuple(_unit(status, moment) for status in self.targets()),
        )

    def of(self, key: TargetKey) -> TargetStatus:
        with self._lock:
            return self._targets[key]

    def began(self, key: TargetKey, now: float) -> None:
        """Note that a turn begins."""
        self._change(key, running_since=now, hangs=False)

    def hangs(self, key: TargetKey) -> None:
        """Note that a turn does not end although it was asked to."""
        self._change(key, hangs=True)

    def ended(
        self,
        key: TargetKey,
        result: TurnResult,
        *,
        now: float,
        due: float,
        failures: int,
        source_failures: int,
        revision: Revision | None,
    ) -> None:
        """Note how a turn ended, and when the next one is due."""
        with self._lock:
            before = self._targets[key]
            turns = self._turns[key]
            turns.appendleft(result)
            good = result.outcome in _GOOD
            silent = result.outcome in (TurnOutcome.BUSY, TurnOutcome.STOPPED)
            self._targets[key] = replace(
                before,
                turns=tuple(turns),
                last=before.last if silent and before.last else result,
                running_since=None,
                hangs=False,
                next_due=due,
                failures=failures,
                succeeded=now if good else before.succeeded,
                source_failures=source_failures,
                revision=revision or before.revision,
            )

    def _change(self, key: TargetKey, **fields: object) -> None:
        with self._lock:
            self._targets[key] = replace(self._targets[key], **fields)


def _unit(status: TargetStatus, moment: Callable[[float | None], str | None]) -> UnitStatus:
    last = status.last
    running = status.running_since is not None
    return UnitStatus(
        project=status.project,
        cluster=status.cluster,
        mode=next((turn.mode for turn in status.turns if turn.mode), ""),
        turns=status.turns,
        next_turn=None if running else moment(status.next_due),
        running=running,
        suspended=bool(last and last.suspended),
        suspension=last.suspension if last else None,
        cluster_change=last.cluster_change if last else None,
        pending=last.pending if last else None,
        last_success=moment(status.succeeded),
        revision=status.revision,
        source_failures=status.source_failures,
    )
