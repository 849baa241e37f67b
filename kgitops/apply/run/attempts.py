"""Decisions about one step in flight, after every read of the cluster and every answer.

Nothing here reads, sends or waits. A certain result ends a step; a request that may have taken
effect is looked for on the cluster; one that certainly did not may be sent again.
"""

from enum import Enum, auto

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.lock_waits import Now
from kgitops.apply.observe.effects import is_move, is_under_way, is_visible
from kgitops.apply.observe.preconditions import PreconditionMismatch, check_expected
from kgitops.apply.steps.outcome import (
    BEFORE,
    StepOutcome,
    step_completed,
    step_conflict,
    step_refused,
    step_skipped,
    step_stale,
    step_unknown,
)
from kgitops.apply.steps.steps import Step
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.requests import (
    DeleteConsumerGroupRequest,
    DeleteGroupRequest,
    DeleteTopicRequest,
)
from kgitops.model.results import NO_SUCH_TOPIC, OK, RETRIABLE, ErrorCode, RequestResult

# After these it is unknown whether the request took effect (A4-42, A4-102).
_UNKNOWN = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION})
_SHORTEST_PUT_OFF_S = 1.0

Answer = RequestResult | KgitopsError | PreconditionMismatch
"""The brokers' answer to a request, the error because of which none came, or why none was sent."""


class NextAction(Enum):
    """The next action for a step without an outcome."""

    SEND = auto()
    READ_AGAIN = auto()
    WATCH = auto()
    """The cluster has accepted the request and will take a long time."""


class StepAttempt(Struct, frozen=True, kw_only=True):
    """One step in flight.

    ``maybe_applied``: an earlier request of this process, or of one that crashed, may have taken
    effect. ``ambiguous_sends`` counts how often that happened in this process.
    """

    step: Step
    maybe_applied: bool
    deadline: float
    throttled_until: float = 0.0
    ambiguous_sends: int = 0
    sends: int = 0
    refusal: RequestResult | None = None
    problem: str = BEFORE

    def sent(self, now: Now) -> "StepAttempt":
        """Return the attempt as sent now; one that may be applied gets the whole time again."""
        renewed = not self.sends or self.ambiguous_sends
        deadline = now.deadline if renewed else self.deadline
        return replace(self, sends=self.sends + 1, deadline=deadline)


def after_read(
    attempt: StepAttempt, state: ClusterState, now: Now, *, begun: bool
) -> NextAction | StepOutcome:
    """Decide what to do next, given the current state of the cluster.

    ``begun`` tells that the run has sent something.

    Raises:
        StaleError: it has not, and the object is not as expected.
    """
    step = attempt.step
    if (attempt.maybe_applied or attempt.refusal) and is_visible(step.request, state):
        return step_completed(step, OK, state, lookup="done")
    if attempt.refusal:
        return step_refused(step, attempt.refusal)
    under_way = attempt.maybe_applied and is_under_way(step.request, state)
    if under_way and is_move(step.request):
        return NextAction.WATCH
    mismatches = check_expected(
        step.expects, step.request, state, maybe_applied=attempt.maybe_applied
    )
    if mismatches and not under_way:
        return _changed(attempt, mismatches[0], begun=begun)
    may_send = attempt.ambiguous_sends <= 1 and not (attempt.sends and now.interrupted)
    if may_send and not under_way:
        return NextAction.SEND
    if now.seconds < attempt.deadline and not now.interrupted:
        return NextAction.READ_AGAIN
    problem = f"{attempt.problem}, and its result is not visible"
    return step_unknown(step, problem, None if under_way else "start")


def after_answer(attempt: StepAttempt, answer: Answer, now: Now) -> StepAttempt | StepOutcome:
    """Decide after an answer other than success: read the cluster again, or end the step."""
    if isinstance(answer, KgitopsError):
        return _in_doubt(attempt, f"no answer came ({answer})")
    late = now.seconds >= attempt.deadline
    if isinstance(answer, PreconditionMismatch):
        may_read = not late and not now.interrupted
        read_again = replace(attempt, problem=str(answer))
        return read_again if may_read else _changed(attempt, answer, begun=True)
    problem = f"the broker answered {answer}"
    if answer.code in _UNKNOWN:
        return _in_doubt(attempt, problem)
    if answer.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        attempt = _put_off(attempt, answer, now)
        late = now.seconds >= attempt.deadline
    if answer.code in RETRIABLE and not late and not now.interrupted:
        return replace(attempt, problem=problem)
    match attempt.step.request:
        case DeleteTopicRequest():
            is_gone = answer.code in NO_SUCH_TOPIC
        case DeleteGroupRequest() | DeleteConsumerGroupRequest():
            is_gone = answer.code is ErrorCode.GROUP_ID_NOT_FOUND
        case _:
            is_gone = False
    # An authorizer that failed may have done its work (A4-90).
    if attempt.maybe_applied or is_gone or answer.code is ErrorCode.UNKNOWN_SERVER_ERROR:
        return replace(attempt, refusal=answer)
    return step_refused(attempt.step, answer)


def _changed(attempt: StepAttempt, mismatch: PreconditionMismatch, *, begun: bool) -> StepOutcome:
    if attempt.step.undoes:
        return step_skipped(mismatch)
    if attempt.maybe_applied:
        return step_conflict(attempt.step, attempt.problem, mismatch)
    return step_stale(attempt.step, mismatch, begun=begun)


def _in_doubt(attempt: StepAttempt, problem: str) -> StepAttempt:
    return replace(
        attempt, maybe_applied=True, ambiguous_sends=attempt.ambiguous_sends + 1, problem=problem
    )


def _put_off(attempt: StepAttempt, answer: RequestResult, now: Now) -> StepAttempt:
    """Delay the step as the quota demands; the delay does not count as waiting time (KIP-599).

    A quota admits the next few requests as soon as it is no longer exceeded, and many after
    another second.
    """
    delay_s = max(answer.retry_after_ms / 1000, _SHORTEST_PUT_OFF_S)
    return replace(attempt, throttled_until=now.seconds + delay_s, deadline=now.deadline + delay_s)
