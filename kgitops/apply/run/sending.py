"""Carrying out wire batches: look, write the intent, send, look again, until all is outcomes."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import Noted, Waiting, WaitReason
from kgitops.apply.journal.journal import RunState
from kgitops.apply.lock.waiting import LockedWaits, growing
from kgitops.apply.run.attempts import Answer, NextAction, StepAttempt, after_answer, after_look
from kgitops.apply.run.reading import (
    Confirmed,
    await_visible,
    read_objects,
    read_objects_with_retry,
)
from kgitops.apply.steps.outcome import StepOutcome, step_unknown
from kgitops.apply.steps.steps import Step, batches
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.results import RequestResult


@dataclass(slots=True, kw_only=True)
class SendResult:
    """What came of sending a few steps.

    ``moving`` are those that the cluster has taken on and that will take their time. With a
    ``problem`` the run can't go on.
    """

    sent: bool = False
    outcomes: dict[str, StepOutcome] = field(default_factory=dict)
    moving: list[Step] = field(default_factory=list)
    problem: KgitopsError | None = None

    def note(self, step: Step, outcome: StepOutcome | None) -> None:
        """What became of a step; None: it moves."""
        if outcome is None:
            self.moving.append(step)
        else:
            self.outcomes[step.id] = outcome


class Sender:
    """Sends the requests of one run, and finds out what became of them."""

    def __init__(
        self,
        context: ApplyContext,
        *,
        run_state: RunState,
        waits: LockedWaits,
        principal: str,
    ) -> None:
        self._context = context
        self._run_state = run_state
        self._waits = waits
        self._principal = principal

    def carry_out(self, steps: Sequence[Step], doubtful: Collection[str]) -> SendResult:
        """Send what is still as expected, and wait until it is visible.

        What an earlier process may have sent is ``doubtful``. Unless the run has begun, an object
        that is not as expected is a problem of the whole run.
        """
        result = SendResult()
        try:
            confirmed = self._until_confirmed(steps, doubtful, result)
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
        self, steps: Sequence[Step], doubtful: Collection[str], result: SendResult
    ) -> list[Confirmed]:
        """Send again what may be, until every step is confirmed or in ``result``."""
        deadline = self._waits.now().deadline
        todo = [
            StepAttempt(step=step, doubtful=step.id in doubtful, deadline=deadline)
            for step in steps
        ]
        confirmed: list[Confirmed] = []
        pauses = growing(self._context.settings.retry_ms)
        while todo:
            todo, ready = self._look(todo, result)
            for attempt, answer in self._send(ready, result):
                if isinstance(answer, RequestResult) and answer.ok:
                    confirmed.append((attempt.step, answer))
                    continue
                after = after_answer(attempt, answer, self._waits.now())
                if isinstance(after, StepAttempt):
                    todo.append(after)
                else:
                    result.note(attempt.step, after)
            if todo:
                self._tell_waiting(todo)
                self._waits.pause(next(pauses))
                self._waits.wait_until(max(attempt.throttled_until for attempt in todo))
        return confirmed

    def _look(
        self, attempts: Sequence[StepAttempt], result: SendResult
    ) -> tuple[list[StepAttempt], list[StepAttempt]]:
        """Those to look at again, and those to send now."""
        state = self._read(attempts, patient=result.sent)
        again, ready = [], []
        for attempt in attempts:
            found = after_look(attempt, state, self._waits.now(), begun=self._run_state.begun)
            match found:
                case NextAction.LOOK_AGAIN:
                    again.append(attempt)
                case NextAction.SEND:
                    ready.append(attempt)
                case NextAction.WATCH:
                    result.note(attempt.step, None)
                case StepOutcome():
                    self._tell(attempt.step, found)
                    result.note(attempt.step, found)
        return again, ready

    def _read(self, attempts: Sequence[StepAttempt], *, patient: bool) -> ClusterState:
        """The objects of these steps as they are; patient once something was sent."""
        steps = [attempt.step for attempt in attempts]
        if not patient:
            return read_objects(self._context.cluster, steps)
        deadline = max(attempt.deadline for attempt in attempts)
        return read_objects_with_retry(self._context, steps, deadline=deadline)

    def _send(
        self, attempts: Sequence[StepAttempt], result: SendResult
    ) -> Iterator[tuple[StepAttempt, Answer]]:
        """An answer for each, or why none came; the intent is written before the first go.

        Whatever is written or told may take any time, so the lock is looked at after it.
        """
        if not attempts:
            return
        wire = list(batches((attempt.step for attempt in attempts), self._context.settings))
        if not result.sent:
            self._run_state.intend(wire)
        until_ms = self._waits.keep_lock()
        self._run_state.begun = result.sent = True
        now = self._waits.now()
        sent = {attempt.step.id: attempt.sent(now) for attempt in attempts}
        for batch, answers in zip(wire, self._exchange(wire, until_ms), strict=True):
            yield from zip((sent[step.id] for step in batch), answers, strict=True)

    def _exchange(
        self, wire: Sequence[Sequence[Step]], until_ms: int
    ) -> Sequence[Sequence[Answer]]:
        execute = partial(self._execute, until_ms)
        parallelism = self._context.settings.parallelism
        if len(wire) == 1 or parallelism == 1:
            return [execute(batch) for batch in wire]
        with ThreadPoolExecutor(max_workers=parallelism) as pool:
            return list(pool.map(execute, wire))

    def _execute(self, until_ms: int, batch: Sequence[Step]) -> Sequence[Answer]:
        requests = [step.request for step in batch if step.request]
        try:
            return self._context.cluster.execute(
                requests, validate_only=False, principal=self._principal, until_ms=until_ms
            )
        except KgitopsError as error:
            # Whatever went wrong, the requests may have taken effect before it did.
            return [error for _ in batch]

    def _tell(self, step: Step, outcome: StepOutcome) -> None:
        if outcome.done and outcome.sentence:
            self._context.on_event(
                Noted(step=step.id, address=step.address, sentence=outcome.sentence)
            )

    def _tell_waiting(self, attempts: Sequence[StepAttempt]) -> None:
        steps = tuple(attempt.step.id for attempt in attempts)
        event = Waiting(reason=WaitReason.RETRY, sentence=attempts[0].problem, steps=steps)
        self._context.on_event(event)
