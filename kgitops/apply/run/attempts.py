"""One step on its way: what to do about it after every look and every answer.

Nothing here looks, sends or waits. What is certain settles a step; what may have taken effect is
looked for; what certainly did not may be sent again.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from kgitops.apply.lock.waiting import Now
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
from kgitops.model.requests import DeleteGroupRequest, DeleteTopicRequest
from kgitops.model.results import NO_SUCH_TOPIC, OK, RETRIABLE, ErrorCode, RequestResult

# After these nobody knows whether the request took effect (A4-42, A4-102).
_UNKNOWN = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION})
_SHORTEST_PUT_OFF_S = 1.0

Answer = RequestResult | KgitopsError
"""What the brokers answered to a request, or why no answer came."""


class NextAction(Enum):
    """What to do with a step that is not outcomes."""

    SEND = auto()
    LOOK_AGAIN = auto()
    WATCH = auto()
    """The cluster has taken it on, and it will take its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAttempt:
    """One step on its way.

    ``doubtful``: something that was sent earlier may have taken effect, here or before a crash;
    ``doubts`` counts how often that happened here.
    """

    step: Step
    doubtful: bool
    deadline: float
    throttled_until: float = 0.0
    doubts: int = 0
    sends: int = 0
    refusal: RequestResult | None = None
    problem: str = BEFORE

    def sent(self, now: Now) -> "StepAttempt":
        """It goes out now; the second sending of what may have arrived has as much time again."""
        renewed = not self.sends or self.doubts
        deadline = now.deadline if renewed else self.deadline
        return replace(self, sends=self.sends + 1, deadline=deadline)


def after_look(
    attempt: StepAttempt, state: ClusterState, now: Now, *, begun: bool
) -> NextAction | StepOutcome:
    """What to do next, given the cluster as it is.

    ``begun``: something of the run was sent.

    Raises:
        StaleError: nothing was, and the object is not as expected.
    """
    step = attempt.step
    if (attempt.doubtful or attempt.refusal) and is_visible(step.request, state):
        return step_completed(step, OK, state, lookup="done")
    if attempt.refusal:
        return step_refused(step, attempt.refusal)
    coming = attempt.doubtful and is_under_way(step.request, state)
    if coming and is_move(step.request):
        return NextAction.WATCH
    mismatches = check_expected(step.expects, step.request, state)
    if mismatches and not coming:
        return _changed(attempt, mismatches[0], begun=begun)
    may_send = attempt.doubts <= 1 and not (attempt.sends and now.interrupted)
    if may_send and not coming:
        return NextAction.SEND
    if now.seconds < attempt.deadline and not now.interrupted:
        return NextAction.LOOK_AGAIN
    problem = f"{attempt.problem}, and its result can't be seen"
    return step_unknown(step, problem, None if coming else "start")


def after_answer(attempt: StepAttempt, answer: Answer, now: Now) -> StepAttempt | StepOutcome:
    """What an answer other than a success leaves to do: another look at least, or nothing."""
    if isinstance(answer, KgitopsError):
        return _in_doubt(attempt, f"no answer came ({answer})")
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
            nothing_left = answer.code in NO_SUCH_TOPIC
        case DeleteGroupRequest():
            nothing_left = answer.code is ErrorCode.GROUP_ID_NOT_FOUND
        case _:
            nothing_left = False
    # An authorizer that failed may have done its work (A4-90).
    if attempt.doubtful or nothing_left or answer.code is ErrorCode.UNKNOWN_SERVER_ERROR:
        return replace(attempt, refusal=answer)
    return step_refused(attempt.step, answer)


def _changed(attempt: StepAttempt, mismatch: PreconditionMismatch, *, begun: bool) -> StepOutcome:
    if attempt.step.undoes:
        return step_skipped(mismatch)
    if attempt.doubtful:
        return step_conflict(attempt.step, attempt.problem, mismatch)
    return step_stale(attempt.step, mismatch, begun=begun)


def _in_doubt(attempt: StepAttempt, problem: str) -> StepAttempt:
    return replace(attempt, doubtful=True, doubts=attempt.doubts + 1, problem=problem)


def _put_off(attempt: StepAttempt, answer: RequestResult, now: Now) -> StepAttempt:
    """A quota is obeyed for as long as it takes: the time told does not count (KIP-599).

    A quota lets the next few through as soon as it is no longer exceeded, and one with a
    second's worth in it lets many.
    """
    told = max(answer.retry_after_ms / 1000, _SHORTEST_PUT_OFF_S)
    return replace(attempt, throttled_until=now.seconds + told, deadline=now.deadline + told)
