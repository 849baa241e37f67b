"""Decisions about a step after a read and after an answer, without any cluster."""

import pytest
from builders import a_cluster, a_desired, a_topic, a_topic_state, plan_of
from msgspec.structs import replace

from kgitops.apply.lock import Now
from kgitops.apply.progress import StepOutcome
from kgitops.apply.run.sending import NextAction, StepAttempt, after_answer, after_read
from kgitops.apply.steps import RecordedOutcome, build_steps
from kgitops.model.errors import StaleError, UnreachableError
from kgitops.model.results import RETRIABLE, ErrorCode, RequestResult

BEFORE = a_cluster()
(STEP,) = build_steps(plan_of(a_desired(a_topic("orders", assignment=((1,),))), BEFORE)).values()
DONE = a_cluster(a_topic_state("orders", assignment=((1,),)))
OTHER = a_cluster(a_topic_state("orders", assignment=((1,), (1,))))

NOW = Now(seconds=100.0, deadline=130.0, interrupted=False)
LATE = Now(seconds=200.0, deadline=230.0, interrupted=False)
STOPPED = replace(NOW, interrupted=True)
NOWS = {"now": NOW, "late": LATE, "stopped": STOPPED}

NEW = StepAttempt(step=STEP, maybe_applied=False, deadline=130.0)
SENT = NEW.sent(NOW)
DOUBTFUL = replace(NEW, maybe_applied=True)

FAILURES = [RequestResult(code=code) for code in ErrorCode if code is not ErrorCode.NONE]
UNKNOWN = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION}


def outcome(step_outcome: object) -> RecordedOutcome:
    assert isinstance(step_outcome, StepOutcome)
    return step_outcome.record.outcome


@pytest.mark.parametrize("now", NOWS.values(), ids=NOWS)
@pytest.mark.parametrize("answer", FAILURES, ids=str)
def test_what_may_have_taken_effect_is_looked_for_before_it_counts_as_refused(
    answer: RequestResult, now: Now
) -> None:
    """A4-42, A4-102: whatever is answered later, the first sending may have arrived."""
    after = after_answer(replace(SENT, maybe_applied=True, ambiguous_sends=1), answer, now)
    assert isinstance(after, StepAttempt)
    assert outcome(after_read(after, DONE, now, begun=True)) is RecordedOutcome.DONE


@pytest.mark.parametrize("answer", FAILURES, ids=str)
def test_a_clear_answer_to_the_only_sending_settles_it_or_has_it_sent_again(
    answer: RequestResult,
) -> None:
    after = after_answer(SENT, answer, NOW)
    if answer.code in UNKNOWN | RETRIABLE:
        assert isinstance(after, StepAttempt)
        assert after.maybe_applied == (answer.code in UNKNOWN)
        assert after_read(after, BEFORE, NOW, begun=True) is NextAction.SEND
    elif isinstance(after, StepAttempt):
        assert answer.code is ErrorCode.UNKNOWN_SERVER_ERROR, "A4-90: one more look"
        assert outcome(after_read(after, BEFORE, NOW, begun=True)) is RecordedOutcome.FAILED
    else:
        assert outcome(after) is RecordedOutcome.FAILED


@pytest.mark.parametrize("now", [LATE, STOPPED], ids=["late", "stopped"])
@pytest.mark.parametrize("code", sorted(RETRIABLE - UNKNOWN))
def test_a_retry_ends_with_the_timeout_or_an_interrupt(code: ErrorCode, now: Now) -> None:
    """Only a quota goes on for as long as it takes (KIP-599), and an interrupt ends that too."""
    after = after_answer(SENT, RequestResult(code=code), now)
    goes_on = code is ErrorCode.THROTTLING_QUOTA_EXCEEDED and not now.interrupted
    assert isinstance(after, StepAttempt) == goes_on


def test_what_was_never_answered_is_sent_twice_at_most() -> None:
    attempt, sends = NEW, 0
    while after_read(attempt, BEFORE, NOW, begun=True) is NextAction.SEND:
        sends += 1
        assert sends <= 2
        after = after_answer(attempt.sent(NOW), UnreachableError("no answer"), NOW)
        assert isinstance(after, StepAttempt)
        attempt = after
    assert sends == 2
    assert after_read(attempt, BEFORE, NOW, begun=True) is NextAction.READ_AGAIN
    assert outcome(after_read(attempt, BEFORE, LATE, begun=True)) is RecordedOutcome.OPEN
    assert outcome(after_read(attempt, BEFORE, STOPPED, begun=True)) is RecordedOutcome.OPEN


def test_once_interrupted_nothing_is_sent_again() -> None:
    assert after_read(NEW, BEFORE, STOPPED, begun=True) is NextAction.SEND, (
        "its intent is not written"
    )
    waiting = after_answer(SENT, RequestResult(code=ErrorCode.NOT_CONTROLLER), NOW)
    assert isinstance(waiting, StepAttempt)
    assert outcome(after_read(waiting, BEFORE, STOPPED, begun=True)) is RecordedOutcome.OPEN


def test_a_result_is_ours_only_if_it_may_be() -> None:
    assert outcome(after_read(DOUBTFUL, DONE, NOW, begun=True)) is RecordedOutcome.DONE
    assert outcome(after_read(NEW, DONE, NOW, begun=True)) is RecordedOutcome.FAILED
    assert outcome(after_read(DOUBTFUL, OTHER, NOW, begun=True)) is RecordedOutcome.OPEN
    with pytest.raises(StaleError, match="make a new plan"):
        after_read(NEW, DONE, NOW, begun=False)


def test_a_quota_puts_off_for_the_time_told_and_leaves_the_whole_timeout_after_it() -> None:
    told = RequestResult(code=ErrorCode.THROTTLING_QUOTA_EXCEEDED, retry_after_ms=60_000)
    after = after_answer(SENT, told, LATE)
    assert isinstance(after, StepAttempt)
    assert (after.throttled_until, after.deadline) == (LATE.seconds + 60, LATE.deadline + 60)
