"""Running reassignments: they take hours, and no other step waits for them."""

from collections.abc import Mapping, Sequence

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import Waiting, WaitReason
from kgitops.apply.lock_waits import LeaseKeeper, growing
from kgitops.apply.observe.effects import is_under_way, is_visible
from kgitops.apply.observe.preconditions import check_preconditions
from kgitops.apply.run.reading import read_objects
from kgitops.apply.steps.outcome import (
    StepOutcome,
    move_cancelled,
    move_ended_early,
    step_completed,
    step_conflict,
)
from kgitops.apply.steps.steps import Step
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.requests import AlterTopicRequest
from kgitops.model.results import OK
from kgitops.model.wording import counted

_LONGEST_PAUSE_S = 5.0
_NAMED = 3


class Moves:
    """The steps whose reassignments are running."""

    def __init__(self, context: ApplyContext, waits: LeaseKeeper) -> None:
        self._context = context
        self._waits = waits
        self._steps: dict[str, Step] = {}
        self._disappeared_at: dict[str, float] = {}
        self._given_up_at: float | None = None
        self._pauses = growing(context.settings.poll_ms, _LONGEST_PAUSE_S)
        self._last_sentence = ""

    def __contains__(self, step: object) -> bool:
        """Return whether this step's reassignment is running."""
        return step in self._steps

    def __len__(self) -> int:
        """Return the number of running steps."""
        return len(self._steps)

    @property
    def steps(self) -> Sequence[Step]:
        """The steps whose reassignments are not done yet."""
        return tuple(self._steps.values())

    def add(self, steps: Sequence[Step]) -> None:
        """Watch these steps."""
        self._steps |= {step.id: step for step in steps}
        if steps:
            self._pauses = growing(self._context.settings.poll_ms, _LONGEST_PAUSE_S)

    def poll(self) -> Mapping[str, StepOutcome]:
        """Return the outcomes of the steps that have ended; they are no longer watched.

        Raises:
            UnreachableError: the cluster has not answered for a whole timeout.
        """
        state = self._read()
        if state is None:
            return {}
        outcomes = {
            step.id: outcome
            for step in self._steps.values()
            if (outcome := self._judge(step, state)) is not None
        }
        for step in outcomes:
            del self._steps[step]
        if self._steps:
            self._report(state)
        return outcomes

    def wait(self) -> None:
        """Wait until the next poll; ends early when interrupted.

        Raises:
            LockedError: the lock was lost meanwhile.
        """
        self._waits.rest(next(self._pauses))

    def cancel(self) -> Mapping[str, StepOutcome]:
        """Cancel the running reassignments at the user's request, and wait until they have ended.

        Raises:
            KgitopsError: the cluster does not answer; the reassignments may continue.
        """
        context = self._context
        state = read_objects(context.cluster, self.steps)
        running = {
            _request(step).topic: state.moving.get(_request(step).topic, ())
            for step in self.steps
            if is_under_way(_request(step), state)
        }
        context.cluster.cancel_moves(running, until_ms=self._waits.keep_lock())
        deadline = self._waits.now().deadline
        while self._waits.now().seconds < deadline:
            state = read_objects(context.cluster, self.steps)
            if not any(is_under_way(_request(step), state) for step in self.steps):
                break
            self._waits.pause(context.settings.poll_ms / 1000)
        outcomes = {}
        for step in self.steps:
            if is_visible(_request(step), state):
                outcomes[step.id] = step_completed(step, OK, state)
            elif not is_under_way(_request(step), state):
                outcomes[step.id] = move_cancelled(step)
        for step_id in outcomes:
            del self._steps[step_id]
        return outcomes

    def _read(self) -> ClusterState | None:
        """Read the cluster, tolerating one timeout: brokers may restart while data is copied."""
        try:
            state = read_objects(self._context.cluster, self.steps)
        except UnreachableError:
            now = self._waits.now()
            self._given_up_at = self._given_up_at or now.deadline
            if now.seconds >= self._given_up_at:
                raise
            return None
        self._given_up_at = None
        return state

    def _judge(self, step: Step, state: ClusterState) -> StepOutcome | None:
        request = _request(step)
        if is_visible(request, state):
            return step_completed(step, OK, state)
        if is_under_way(request, state):
            self._disappeared_at.pop(step.id, None)
            return None
        # A broker that lags behind may show the old state; the true one follows within a timeout.
        now = self._waits.now()
        if now.seconds < self._disappeared_at.setdefault(step.id, now.deadline):
            return None
        mismatches = check_preconditions(step.expects, state)
        if mismatches:
            return step_conflict(step, "its reassignment was ended by someone else", mismatches[0])
        return move_ended_early(step)

    def _report(self, state: ClusterState) -> None:
        topics = [_request(step).topic for step in self.steps]
        partitions_left = sum(len(state.moving.get(topic, ())) for topic in topics)
        named = ", ".join(topics[:_NAMED])
        others = f" and {len(topics) - _NAMED:,} more topics" if len(topics) > _NAMED else ""
        partitions = counted(partitions_left, "partition")
        sentence = f"copying replicas of {named}{others}: {partitions} left"
        if sentence != self._last_sentence:
            self._last_sentence = sentence
            steps = tuple(step.id for step in self.steps)
            event = Waiting(reason=WaitReason.MOVING, sentence=sentence, steps=steps)
            self._context.on_event(event)


def _request(step: Step) -> AlterTopicRequest:
    if not isinstance(step.request, AlterTopicRequest):
        raise TypeError(f"{step.id} is not an alteration of a topic")
    return step.request
