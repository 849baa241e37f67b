"""The loop: turns of many projects on many clusters in one process, a thread for each turn.

The schedule decides when; the threads only take turns. A turn that is stopped finishes the request
on its way and closes its journal, and one that hangs holds up nobody but its own cluster.
"""

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model import clock as moments
from kgitops.model.clock import Clock, SystemClock
from kgitops.model.errors import KgitopsError
from kgitops.model.verdict import ExitCode, Reason, decide
from kgitops.reconcile.events import ReconcileEvent
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.reconcile.looping.backoff import Pace, next_wait
from kgitops.reconcile.looping.board import Board, TargetKey
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.schedule import Schedule
from kgitops.reconcile.looping.transitions import events_between, says_something
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.reconcile.turns.stages import FETCH
from kgitops.reconcile.turns.turn import TurnContext, TurnMemory, take_turn
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

_TERM = 15
_APPLYING = "applying"
_TICK_S = 1.0
_NO_REVISION = Revision(name="", folder=Path())


class LoopTarget(Struct, frozen=True, kw_only=True):
    """One project on one cluster, and where its manifests come from."""

    key: TargetKey
    feed: RevisionFeed
    selection: Callable[[Revision], Selection]


class LoopSettings(Struct, frozen=True, kw_only=True):
    """The pace of a loop and its limits in seconds; ``plans`` is the folder for pending plans."""

    pace: Pace = field(default_factory=Pace)
    timeout_s: float = 600.0
    concurrency: int = 8
    patience_s: float = 60.0
    stopping_s: float = 60.0
    plans: Path | None = None
    parallelism: int = 10


class _UnderWay:
    """A turn under way: the stage it is in, and whether it is to stop."""

    def __init__(self, deadline: float, clock: Clock, stopping: Callable[[], int | None]) -> None:
        self._deadline = deadline
        self._clock = clock
        self._stopping = stopping
        self.timed_out = False
        self.stage = ""

    def interrupted(self) -> int | None:
        """The signal that asks the turn to end: the process's own, or SIGTERM after its time."""
        number = self._stopping()
        if number is None and self._clock.monotonic() >= self._deadline:
            self.timed_out = True
            return _TERM
        return number

    def on_stage(self, stage: str) -> None:
        """Note the stage that begins."""
        self.stage = stage


class ReconcileLoop:
    """Takes the turns of its targets until it is told to stop."""

    def __init__(
        self,
        targets: Sequence[LoopTarget],
        settings: LoopSettings,
        *,
        clock: Clock | None = None,
        on_event: Callable[[ReconcileEvent], None] = lambda _: None,
        on_turn: Callable[[TurnResult], None] = lambda _: None,
        on_workspace: Callable[[Workspace], None] = lambda _: None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock or SystemClock()
        self._settings = settings
        self._targets = {target.key: target for target in targets}
        self._memories = {target.key: TurnMemory() for target in targets}
        self._on_event = on_event
        self._on_turn = on_turn
        self._on_workspace = on_workspace
        self._chance = chance
        self._signal: int | None = None
        self._changed = threading.Condition()
        self._threads: dict[TargetKey, threading.Thread] = {}
        self._under_way: dict[TargetKey, _UnderWay] = {}
        self._cluster_locks: dict[str, threading.Lock] = {}
        self._schedule = Schedule(
            self._targets,
            now=self._clock.monotonic(),
            concurrency=settings.concurrency,
            patience_s=min(settings.patience_s, settings.timeout_s),
        )
        self.board = Board(tuple(self._targets), self._clock)

    @property
    def settings(self) -> LoopSettings:
        """The pace and the limits."""
        return self._settings

    def run(self, interrupted: Callable[[], int | None]) -> int:
        """Take turns until a signal comes; return its number."""
        while True:
            number = interrupted()
            if number is not None:
                self.stop(number)
                return number
            self.step()
            with self._changed:
                self._changed.wait(_TICK_S)

    def run_once(self, interrupted: Callable[[], int | None]) -> list[TurnResult]:
        """Take one turn of each target, and return their results, in order."""
        while any(not self.board.of(key).turns for key in self._targets):
            number = interrupted()
            if number is not None:
                self.stop(number)
                break
            self.step()
            with self._changed:
                self._changed.wait(_TICK_S / 10)
        return [turn for status in self.board.targets() for turn in status.turns[:1]]

    def step(self) -> None:
        """Begin the turns that are due now, and notice those that hang."""
        with self._changed:
            now = self._clock.monotonic()
            self.board.beat = now
            for key, seconds in self._schedule.under_way(now).items():
                if seconds > self._settings.timeout_s + self._settings.patience_s:
                    self.board.hangs(key)
            begun = self._schedule.take(now)
            for key in begun:
                self.board.began(key, now)
                deadline = now + self._settings.timeout_s
                self._under_way[key] = _UnderWay(deadline, self._clock, lambda: self._signal)
                name = f"reconcile {key.project} {key.cluster or ''}".strip()
                thread = threading.Thread(target=self._take, args=(key,), name=name, daemon=True)
                self._threads[key] = thread
        for key in begun:
            self._threads[key].start()

    def join(self, seconds: float = 60.0) -> None:
        """Wait for the turns under way, each for so long at most."""
        for thread in list(self._threads.values()):
            thread.join(seconds)

    def status(self) -> LoopStatus:
        """The state of the loop now."""
        return self.board.status(self._settings.pace.interval_s)

    def hint(self, cluster: str | None = None) -> None:
        """Let the next turns of the cluster, or of all, begin soon; the source is asked again."""
        with self._changed:
            for status in self.board.targets():
                if cluster in (None, status.cluster, status.key.cluster):
                    self._targets[status.key].feed.ask_again()
                    self._schedule.ask(status.key, self._clock.monotonic())
            self._changed.notify_all()

    def stop(self, number: int) -> None:
        """End the turns under way: what is applied goes on to the end of its request.

        A turn that only reads has nothing to finish, so it is not waited for.
        """
        self._signal = number
        until = self._clock.monotonic() + self._settings.stopping_s
        for key, thread in list(self._threads.items()):
            state = self._under_way[key]
            while thread.is_alive() and self._clock.monotonic() < until:
                thread.join(0.05)
                if not state.stage.startswith(_APPLYING):
                    break

    def _take(self, key: TargetKey) -> None:
        """Take one turn, in a thread of its own; whatever happens, it ends."""
        revision: Revision | None = None
        try:
            result, memory, revision = self._turn(key)
        except BaseException as error:  # noqa: BLE001 (a thread that vanished would be a hung turn)
            sentence = f"kgitops failed where it should not: {type(error).__name__}: {error}"
            result = self._failed(key, [Reason(exit=ExitCode.ERROR, sentence=sentence)])
            memory = self._memories[key]
        self._end(key, result, memory, revision)

    def _turn(self, key: TargetKey) -> tuple[TurnResult, TurnMemory, Revision | None]:
        target, state = self._targets[key], self._under_way[key]
        memory = self._memories[key]
        began = self._clock.monotonic()
        try:
            with target.feed.revision() as revision:
                fetched = self._clock.monotonic() - began
                selection = target.selection(revision)
                lock = self._lock_of(selection)
                if not lock.acquire(timeout=self._settings.timeout_s):
                    sentence = (
                        "another project's turn on this cluster has not ended; see which hangs"
                    )
                    reason = Reason(exit=ExitCode.LOCKED, sentence=sentence)
                    return self._failed(key, [reason]), memory, revision
                try:
                    result, memory = take_turn(
                        selection,
                        revision,
                        memory,
                        self._context(target, state),
                        names=self._names(key),
                    )
                finally:
                    lock.release()
        except KgitopsError as error:
            return self._failed(key, list(error.reasons)), memory, None
        result = replace(result, stages={FETCH: round(fetched, 3), **result.stages})
        if state.timed_out and result.exit not in (ExitCode.SUCCESS, ExitCode.CHANGES):
            result = self._timed_out(result)
        return result, memory, revision

    def _end(
        self, key: TargetKey, result: TurnResult, memory: TurnMemory, revision: Revision | None
    ) -> None:
        with self._changed:
            status = self.board.of(key)
            wait, failures = next_wait(result, status.failures, self._settings.pace, self._chance)
            now = self._clock.monotonic()
            self._memories[key] = memory
            before = status.last
            self._schedule.ended(key, now, wait)
            self.board.ended(
                key,
                result,
                now=now,
                due=now + self._schedule.due_in(key, now),
                failures=failures,
                source_failures=revision.failures if revision else status.source_failures + 1,
                revision=revision,
            )
            self._changed.notify_all()
        self._on_turn(result)
        for event in events_between(before if before and says_something(before) else None, result):
            self._on_event(event)

    def _context(self, target: LoopTarget, state: _UnderWay) -> TurnContext:
        return TurnContext(
            plans=self._settings.plans,
            clock=self._clock,
            interrupted=state.interrupted,
            is_current=target.feed.is_current,
            is_copy=not target.feed.in_place,
            on_stage=state.on_stage,
            parallelism=self._settings.parallelism,
        )

    def _lock_of(self, selection: Selection) -> threading.Lock:
        """The lock of the selection's cluster: turns of several projects on it take turns."""
        try:
            workspace = open_workspace(selection)
        except KgitopsError:
            return threading.Lock()  # the turn itself reports it
        self._on_workspace(workspace)
        cluster = workspace.cluster
        relative = cluster.url.startswith("embedded:")
        place = f"{cluster.url} {cluster.base.resolve() if relative else ''}"
        with self._changed:
            return self._cluster_locks.setdefault(place, threading.Lock())

    def _names(self, key: TargetKey) -> tuple[str, str]:
        status = self.board.of(key)
        return status.project, status.cluster

    def _failed(self, key: TargetKey, reasons: list[Reason]) -> TurnResult:
        """A turn that could not be taken: without manifests, or without its cluster."""
        now = self._clock.now()
        project, cluster = self._names(key)
        verdict = decide(reasons, changes=False)
        busy = verdict.exit is ExitCode.LOCKED
        return TurnResult(
            project=project,
            cluster=cluster,
            number=self._memories[key].number,
            mode="",
            started=moments.to_text(now),
            ended=moments.to_text(now),
            seconds=0.0,
            outcome=TurnOutcome.BUSY if busy else TurnOutcome.FAILED,
            exit=verdict.exit,
            reasons=verdict.reasons,
        )

    def _timed_out(self, result: TurnResult) -> TurnResult:
        sentence = (
            f"the turn took longer than {self._settings.timeout_s:g} seconds and was stopped; see "
            "what the cluster waits for, or raise --timeout"
        )
        reason = Reason(exit=ExitCode.UNREACHABLE, sentence=sentence)
        kept = tuple(r for r in result.reasons if r.exit is not ExitCode.TERMINATED)
        exit_ = ExitCode.PARTIAL if result.exit is ExitCode.PARTIAL else ExitCode.UNREACHABLE
        return replace(result, outcome=TurnOutcome.FAILED, exit=exit_, reasons=(reason, *kept))
