"""Events: one for each change of state, and none while a state stays."""

from msgspec.structs import replace
from reconcile.loop_states import PENDING, SUSPENSION, failed, turn

from kgitops.model.verdict import ExitCode, Reason
from kgitops.reconcile.looping.transitions import events_between
from kgitops.reconcile.status import TurnOutcome, TurnResult


def kinds(*turns: TurnResult) -> list[list[str]]:
    """The kinds of the events of each turn after the one before."""
    before: TurnResult | None = None
    found = []
    for after in turns:
        found.append([str(event.kind) for event in events_between(before, after)])
        before = after
    return found


PENDS = turn(outcome=TurnOutcome.PENDING, exit=ExitCode.CHANGES, pending=PENDING)


def test_a_cluster_that_stays_as_declared_is_told_once() -> None:
    assert kinds(turn(), turn(2), turn(3, revision="next")) == [["synced"], [], ["synced"]]


def test_a_plan_that_waits_is_told_once_and_again_when_it_is_another() -> None:
    other = replace(PENDS, pending=replace(PENDING, digest="sha256:" + "cd" * 32))
    assert kinds(PENDS, PENDS, other, turn()) == [["pending"], [], ["pending"], ["synced"]]


def test_a_failure_is_told_once_and_so_is_its_end() -> None:
    other = failed()
    other = replace(
        other, reasons=(Reason(exit=ExitCode.UNREACHABLE, sentence="it refuses the password"),)
    )
    told = kinds(turn(), failed(), failed(), other, turn())
    assert told == [["synced"], ["failed"], [], ["failed"], ["recovered", "synced"]]


def test_somebody_else_at_work_is_no_news() -> None:
    busy = turn(outcome=TurnOutcome.BUSY, exit=ExitCode.LOCKED)
    assert [list(events_between(turn(), busy))] == [[]]


def test_what_was_applied_and_what_was_healed_are_told_apart() -> None:
    healed = turn(
        outcome=TurnOutcome.APPLIED,
        applied=PENDING.digest,
        applied_actions={"update": 1},
        healed=("topic/orders",),
    )
    assert kinds(healed) == [["healed", "synced"]]
    both = replace(healed, applied_actions={"update": 1, "create": 2})
    assert kinds(both) == [["healed", "applied", "synced"]]


def test_a_fight_is_told_when_it_begins() -> None:
    fight = replace(PENDS, fights=("topic/orders",), drifting={"Topic": 1})
    assert kinds(fight, fight) == [["fight", "drifted", "pending"], []]
    (event, *_) = events_between(None, fight)
    assert event.addresses == ("topic/orders",)


def test_suspending_is_told_with_who_and_why() -> None:
    suspended = turn(outcome=TurnOutcome.SUSPENDED, suspended=True, suspension=SUSPENSION)
    assert kinds(suspended, suspended, turn()) == [["suspended"], [], ["resumed", "synced"]]
    (event,) = events_between(None, suspended)
    assert "User:alice" in event.sentence
    assert "migration of the brokers" in event.sentence
