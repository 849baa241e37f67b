"""Carrying out a few wire batches: check, write the intent, send, look, until all is settled."""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto

from kgitops.apply.events import Noted, StepStarted, Waiting, WaitReason
from kgitops.apply.journal import Journal
from kgitops.apply.lock import Lock
from kgitops.apply.looking import look
from kgitops.apply.outcomes import is_move, is_under_way, is_visible
from kgitops.apply.preconditions import Mismatch, check_preconditions
from kgitops.apply.settled import (
    BEFORE,
    Settled,
    conflict,
    left_alone,
    left_open,
    refused,
    seen,
    stale,
)
from kgitops.apply.steps import Step, batches
from kgitops.apply.surroundings import Surroundings
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, StaleError, UnreachableError
from kgitops.model.requests import DeleteTopicRequest, Request
from kgitops.model.results import OK, RETRIABLE, ErrorCode, RequestResult

# After these nobody knows whether the request took effect (A4-42, A4-102).
_UNKNOWN = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION})
# What a deletion answers when there is nothing left to delete.
_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
_LONGEST_PAUSE_S = 1.0
_PROBED = 20


class _Next(Enum):
    """What to do with a step after a look at the cluster."""

    SEND = auto()
    LOOK_AGAIN = auto()
    NOTHING = auto()


@dataclass(slots=True, kw_only=True)
class _Attempt:
    """One step on its way.

    ``doubtful``: something that was sent earlier may have taken effect, here or before a crash;
    ``doubts`` counts how often that happened here.
    """

    step: Step
    request: Request
    doubtful: bool
    deadline: float
    throttled_until: float = 0.0
    doubts: int = 0
    sends: int = 0
    refusal: RequestResult | None = None
    problem: str = BEFORE


_Confirmed = tuple[_Attempt, RequestResult]


class Sending:
    """One go at a few batches; ``settled`` fills as outcomes become known.

    ``moving`` are steps that the cluster has taken on and that will take their time.

    ``first`` says that the run has sent nothing yet, so that it can still be refused whole.
    """

    def __init__(
        self, around: Surroundings, *, lock: Lock, journal: Journal, principal: str, first: bool
    ) -> None:
        self.settled: dict[str, Settled] = {}
        self.moving: list[Step] = []
        self.intended = False
        self.sent = False
        self._around = around
        self._lock = lock
        self._journal = journal
        self._principal = principal
        self._first = first

    def carry_out(self, steps: Sequence[Step], doubtful: Collection[str]) -> None:
        """Send what is still as expected, and wait until it is visible.

        Raises:
            StaleError: nothing of the whole run was sent yet, and something is not as expected.
            KgitopsError: the run can't go on; what is not in ``settled`` is not known.
        """
        deadline = self._deadline()
        todo = [
            _Attempt(
                step=step,
                request=step.planned.request,
                doubtful=step.id in doubtful,
                deadline=deadline,
            )
            for step in steps
            if step.planned
        ]
        confirmed: list[_Confirmed] = []
        pause = self._around.settings.retry_ms / 1000
        while todo:
            state = self._read(todo)
            looked = [(attempt, self._look(attempt, state)) for attempt in todo]
            todo = [attempt for attempt, what in looked if what is _Next.LOOK_AGAIN]
            ready = [attempt for attempt, what in looked if what is _Next.SEND]
            for attempt, reply in self._send(ready):
                if reply and reply.ok:
                    confirmed.append((attempt, reply))
                elif self._has_more_to_do(attempt, reply):
                    todo.append(attempt)
            if todo:
                self._tell_waiting(WaitReason.RETRY, todo, todo[0].problem)
                pause = self._pause(pause)
                self._wait_out(max(attempt.throttled_until for attempt in todo))
        self._await_visible(confirmed)

    def _look(self, attempt: _Attempt, state: ClusterState) -> _Next:
        """What to do next, given the cluster as it is; settles the step where it tells enough."""
        step = attempt.step
        if (attempt.doubtful or attempt.refusal) and is_visible(attempt.request, state):
            self.settled[step.id] = seen(step, OK, state, lookup="done")
            return _Next.NOTHING
        if attempt.refusal:
            self.settled[step.id] = refused(step, attempt.refusal)
            return _Next.NOTHING
        coming = attempt.doubtful and is_under_way(attempt.request, state)
        if coming and is_move(attempt.request):
            self.moving.append(step)
            return _Next.NOTHING
        mismatches = check_preconditions(step.expects, state)
        if mismatches and not coming:
            self._changed(attempt, mismatches[0])
            return _Next.NOTHING
        may_send = attempt.doubts <= 1 and not (attempt.sends and self._stopped())
        if may_send and not coming:
            return _Next.SEND
        if not self._is_late(attempt) and not self._stopped():
            return _Next.LOOK_AGAIN
        problem = f"{attempt.problem}, and its result can't be seen"
        self.settled[step.id] = left_open(step, problem, None if coming else "start")
        return _Next.NOTHING

    def _changed(self, attempt: _Attempt, mismatch: Mismatch) -> None:
        if attempt.step.undoes:
            self._leave_alone(attempt.step, mismatch)
        elif attempt.doubtful:
            self.settled[attempt.step.id] = conflict(attempt.step, attempt.problem, mismatch)
        elif self._first and not self.intended:
            raise StaleError(f"{mismatch}; make a new plan")
        else:
            self.settled[attempt.step.id] = stale(attempt.step, mismatch)

    def _leave_alone(self, step: Step, mismatch: Mismatch) -> None:
        sentence = f"{mismatch.field} is {mismatch.found}, which this run did not set; it stays so"
        self._around.on_event(Noted(step=step.id, address=step.address, sentence=sentence))
        self.settled[step.id] = left_alone(step)

    def _send(
        self, attempts: Sequence[_Attempt]
    ) -> Iterable[tuple[_Attempt, RequestResult | None]]:
        if not attempts:
            return ()
        by_id = {attempt.step.id: attempt for attempt in attempts}
        settings = self._around.settings
        chunk = list(batches((attempt.step for attempt in attempts), settings))
        if self.intended:
            self._lock.heartbeat()
        else:
            self._journal.intend(chunk)
            self.intended = True
            for step in (step for batch in chunk for step in batch):
                self._around.on_event(StepStarted(step=step.id, address=step.address, api=step.api))
        self.sent = True
        deadline = self._deadline()
        for attempt in attempts:
            attempt.sends += 1
            if attempt.sends == 1 or attempt.doubts:
                attempt.deadline = deadline
        sent = [[by_id[step.id] for step in batch] for batch in chunk]
        if len(sent) == 1 or settings.parallelism == 1:
            answers = [self._execute(batch) for batch in sent]
        else:
            with ThreadPoolExecutor(max_workers=settings.parallelism) as pool:
                answers = list(pool.map(self._execute, sent))
        return [pair for answer in answers for pair in answer]

    def _execute(
        self, batch: Sequence[_Attempt]
    ) -> Sequence[tuple[_Attempt, RequestResult | None]]:
        requests = [attempt.request for attempt in batch]
        try:
            replies = self._around.cluster.execute(
                requests, validate_only=False, principal=self._principal
            )
            return list(zip(batch, replies, strict=True))
        except KgitopsError as error:
            # Whatever went wrong, the requests may have taken effect before it did.
            for attempt in batch:
                attempt.problem = f"no answer came ({error})"
            return [(attempt, None) for attempt in batch]

    def _has_more_to_do(self, attempt: _Attempt, reply: RequestResult | None) -> bool:
        """Whether a step that was not confirmed is worth another look or another send."""
        if reply is None or reply.code in _UNKNOWN:
            attempt.doubtful = True
            attempt.doubts += 1
            attempt.problem = f"the broker answered {reply}" if reply else attempt.problem
            return True
        nothing_left = isinstance(attempt.request, DeleteTopicRequest) and reply.code in _GONE
        if reply.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED:
            self._put_off(attempt, reply)
        if reply.code in RETRIABLE and not self._is_late(attempt) and not self._stopped():
            attempt.problem = f"the broker answered {reply}"
            return True
        # An authorizer that failed may have done its work (A4-90).
        if attempt.doubtful or nothing_left or reply.code is ErrorCode.UNKNOWN_SERVER_ERROR:
            attempt.refusal = reply
            return True
        self.settled[attempt.step.id] = refused(attempt.step, reply)
        return False

    def _await_visible(self, confirmed: Sequence[_Confirmed]) -> None:
        """Look until everything is visible, for as long as more and more of it is."""
        clock, settings = self._around.clock, self._around.settings
        deadline = self._deadline()
        pause = settings.poll_ms / 1000
        left = list(confirmed)
        while left:
            before, late = len(left), clock.monotonic() >= deadline
            left = self._not_visible(left, deadline, thorough=late)
            if not left:
                return
            if len(left) < before:
                deadline = self._deadline()
            elif late:
                break
            self._tell_waiting(
                WaitReason.VISIBLE,
                [attempt for attempt, _ in left],
                "the broker confirmed; waiting until it is visible",
            )
            pause = self._pause(pause)
        patience = f"after {settings.timeout_ms / 1000:g} s"
        for step in (attempt.step for attempt, _ in left):
            problem = f"the broker confirmed, but nothing is to be seen of it {patience}"
            self.settled[step.id] = left_open(step, problem)

    def _not_visible(
        self, left: Sequence[_Confirmed], deadline: float, *, thorough: bool
    ) -> list[_Confirmed]:
        """What can't be seen yet of ``left``; what can is settled.

        Brokers take on changes in the controller's order, so the last few tell whether it is worth
        the time to look at all: a large batch of topics takes them half a minute.
        """
        last = left[-_PROBED:]
        if len(left) > len(last) and not thorough:
            state = self._read([attempt for attempt, _ in last], deadline)
            if not all(_has_arrived(attempt, reply, state) for attempt, reply in last):
                return list(left)
        state = self._read([attempt for attempt, _ in left], deadline)
        later = []
        for attempt, reply in left:
            if is_visible(attempt.request, state, reply):
                self.settled[attempt.step.id] = seen(attempt.step, reply, state)
            elif _has_arrived(attempt, reply, state):
                self.moving.append(attempt.step)
            else:
                later.append((attempt, reply))
        return later

    def _read(self, attempts: Sequence[_Attempt], deadline: float = 0.0) -> ClusterState:
        """The objects of these steps as they are; patient once something was sent."""
        steps = [attempt.step for attempt in attempts]
        deadline = max([deadline, *(attempt.deadline for attempt in attempts)])
        while True:
            try:
                return look(self._around.cluster, steps)
            except UnreachableError:
                late = self._around.clock.monotonic() >= deadline
                if not self.sent or late or self._stopped():
                    raise
            self._around.clock.sleep(self._around.settings.retry_ms / 1000)

    def _pause(self, seconds: float) -> float:
        """Wait without losing the lock; how long to wait the next time."""
        self._around.clock.sleep(seconds)
        self._lock.heartbeat()
        return min(seconds * 2, _LONGEST_PAUSE_S)

    def _put_off(self, attempt: _Attempt, reply: RequestResult) -> None:
        """A quota is obeyed for as long as it takes: the time told does not count (KIP-599).

        A quota lets the next few through as soon as it is no longer exceeded, and one with a
        second's worth in it lets many.
        """
        told = max(reply.retry_after_ms / 1000, _LONGEST_PAUSE_S)
        attempt.throttled_until = self._around.clock.monotonic() + told
        attempt.deadline = self._deadline() + told

    def _wait_out(self, moment: float) -> None:
        """Wait until then, or until interrupted, without losing the lock."""
        while not self._stopped() and (left := moment - self._around.clock.monotonic()) > 0:
            self._pause(min(left, _LONGEST_PAUSE_S))

    def _deadline(self) -> float:
        return self._around.clock.monotonic() + self._around.settings.timeout_ms / 1000

    def _is_late(self, attempt: _Attempt) -> bool:
        return self._around.clock.monotonic() >= attempt.deadline

    def _stopped(self) -> bool:
        return self._around.interrupted() is not None

    def _tell_waiting(
        self, reason: WaitReason, attempts: Sequence[_Attempt], sentence: str
    ) -> None:
        steps = tuple(attempt.step.id for attempt in attempts)
        self._around.on_event(Waiting(reason=reason, sentence=sentence, steps=steps))


def _has_arrived(attempt: _Attempt, reply: RequestResult, state: ClusterState) -> bool:
    """Whether it is done, or a move that goes on by itself."""
    request = attempt.request
    return is_visible(request, state, reply) or (is_move(request) and is_under_way(request, state))
