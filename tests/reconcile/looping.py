"""A loop over projects that takes its turns when a test says so."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from reconcile.turning import FakeClock

from kgitops.model.clock import Clock, SystemClock
from kgitops.model.errors import UnreachableError
from kgitops.reconcile.events import ReconcileEvent
from kgitops.reconcile.loop_status import UnitStatus
from kgitops.reconcile.looping.backoff import Pace
from kgitops.reconcile.looping.board import TargetKey
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.loop import LoopSettings, LoopTarget, ReconcileLoop
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.sources.folder import FolderSource
from kgitops.reconcile.status import TurnResult
from kgitops.workflow.project.selection import Selection


class Manifests:
    """A source whose revisions a test names; a problem is told with the last good one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = "1"
        self.problem: str | None = None
        self.failures = 0
        self.blocks: threading.Event | None = None
        self.asked = 0

    def refresh(self) -> Revision:
        self.asked += 1
        if self.blocks is not None:
            self.blocks.wait(60)
        if self.problem is not None:
            self.failures += 1
            if self.name == "":
                raise UnreachableError(self.problem)
        else:
            self.failures = 0
        return Revision(
            name=self.name, folder=self.folder, problem=self.problem, failures=self.failures
        )

    def retain(self, revisions: frozenset[str]) -> None:
        pass

    def close(self) -> None:
        pass


class JumpingClock(SystemClock):
    """The machine's own clock, on which hours between turns pass at once."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    def pass_by(self, seconds: float) -> None:
        self.ahead += seconds


class Loops:
    """A loop over project folders by their names, a step at a time."""

    def __init__(
        self,
        folders: dict[str, Path],
        *,
        clock: FakeClock | JumpingClock | None = None,
        cluster: str | None = None,
        plans: Path | None = None,
        in_place: bool = False,
        **settings: object,
    ) -> None:
        """``in_place``: the manifests are read where they lie, which ``before_turn`` may change."""
        self.clock = clock or FakeClock()
        self.before_turn: Callable[[], None] = lambda: None
        self.sources = {name: Manifests(folder) for name, folder in folders.items()}
        self.events: list[ReconcileEvent] = []
        self.turns: list[TurnResult] = []
        used: Clock = self.clock

        def selection(revision: Revision) -> Selection:
            self.before_turn()
            return Selection(paths=(revision.folder,), cluster=cluster, environ={})

        targets = [
            LoopTarget(
                key=TargetKey(name, cluster),
                feed=RevisionFeed(
                    FolderSource(source.folder) if in_place else source,
                    used,
                    fresh_s=30,
                    in_place=in_place,
                ),
                selection=selection,
            )
            for name, source in self.sources.items()
        ]
        self.loop = ReconcileLoop(
            targets,
            LoopSettings(pace=Pace(interval_s=300, jitter=0), plans=plans, **settings),  # type: ignore[arg-type]
            clock=used,
            on_event=self.events.append,
            on_turn=self.turns.append,
            chance=lambda: 0.999,
        )

    def go(self, seconds: float = 0) -> None:
        """Let time pass, and take what is due then."""
        self.clock.pass_by(seconds)
        self.loop.step()
        self.loop.join()

    def unit(self, name: str = "payments") -> UnitStatus:
        (found,) = [unit for unit in self.loop.status().units if unit.project == name]
        return found

    def outcomes(self, name: str = "payments") -> list[str]:
        """Those of the last turns, the oldest first."""
        return [str(turn.outcome) for turn in reversed(self.unit(name).turns)]

    def kinds(self) -> Sequence[str]:
        """The kinds of all events so far."""
        return [str(event.kind) for event in self.events]
