"""Carrying out wire batches: read, write the intent, send, and read until all is decided."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import Noted, Waiting, WaitReason
from kgitops.apply.journal.journal import RunState
from kgitops.apply.lock_waits import LeaseKeeper, growing
from kgitops.apply.observe.preconditions import PreconditionMismatch, check_still_empty
from kgitops.apply.run.attempts import Answer, NextAction, StepAttempt, after_answer, after_read
from kgitops.apply.run.reading import (
    Confirmed,
    await_visible,
    read_objects,
    read_objects_with_retry,
)
from kgitops.apply.secrets.passwords import is_made_up, sets_password, with_password
from kgitops.apply.steps.outcome import StepOutcome, step_unknown, step_without_password
from kgitops.apply.steps.steps import Step, batches, emptied_topics
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.requests import Request
from kgitops.model.results import RequestResult


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
