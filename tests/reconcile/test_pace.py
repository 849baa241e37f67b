"""When the next turn comes: the schedule, the waits after failures, and fights, by given clocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reconcile.loop_states import failed, turn

from kgitops.manifests.project_document import ReconcileSettings
from kgitops.model.verdict import ExitCode, Reason
from kgitops.reconcile.looping.backoff import Pace, next_wait
from kgitops.reconcile.looping.schedule import Schedule
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.reconcile.turns.fights import HealHistory

PACE = Pace(interval_s=300, jitter=0.1)


def ended(outcome: TurnOutcome, *codes: ExitCode) -> TurnResult:
    reasons = tuple(Reason(exit=code, sentence=f"exit {code}") for code in codes)
    return turn(outcome=outcome, exit=codes[0] if codes else ExitCode.SUCCESS, reasons=reasons)


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
@pytest.mark.parametrize(
    "result",
    [
        turn(),
        turn(outcome=TurnOutcome.PENDING, exit=ExitCode.CHANGES),
        turn(outcome=TurnOutcome.SUSPENDED),
        ended(TurnOutcome.REFUSED, ExitCode.ERROR),
        ended(TurnOutcome.REFUSED, ExitCode.DENIED),
        ended(TurnOutcome.REFUSED, ExitCode.REFUSED),
        ended(TurnOutcome.REFUSED, ExitCode.USAGE),
        ended(TurnOutcome.FAILED, ExitCode.PARTIAL, ExitCode.DENIED),
    ],
)
def test_what_trying_again_does_not_change_waits_for_the_interval(result, chance) -> None:
    wait, failures = next_wait(result, 7, PACE, lambda: chance)
    assert 270 <= wait <= 330
    assert failures == 0


@pytest.mark.parametrize(
    "code", [ExitCode.UNREACHABLE, ExitCode.LOCKED, ExitCode.STALE, ExitCode.PARTIAL]
)
def test_what_may_go_well_the_next_time_is_tried_soon_and_then_more_rarely(code) -> None:
    result, failures, waits = ended(TurnOutcome.FAILED, code), 0, []
    for _ in range(12):
        wait, failures = next_wait(result, failures, PACE, lambda: 0.999999)
        waits.append(round(wait))
    assert waits == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]
    assert failures == 12


@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_no_wait_is_longer_than_an_hour_nor_none_at_all(failures: int, chance: float) -> None:
    wait, _ = next_wait(failed(), failures, PACE, lambda: chance)
    assert 1 <= wait <= 3600


def schedule(*targets: str, concurrency: int = 2) -> Schedule[str]:
    return Schedule(targets, now=0.0, concurrency=concurrency, patience_s=60)


def test_at_most_so_many_turns_at_once_the_ones_due_longest_first() -> None:
    turns = schedule("a", "b", "c")
    assert turns.take(0) == ["a", "b"]
    assert turns.take(1) == []
    turns.ended("b", 2, 300)
    assert turns.take(2) == ["c"]
    turns.ended("a", 3, 10)
    turns.ended("c", 4, 8)
    assert turns.take(11) == []
    assert turns.take(302) == ["c", "a"]


def test_turns_that_hang_hold_up_no_other() -> None:
    names = [f"cluster-{number}" for number in range(200)]
    turns, taken, now = schedule(*names, concurrency=8), set[str](), 0.0
    while len(taken) < 200:
        for name in turns.take(now):
            assert name not in taken, "none runs twice"
            taken.add(name)
            if int(name.partition("-")[2]) >= 10:  # the first ten never end
                turns.ended(name, now, 10_000)
        now += 1
    assert now < 130, "ten of them held up the others for two minutes at most"
    assert set(turns.under_way(now)) == {f"cluster-{number}" for number in range(10)}


def test_those_that_failed_leave_half_of_the_places_to_the_others() -> None:
    """They come back sooner than an interval, and each may hang for the whole of its patience."""
    names = [f"bad-{number}" for number in range(10)] + [f"good-{number}" for number in range(190)]
    turns = schedule(*names, concurrency=8)
    for name in names:  # one round, in which the first ten fail
        turns.ended(
            name, 0, 5 if name.startswith("bad") else 5.5, maybe_applied=name.startswith("bad")
        )
    now, under_way, taken = 5.6, set[str](), set[str]()
    while len(taken) < 190:
        begun = turns.take(now)
        assert begun, "a healthy one finds a place at once"
        for name in begun:
            if name.startswith("bad"):
                under_way.add(name)
            else:
                taken.add(name)
                turns.ended(name, now, 10_000)
        assert len(under_way) <= 4
        now += 0.01


def test_one_place_is_shared_by_all() -> None:
    turns = schedule("bad", "good", concurrency=1)
    turns.ended("bad", 0, 1, maybe_applied=True)
    turns.ended("good", 0, 2)
    assert turns.take(3) == ["bad"]
    assert turns.take(62) == []
    assert turns.take(63) == ["good"], "it waits for its patience, not for ever"
    turns.ended("bad", 64, 1)
    turns.ended("good", 64, 1)
    assert turns.take(66) == ["bad"]


def test_asking_during_a_turn_means_one_more_after_it() -> None:
    turns = schedule("a")
    assert turns.take(0) == ["a"]
    for _ in range(10_000):
        turns.ask("a", 1)
    assert turns.take(1) == []
    turns.ended("a", 5, 300)
    assert turns.take(5) == ["a"]
    turns.ended("a", 6, 300)
    assert turns.take(7) == []
    turns.ask("a", 8)
    assert turns.take(8) == ["a"]


SETTINGS = ReconcileSettings(mode="converge", heal_times=3, heal_within_s=3600)


def test_heals_far_apart_are_no_fight() -> None:
    history = HealHistory()
    for hour in range(20):
        history = history.seen({"topic/orders"}, hour * 3700.0, SETTINGS)
        assert not history.fights
        history = history.healed({"topic/orders"}, hour * 3700.0)


@given(st.lists(st.tuples(st.integers(1, 5000), st.booleans()), max_size=60))
def test_no_object_is_healed_more_often_than_the_settings_say(steps) -> None:
    """However often it drifts: within any window it is healed so many times at most."""
    history, now, healed = HealHistory(), 0.0, list[float]()
    for seconds, drifts in steps:
        now += seconds
        history = history.seen({"a"} if drifts else (), now, SETTINGS)
        if drifts and "a" not in history.fights:
            history = history.healed({"a"}, now)
            healed.append(now)
    for moment in healed:
        window = [other for other in healed if moment - SETTINGS.heal_within_s <= other <= moment]
        assert len(window) <= SETTINGS.heal_times
    assert all(len(moments) <= SETTINGS.heal_times for moments in history.heals.values())
