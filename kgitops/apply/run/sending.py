"""Carrying out wire batches: read, write the intent, send, and read until all is decided.

The decisions about one step in flight neither read, send nor wait. A certain result ends a step; a
request that may have taken effect is looked for on the cluster; one that certainly did not may be
sent again.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.effects import (
    PreconditionMismatch,
    check_expected,
    check_still_empty,
    is_move,
    is_under_way,
    is_visible,
)
from kgitops.apply.events import Noted, Waiting, WaitReason
from kgitops.apply.journal.journal import RunState
from kgitops.apply.lock import LeaseKeeper, Now, growing
from kgitops.apply.progress import (
    BEFORE,
    StepOutcome,
    step_completed,
    step_conflict,
    step_refused,
    step_skipped,
    step_stale,
    step_unknown,
    step_without_password,
)
from kgitops.apply.run.reading import (
    Confirmed,
    await_visible,
    read_objects,
    read_objects_with_retry,
)
from kgitops.apply.secrets import is_made_up, sets_password, with_password
from kgitops.apply.steps import Step, batches, emptied_topics
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.requests import (
    DeleteConsumerGroupRequest,
    DeleteGroupRequest,
    DeleteTopicRequest,
    Request,
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


@dataclass(slots=True, kw_only=True)
class SendResult:
    """The result of sending a few steps.

    ``passwords`` are the requests that are ready because their passwords were read, by step.
    ``moving`` are running reassignments, which take a long time. With a ``problem`` the run can't
    continue.
    """

    sent: bool = False
    outcomes: dict[str, StepOutcome] = field(default_factory=dict)
    passwords: dict[str, Request] = field(default_factory=dict, repr=False)
    moving: list[Step] = field(default_factory=list)
    problem: KgitopsError | None = None

    def note(self, step: Step, outcome: StepOutcome | None) -> None:
        """Add the outcome of a step; None for a running reassignment."""
        if outcome is None:
            self.moving.append(step)
        else:
            self.outcomes[step.id] = outcome


class Sender:
    """Sends the requests of one run, and finds out their outcomes."""

    def __init__(
        self,
        context: ApplyContext,
        *,
        run_state: RunState,
        waits: LeaseKeeper,
        principal: str,
    ) -> None:
        self._context = context
        self._run_state = run_state
        self._waits = waits
        self._principal = principal

    def execute(self, steps: Sequence[Step], maybe_applied: Collection[str]) -> SendResult:
        """Send the steps whose objects are as expected, and wait until their results are visible.

        An earlier process may have sent the ``maybe_applied`` steps. Unless the run has begun, an
        object that is not as expected stops the whole run.
        """
        result = SendResult()
        try:
            confirmed = self._until_confirmed(steps, maybe_applied, result)
            for step, outcome in await_visible(confirmed, self._context, self._waits):
                result.note(step, outcome)
        except KgitopsError as error:
            result.problem = error
            if result.sent:
                moving = {step.id for step in result.moving}
                for step in (step for step in steps if step.id not in moving):
                    unknown = step_unknown(step, "no outcome is known", of_run=True)
                    result.outcomes.setdefault(step.id, unknown)
        return result

    def _until_confirmed(
        self, steps: Sequence[Step], maybe_applied: Collection[str], result: SendResult
    ) -> list[Confirmed]:
        """Send, and send again where allowed, until every step is confirmed or in ``result``."""
        deadline = self._waits.now().deadline
        pending = [
            StepAttempt(step=step, maybe_applied=step.id in maybe_applied, deadline=deadline)
            for step in steps
        ]
        confirmed: list[Confirmed] = []
        pauses = growing(self._context.settings.retry_ms)
        while pending:
            pending, ready = self._select(pending, result)
            due = [attempt for attempt in ready if _lacks_password(attempt, result)]
            if due:
                self._read_passwords(due, result)
                # That may have taken minutes, so the objects are read again before any request.
                pending += [attempt for attempt in ready if _may_go_on(attempt, result)]
                continue
            for attempt, answer in self._send(ready, result):
                if isinstance(answer, RequestResult) and answer.ok:
                    confirmed.append((attempt.step, answer))
                    continue
                after = after_answer(attempt, answer, self._waits.now())
                if isinstance(after, StepAttempt):
                    pending.append(after)
                else:
                    result.note(attempt.step, after)
            if pending:
                self._report_waiting(pending)
                self._waits.pause(next(pauses))
                self._waits.wait_until(max(attempt.throttled_until for attempt in pending))
        return confirmed

    def _select(
        self, attempts: Sequence[StepAttempt], result: SendResult
    ) -> tuple[list[StepAttempt], list[StepAttempt]]:
        """Return the attempts to read again, and those to send now."""
        state = self._read(attempts, with_retry=result.sent)
        again, ready = [], []
        for attempt in attempts:
            decision = after_read(attempt, state, self._waits.now(), begun=self._run_state.begun)
            match decision:
                case NextAction.READ_AGAIN:
                    again.append(attempt)
                case NextAction.SEND:
                    ready.append(attempt)
                case NextAction.WATCH:
                    result.note(attempt.step, None)
                case StepOutcome():
                    self._report_note(attempt.step, decision)
                    result.note(attempt.step, decision)
        return again, ready

    def _read(self, attempts: Sequence[StepAttempt], *, with_retry: bool) -> ClusterState:
        """Read the objects of these steps, with retries once something was sent."""
        steps = [attempt.step for attempt in attempts]
        if not with_retry:
            return read_objects(self._context.cluster, steps)
        deadline = max(attempt.deadline for attempt in attempts)
        return read_objects_with_retry(self._context, steps, deadline=deadline)

    def _send(
        self, attempts: Sequence[StepAttempt], result: SendResult
    ) -> Iterator[tuple[StepAttempt, Answer]]:
        """Send the requests and yield each answer or error, after writing the intent once.

        Writing and reporting may take any time, so the lock is checked after them.
        """
        if not attempts:
            return
        passwords, result.passwords = result.passwords, {}
        wire = list(batches((attempt.step for attempt in attempts), self._context.settings))
        if not result.sent:
            self._run_state.intend(wire)
        until_ms = self._waits.keep_lock()
        self._run_state.begun = result.sent = True
        now = self._waits.now()
        sent = {attempt.step.id: attempt.sent(now) for attempt in attempts}
        for batch, answers in zip(wire, self._exchange(wire, until_ms, passwords), strict=True):
            yield from zip((sent[step.id] for step in batch), answers, strict=True)

    def _read_passwords(self, attempts: Sequence[StepAttempt], result: SendResult) -> None:
        """Read the passwords of these steps, several at once; ends early when interrupted.

        A step whose password can't be read any more ends here. Those to be made up come last, and
        one by one: a run that can't begin has then replaced none, and no program that stores them
        runs beside itself.

        Raises:
            KgitopsError: one can't be read, and the run has not begun.
        """
        made_up = [attempt for attempt in attempts if is_made_up(attempt.step.request)]
        kept = [attempt for attempt in attempts if not is_made_up(attempt.step.request)]
        for group, at_once in ((kept, self._context.settings.parallelism), (made_up, 1)):
            jobs = [partial(self._with_password, attempt.step) for attempt in group]
            # When interrupted, the last ones were not read.
            for attempt, job in zip(group, self._waits.work(jobs, at_once=at_once), strict=False):
                step, answer = attempt.step, job.result()
                if isinstance(answer, KgitopsError):
                    outcome = step_without_password(
                        step, answer, maybe_applied=attempt.maybe_applied
                    )
                    result.note(step, outcome)
                else:
                    result.passwords[step.id] = answer

    def _with_password(self, step: Step) -> Request | KgitopsError:
        request = step.request
        if request is None:
            raise TypeError(f"{step.id} sends nothing")
        try:
            return with_password(request, self._context.passwords)
        except KgitopsError as error:
            if not self._run_state.begun:
                raise
            return error

    def _exchange(
        self,
        wire: Sequence[Sequence[Step]],
        until_ms: int,
        passwords: Mapping[str, Request],
    ) -> Sequence[Sequence[Answer]]:
        execute = partial(self._execute, until_ms, passwords)
        parallelism = self._context.settings.parallelism
        if len(wire) == 1 or parallelism == 1:
            return [execute(batch) for batch in wire]
        with ThreadPoolExecutor(max_workers=parallelism) as pool:
            return list(pool.map(execute, wire))

    def _execute(
        self, until_ms: int, passwords: Mapping[str, Request], batch: Sequence[Step]
    ) -> Sequence[Answer]:
        withheld: Mapping[str, Answer] = {}
        try:
            withheld = self._no_longer_empty(batch)
            rest = [step for step in batch if step.id not in withheld]
            requests = [passwords.get(step.id, step.request) for step in rest if step.request]
            answers: Sequence[RequestResult] = ()
            if rest:
                answers = self._context.cluster.execute(
                    requests, validate_only=False, principal=self._principal, until_ms=until_ms
                )
        except KgitopsError as error:
            # Whatever the error, the requests may have taken effect before it.
            return [withheld.get(step.id, error) for step in batch]
        answered = dict(zip((step.id for step in rest), answers, strict=True))
        by_step: Mapping[str, Answer] = {**withheld, **answered}
        return [by_step[step.id] for step in batch]

    def _no_longer_empty(self, batch: Sequence[Step]) -> Mapping[str, PreconditionMismatch]:
        """Return the steps that would delete a topic which got records since the last look.

        Writing the intent and sending other batches takes time, and the plan was approved because
        nothing is lost. So this looks again right before the request.
        """
        topics = emptied_topics(batch)
        if not topics:
            return {}
        usage = self._context.cluster.read_usage(topics, groups=False).topics
        found = {
            step.id: check_still_empty(step.address, topic, usage)
            for step in batch
            for topic in emptied_topics([step])
        }
        return {name: mismatch for name, mismatch in found.items() if mismatch is not None}

    def _report_note(self, step: Step, outcome: StepOutcome) -> None:
        if outcome.done and outcome.sentence:
            self._context.on_event(
                Noted(step=step.id, address=step.address, sentence=outcome.sentence)
            )

    def _report_waiting(self, attempts: Sequence[StepAttempt]) -> None:
        steps = tuple(attempt.step.id for attempt in attempts)
        event = Waiting(reason=WaitReason.RETRY, sentence=attempts[0].problem, steps=steps)
        self._context.on_event(event)


def _lacks_password(attempt: StepAttempt, result: SendResult) -> bool:
    return sets_password(attempt.step.request) and attempt.step.id not in result.passwords


def _may_go_on(attempt: StepAttempt, result: SendResult) -> bool:
    """Return whether the step can still be sent, or was sent before, so that it has an outcome."""
    if attempt.step.id in result.outcomes:
        return False
    return not _lacks_password(attempt, result) or attempt.sends > 0
