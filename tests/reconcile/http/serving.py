"""A listener over a loop's state that is a value; and what came of hints."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace
from reconcile.loop_states import PENDING
from report.plans import sealed

from kgitops.model.clock import Clock
from kgitops.plan.document.file import SealedPlan, to_text
from kgitops.plan.document.plan import Plan
from kgitops.reconcile.http.options import ListenOptions
from kgitops.reconcile.http.routes import open_listener
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.reconcile.metrics.loop_metrics import LoopMetrics
from kgitops.reconcile.status import PendingPlan


class State:
    """A loop's state, which tests set; it remembers the hints."""

    def __init__(self, status: LoopStatus) -> None:
        self.value = status
        self.hints: list[str | None] = []
        self.told: list[str] = []
        self.metrics = LoopMetrics()
        self.url = ""
        self.port = 0

    def status(self) -> LoopStatus:
        return self.value

    def hint(self, cluster: str | None = None) -> None:
        self.hints.append(cluster)


class StoppedClock:
    """The clock of the listener: 4.5 s after the heartbeat of ``loop()``."""

    def now(self) -> datetime:
        return datetime(2026, 11, 24, 10, 5, tzinfo=UTC)

    def monotonic(self) -> float:
        return 1004.5

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


LOCAL = ListenOptions(host="127.0.0.1", port=0)


@contextmanager
def serving(
    status: LoopStatus, options: ListenOptions = LOCAL, clock: Clock | None = None
) -> Iterator[State]:
    """The state behind a real socket."""
    clock = clock or StoppedClock()
    state = State(status)
    with open_listener(options, state, state.metrics, clock, state.told.append) as listener:
        state.url, state.port = listener.url, listener.port
        yield state


def waiting_plan(plan: Plan, folder: Path) -> tuple[SealedPlan, PendingPlan]:
    """A plan in a file, and how a status tells of it."""
    made = sealed(plan)
    file = folder / "plan.json"
    file.write_text(to_text(made), encoding="utf-8")
    return made, replace(PENDING, digest=made.plan_digest, path=str(file))
