"""The machine's clock is set back or forward by an hour while a loop runs.

The clock is a fake one, whose calendar can be set and whose ticks only go on; the embedded clusters
go by its calendar. Processes beside the loop have the machine's own.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cli.processes import PausedApply
from cli.projects import topic
from reconcile.looping import Loops
from reconcile.turning import Turns

from kgitops.apply.events import StepDone
from kgitops.apply.journal.reading import latest_values
from kgitops.cluster.embedded import options
from kgitops.model import clock as moments
from kgitops.model.verdict import ExitCode
from kgitops.reconcile.loop_status import health_problem
from kgitops.reconcile.status import TurnOutcome

ZSTD = {"compression.type": "zstd"}
INTERVAL = 300
HOUR = timedelta(hours=1)

pytestmark = pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "forward"])


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Turns:
    made = Turns(tmp_path / "payments")

    class Calendar:
        """The calendar of the embedded clusters of this process."""

        @staticmethod
        def now(_zone: object) -> datetime:
            return made.clock.moment

    monkeypatch.setattr(options, "datetime", Calendar)
    made.reconcile["heal"] = {"times": 10}
    return made.declare(topic(configs=ZSTD))


@pytest.fixture
def loops(turns: Turns) -> Iterator[Loops]:
    made = Loops({"payments": turns.project.folder}, clock=turns.clock)
    made.go()
    yield made
    made.loop.join()


def drift(turns: Turns) -> None:
    turns.set_behind("orders", compression_type="gzip")


def test_turns_keep_their_pace_and_heal_as_ever(
    loops: Loops, turns: Turns, jump: timedelta
) -> None:
    for taken in range(1, 6):
        assert len(loops.turns) == taken
        if taken in (2, 3):  # twice the same way: two hours in all
            turns.clock.moment += jump
        drift(turns)
        loops.go(INTERVAL - 1)
        assert len(loops.turns) == taken, "none too early"
        assert health_problem(loops.loop.status(), turns.clock.monotonic()) is None
        next_turn = loops.unit().next_turn
        assert next_turn == moments.to_text(turns.clock.moment + timedelta(seconds=1))
        loops.go(1)
        assert turns.configs("orders")["compression.type"] == "zstd"
    assert loops.outcomes() == ["applied"] * 6, "none fails, for want of the lock nor otherwise"
    written = turns.records()
    loops.go(INTERVAL)
    assert turns.records() == written, "an idle turn writes nothing"


def test_waits_after_failures_are_as_long_as_ever(
    loops: Loops, turns: Turns, jump: timedelta
) -> None:
    source = loops.sources["payments"]
    source.name, source.problem = "", "the source is gone"
    loops.go(INTERVAL)
    for failures, seconds in enumerate((5, 10, 20, 40), start=1):
        turns.clock.moment += jump
        loops.go(seconds * 0.99)
        assert (len(loops.turns), source.asked) == (1 + failures, 1 + failures)
        loops.go(seconds * 0.01)
        assert (len(loops.turns), source.asked) == (2 + failures, 2 + failures)


def test_a_suspension_never_ends_early(loops: Loops, turns: Turns, jump: timedelta) -> None:
    """By the calendar, but no sooner than it seemed at first: late where the clock is set back."""
    turns.suspend(turns.clock.moment + 2 * HOUR)
    drift(turns)
    loops.go(INTERVAL)
    turns.clock.moment += jump
    turns_until_end = (7200 + (3600 if jump < timedelta() else 0)) // INTERVAL - 1
    for _ in range(turns_until_end - 1):
        loops.go(INTERVAL)
        assert loops.unit().suspended
        assert turns.configs("orders")["compression.type"] == "gzip"
    loops.go(INTERVAL)
    loops.go(INTERVAL)
    assert not loops.unit().suspended
    assert turns.configs("orders")["compression.type"] == "zstd"


def test_a_suspension_that_is_taken_back_ends_at_once(
    loops: Loops, turns: Turns, jump: timedelta
) -> None:
    turns.suspend(turns.clock.moment + 2 * HOUR)
    loops.go(INTERVAL)
    assert loops.unit().suspended
    turns.clock.moment += jump
    with closing(turns.project.connect()) as cluster:
        (key,) = [key for key in latest_values(cluster.registry.read() or ()) if "suspend" in key]
        cluster.registry.append([(key, None)])
    loops.go(INTERVAL)
    assert not loops.unit().suspended


def test_a_clock_that_is_set_in_the_middle_of_an_apply_applies_nothing_twice(
    turns: Turns, jump: timedelta
) -> None:
    """Set forward, the lock's lease has ended: the run stops, and the next turn finishes it."""
    turns.declare(*[topic(f"t{number}") for number in range(3)])
    done: list[str] = []

    def on_event(event: object) -> None:
        if isinstance(event, StepDone):
            if not done:
                turns.clock.moment += jump
            done.append(event.step)

    turns.on_event = on_event
    first = turns.take()
    if jump < timedelta():
        assert first.outcome is TurnOutcome.APPLIED, first
    else:
        assert (first.outcome, first.exit) == (TurnOutcome.FAILED, ExitCode.PARTIAL), first
        second = turns.take()
        assert (second.outcome, second.unfinished_run) == (TurnOutcome.IN_SYNC, second.resumed_run)
        assert second.resumed_run is not None
    last = turns.take()
    assert (last.outcome, last.unfinished_run) == (TurnOutcome.IN_SYNC, None)
    assert len(done) == len(set(done)) == 3
    assert turns.topics() == {"t0", "t1", "t2"}


def test_an_apply_that_died_is_told_once_its_lease_is_over(
    tmp_path: Path, turns: Turns, jump: timedelta
) -> None:
    turns.reconcile["mode"] = "observe"
    turns.declare(topic(configs=ZSTD), topic("second"))
    apply = PausedApply(tmp_path / "gate", "apply", turns.project.folder, "--auto-approve")
    apply.process.kill()
    apply.stop()
    assert turns.take().outcome is TurnOutcome.BUSY
    turns.clock.moment += jump
    turns.clock.pass_by(3 * 60)
    result = turns.take()
    assert result.unfinished_run is not None
    assert result.outcome is not TurnOutcome.BUSY
