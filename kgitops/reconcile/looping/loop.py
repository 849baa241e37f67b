"""The loop: turns of many projects on many clusters in one process, a thread for each turn.

The schedule decides when; the threads only take turns. A turn that is stopped finishes the request
on its way and closes its journal, and one that hangs holds up nobody but its own cluster.
"""

import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.clock import Clock, SystemClock
from kgitops.model.errors import KgitopsError
from kgitops.model.verdict import ExitCode, Reason
from kgitops.reconcile.events import ReconcileEvent
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.reconcile.looping.backoff import Pace, next_wait
from kgitops.reconcile.looping.board import Board, TargetKey
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.schedule import Schedule
from kgitops.reconcile.looping.taking import (
    ClusterLocks,
    UnderWay,
    source_failures,
    timed_out,
    turn_without_manifests,
)
from kgitops.reconcile.looping.transitions import events_between, says_something
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import TurnResult
from kgitops.reconcile.turns.stages import FETCH
from kgitops.reconcile.turns.surroundings import TurnContext, TurnMemory
from kgitops.reconcile.turns.turn import take_turn
from kgitops.workflow.project.selection import Selection, Workspace

_APPLYING = "applying"
_TICK_S = 0.2


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
        self._under_way: dict[TargetKey, UnderWay] = {}
        self._locks = ClusterLocks()
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
        """Take one turn of each target and tell of it; return the results, in order."""
        while any(not self.board.of(key).turns for key in self._targets):
            number = interrupted()
            if number is not None:
                self.stop(number)
                break
            self.step()
            with self._changed:
                self._changed.wait(_TICK_S)
        for thread in self._threads.values():
            while thread.is_alive() and interrupted() is None:
                thread.join(_TICK_S)
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
                self._under_way[key] = UnderWay(deadline, self._clock, lambda: self._signal)
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
        """End the turns under way: what is applied continues to the end of its request.

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
        target, state, before = self._targets[key], self._under_way[key], self._memories[key]
        began = self._clock.monotonic()
        try:
            result, memory, revision = self._taken(key, before)
        except KgitopsError as error:
            return self._failed(key, error.reasons), before, None
        took_s = self._clock.monotonic() - began
        if state.outdated and not result.resumed_run and state.has_time_for(took_s):
            # Once more, with the new files: that they were saved is no failure to report.
            target.feed.ask_again()
            with suppress(KgitopsError):  # it stays at what the first attempt found
                again = replace(memory, number=before.number)
                result, memory, revision = self._taken(key, again)
        if state.timed_out and result.exit not in (ExitCode.SUCCESS, ExitCode.CHANGES):
            result = timed_out(result, self._settings.timeout_s)
        return result, memory, revision

    def _taken(self, key: TargetKey, memory: TurnMemory) -> tuple[TurnResult, TurnMemory, Revision]:
        target = self._targets[key]
        began = self._clock.monotonic()
        with target.feed.revision() as revision:
            fetched = self._clock.monotonic() - began
            result, memory = take_turn(
                target.selection(revision),
                revision,
                memory,
                self._context(target, self._under_way[key]),
                names=self._names(key),
            )
            target.feed.keep(key, memory.loaded)
        stages = {FETCH: round(fetched, 3), **result.stages}
        return replace(result, stages=stages), memory, revision

    def _end(
        self, key: TargetKey, result: TurnResult, memory: TurnMemory, revision: Revision | None
    ) -> None:
        with self._changed:
            status = self.board.of(key)
            wait, failures = next_wait(result, status.failures, self._settings.pace, self._chance)
            now = self._clock.monotonic()
            self._memories[key] = memory
            before = status.last
            # One that failed may hang the next time too.
            self._schedule.ended(key, now, wait, maybe_applied=failures > 0)
            self.board.ended(
                key,
                result,
                now=now,
                due=now + self._schedule.due_in(key, now),
                failures=failures,
                source_failures=source_failures(status, result, memory, revision),
                revision=revision,
            )
            self._changed.notify_all()
        self._on_turn(result)
        for event in events_between(before if before and says_something(before) else None, result):
            self._on_event(event)

    def _context(self, target: LoopTarget, state: UnderWay) -> TurnContext:
        return TurnContext(
            plans=self._settings.plans,
            clock=self._clock,
            interrupted=state.interrupted,
            is_current=partial(state.is_current, target.feed),
            is_copy=not target.feed.in_place,
            on_stage=state.on_stage,
            on_workspace=self._on_workspace,
            alone=lambda workspace: self._locks.alone(workspace, self._settings.timeout_s),
            parallelism=self._settings.parallelism,
        )

    def _names(self, key: TargetKey) -> tuple[str, str]:
        status = self.board.of(key)
        return status.project, status.cluster

    def _failed(self, key: TargetKey, reasons: Sequence[Reason]) -> TurnResult:
        number = self._memories[key].number
        return turn_without_manifests(self._names(key), number, reasons, self._clock.now())
