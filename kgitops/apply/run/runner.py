"""Running a plan's steps wave by wave, each once its dependencies are done.

Reassignments take hours, and no other step waits for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kgitops.apply.context import ApplyContext
from kgitops.apply.effects import check_preconditions, is_under_way, is_visible
from kgitops.apply.events import Waiting, WaitReason
from kgitops.apply.journal.journal import RunState
from kgitops.apply.lock import LeaseKeeper, Lock, growing
from kgitops.apply.progress import (
    StepOutcome,
    move_cancelled,
    move_continues,
    move_ended_early,
    moves_before,
    resolve_open_step,
    step_completed,
    step_conflict,
    step_stale,
    still_moving_in,
)
from kgitops.apply.run.reading import read_objects
from kgitops.apply.run.sending import Sender
from kgitops.apply.steps import Step, batches
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.requests import AlterTopicRequest
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.model.results import OK
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action

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


class Runner:
    """One run of a plan, from its first step or from where an earlier process left it."""

    def __init__(
        self, context: ApplyContext, *, lock: Lock, run_state: RunState, principal: str
    ) -> None:
        waits = LeaseKeeper(context, lock)
        self._context = context
        self._run_state = run_state
        self._sender = Sender(context, run_state=run_state, waits=waits, principal=principal)
        self._moves = Moves(context, waits)
        # Requests that an earlier process left open may have been sent.
        self._maybe_applied = frozenset(run_state.progress.open)

    def resolve(self) -> None:
        """Resolve the requests that an earlier process left open by reading the cluster.

        A visible result is done; an unchanged object may be changed again; anything else is a
        conflict, and nothing is overwritten.
        """
        steps = [self._run_state.progress.steps[step] for step in self._run_state.progress.open]
        if steps:
            state = read_objects(self._context.cluster, steps)
            self._run_state.record_outcomes(
                {step.id: outcome for step in steps if (outcome := resolve_open_step(step, state))}
            )
        self._run_state.reopen_undone()

    def run(self) -> None:
        """Carry out every step in order; ends early when interrupted or stopped.

        In any case helper steps, such as throttles, are undone once the steps they help have ended.

        Raises:
            KgitopsError: the run can't begin, and nothing was sent.
        """
        while not self._stops():
            ready = self._run_state.progress.ready(self._moves)
            if not ready and not self._moves:
                break
            self._carry_out_all(ready)
            self._watch(wait=not ready)
        self._leave_moves()
        self.undo_helpers()

    def undo_helpers(self) -> None:
        """Undo helper steps whose helped steps have ended, with any outcome.

        Replicas that still move need their helper steps, which are left for a resume to undo.
        """
        undo_steps = self._run_state.progress.steps_to_undo
        if not undo_steps or self._run_state.stopped:
            return
        moves = moves_before(undo_steps, self._run_state.progress.steps)
        try:
            state = read_objects(self._context.cluster, moves)
        except KgitopsError as error:
            self._run_state.stop(error)
            return
        moving = still_moving_in(moves, state)
        for chunk in self._chunks(
            [step for step in undo_steps if moving.isdisjoint(step.depends_on)]
        ):
            if not self._run_state.stopped:
                self._carry_out(chunk)

    def _carry_out_all(self, ready: Sequence[Step]) -> None:
        recorded = [step for step in ready if not step.planned]
        # An object that moves to another address must be forgotten while it is at its old one.
        leaving = [step for step in recorded if _leaves_its_address(step)]
        self._record_all(leaving)
        for chunk in self._chunks([step for step in ready if step.planned]):
            if self._stops():
                return
            self._carry_out(chunk)
        self._record_all([step for step in recorded if not _leaves_its_address(step)])

    def _record_all(self, steps: Sequence[Step]) -> None:
        for batch in batches(steps, self._context.settings):
            if self._stops():
                return
            self._record(batch)

    def _chunks(self, steps: Sequence[Step]) -> Iterator[list[Step]]:
        """Split the steps into groups of batches that may be sent in parallel."""
        remaining = batches(steps, self._context.settings)
        while chunk := list(islice(remaining, self._context.settings.parallelism)):
            yield [step for batch in chunk for step in batch]

    def _carry_out(self, steps: Sequence[Step]) -> None:
        result = self._sender.execute(steps, self._maybe_applied)
        self._moves.add(result.moving)
        self._run_state.record_outcomes(result.outcomes)
        if result.problem:
            self._run_state.stop(result.problem)

    def _record(self, steps: Sequence[Step]) -> None:
        """Commit changes that only the registry records."""
        try:
            state = read_objects(self._context.cluster, steps)
        except KgitopsError as error:
            self._run_state.stop(error)
            return
        unchanged = []
        for step in steps:
            mismatches = check_preconditions(step.expects, state)
            if mismatches:
                self._run_state.report(
                    {step.id: step_stale(step, mismatches[0], begun=self._run_state.begun)}
                )
            else:
                unchanged.append(step)
        if unchanged:
            self._run_state.record_registry_changes(unchanged)

    def _watch(self, *, wait: bool) -> None:
        """Record the outcomes of reassignments that have ended."""
        if not self._moves or self._run_state.stopped:
            return
        try:
            if wait:
                self._moves.wait()
            outcomes = self._moves.poll()
        except KgitopsError as error:
            self._run_state.stop(error)
            return
        self._run_state.record_outcomes(outcomes)

    def _leave_moves(self) -> None:
        """End the run while replicas move; they continue unless the user asks to cancel them."""
        addresses = [step.address for step in self._moves.steps]
        asked = self._context.interrupted() is not None and not self._run_state.stopped
        if addresses and asked and self._context.cancels(addresses):
            try:
                self._run_state.record_outcomes(self._moves.cancel())
            except KgitopsError as error:
                self._run_state.stop(error)
        self._run_state.report({step.id: move_continues(step) for step in self._moves.steps})

    def _stops(self) -> bool:
        return self._run_state.stopped or self._context.interrupted() is not None


def _leaves_its_address(step: Step) -> bool:
    """Return whether it forgets an object of a virtual cluster, which may move elsewhere."""
    return Action.FORGET in step.change.actions and split_scoped_address(step.address) is not None
