"""Running a plan's steps wave by wave, each once its dependencies are done."""

from collections.abc import Iterator, Sequence
from itertools import islice

from kgitops.apply.context import ApplyContext
from kgitops.apply.journal.journal import RunState
from kgitops.apply.lock import Lock
from kgitops.apply.lock_waits import LeaseKeeper
from kgitops.apply.observe.preconditions import check_preconditions
from kgitops.apply.run.moving import Moves
from kgitops.apply.run.reading import read_objects
from kgitops.apply.run.sending import Sender
from kgitops.apply.steps.outcome import move_continues, resolve_open_step, step_stale
from kgitops.apply.steps.progress import moves_before, still_moving_in
from kgitops.apply.steps.steps import Step, batches
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.plan.document.plan import Action


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
