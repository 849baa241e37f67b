"""Running a plan's steps wave by wave, and saying in the end what became of each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kgitops.apply.events import ApplyFinished, StepDone, StepFailed
from kgitops.apply.journal import Journal
from kgitops.apply.lock import Lock
from kgitops.apply.looking import look
from kgitops.apply.moving import Moves
from kgitops.apply.owners import owner_of, owners_of_completed
from kgitops.apply.preconditions import check_preconditions
from kgitops.apply.result import ApplyResult, Failure, judge
from kgitops.apply.runs import Outcome, RunStatus, StepRecord
from kgitops.apply.sending import Sending
from kgitops.apply.settings import ApplySettings
from kgitops.apply.settled import Settled, left_open, look_up, stale, still_moving
from kgitops.apply.steps import Step, batches
from kgitops.apply.surroundings import Surroundings
from kgitops.apply.undoing import moves_before, still_moving_in, to_take_back, undone_too_early
from kgitops.model.errors import KgitopsError, StaleError
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.plan import Change


class Runner:
    """One run of a plan, from its first step or from where an earlier process left it."""

    def __init__(
        self,
        around: Surroundings,
        *,
        lock: Lock,
        journal: Journal,
        steps: Mapping[str, Step],
        principal: str,
    ) -> None:
        self._around = around
        self._lock = lock
        self._journal = journal
        self._steps = steps
        self._principal = principal
        self._known: dict[str, StepRecord] = dict(journal.run.steps)
        self._failures: dict[str, Settled] = {}
        self._reasons: list[Reason] = []
        self._stuck = False
        self._moves = Moves(around, lock)
        # What an earlier process began may have been sent.
        self._sent = bool(self._known)
        self._doubtful = frozenset(self._with(Outcome.OPEN))
        self._earlier = self._with(Outcome.DONE)

    @property
    def not_begun(self) -> tuple[Change, ...]:
        """The changes of which no step was ever begun."""
        begun = {self._steps[step].address for step in self._known}
        changes = {step.address: step.change for step in self._steps.values()}
        return tuple(change for address, change in changes.items() if address not in begun)

    def resolve(self) -> None:
        """Find out by looking what became of the requests that an earlier process left open.

        What is there is done; what is as before may be sent again; anything else is a conflict,
        and nobody overwrites it.
        """
        steps = [self._steps[step] for step in self._with(Outcome.OPEN)]
        if steps:
            state = look(self._around.cluster, steps)
            self._settle({step.id: found for step in steps if (found := look_up(step, state))})
        for name in undone_too_early(self._steps, self._with(Outcome.DONE)):
            del self._known[name]
        self._earlier = tuple(name for name in self._earlier if name in self._known)

    def run(self) -> None:
        """Carry out every step whose time comes; stops early when interrupted or stuck.

        Whatever happens, what only helped other steps is taken back once these have ended.

        Raises:
            KgitopsError: it can't be done, and nothing was sent.
        """
        while not self._stops():
            ready = self._ready()
            if not ready and not self._moves:
                break
            self._carry_out_all(ready)
            self._watch(wait=not ready)
        self._leave_moves()
        self.take_back()

    def take_back(self) -> None:
        """Undo what only helped steps that have ended, however they ended.

        Where replicas still move they need what helps them: then it stays, for a resume to undo.
        """
        left = [s for s in to_take_back(self._steps, self._known) if s.id not in self._failures]
        if not left or self._stuck:
            return
        moves = moves_before(left, self._steps)
        try:
            state = look(self._around.cluster, moves)
        except KgitopsError as error:
            self._stick(error)
            return
        moving = still_moving_in(moves, state)
        for chunk in self._chunks([step for step in left if moving.isdisjoint(step.depends_on)]):
            if not self._stuck:
                self._carry_out(chunk)

    def _carry_out_all(self, ready: Sequence[Step]) -> None:
        for chunk in self._chunks([step for step in ready if step.planned]):
            if self._stops():
                return
            self._carry_out(chunk)
        for batch in batches((step for step in ready if not step.planned), self._settings):
            if self._stops():
                return
            self._record(batch)

    def _watch(self, *, wait: bool) -> None:
        """See which moves have ended."""
        if not self._moves or self._stuck:
            return
        try:
            if wait:
                self._moves.wait()
            settled = self._moves.look()
        except KgitopsError as error:
            self._stick(error)
            return
        self._settle(settled)

    def _leave_moves(self) -> None:
        """The run ends while replicas move: they go on, unless the user says otherwise."""
        addresses = [step.address for step in self._moves.steps]
        asked = self._around.interrupted() is not None and not self._stuck
        if addresses and asked and self._around.cancels(addresses):
            try:
                self._settle(self._moves.cancel())
            except KgitopsError as error:
                self._stick(error)
        for step in self._moves.steps:
            self._known[step.id] = StepRecord(outcome=Outcome.OPEN)
            self._fail(step, still_moving(step))

    def refuse(self, reasons: Sequence[Reason]) -> None:
        """Go no further, for these reasons."""
        self._reasons.extend(reasons)

    def finish(self) -> ApplyResult:
        """Close the journal, release the lock, and say what became of every step."""
        complete = len(self._with(Outcome.DONE)) == len(self._steps)
        failed = self._failures or self._reasons
        status = RunStatus.FAILED if failed else RunStatus.OPEN
        try:
            self._journal.close(RunStatus.DONE if complete else status)
        except KgitopsError as error:
            sentence = f"the journal could not be closed: {error}; `kgitops apply --resume` does it"
            self._reasons.append(Reason(exit=ExitCode.PARTIAL, sentence=sentence))
        result = self._result()
        self._around.on_event(
            ApplyFinished(
                run_id=result.run_id,
                done=len(result.done),
                failed=len(result.failed),
                not_attempted=len(result.not_attempted),
                verdict=result.verdict,
            )
        )
        return result

    @property
    def _settings(self) -> ApplySettings:
        return self._around.settings

    def _with(self, outcome: Outcome) -> tuple[str, ...]:
        known = self._known
        return tuple(
            step for step in self._steps if step in known and known[step].outcome is outcome
        )

    def _ready(self) -> list[Step]:
        """Steps that are neither done nor given up, and all of whose dependencies are done."""
        done = frozenset(self._with(Outcome.DONE))
        return [
            step
            for step in self._steps.values()
            if step.id not in done
            and step.id not in self._failures
            and step.id not in self._moves
            and done.issuperset(step.depends_on)
        ]

    def _chunks(self, steps: Sequence[Step]) -> Iterator[list[Step]]:
        """As many batches as may be on their way together."""
        left = batches(steps, self._settings)
        while chunk := list(islice(left, self._settings.parallelism)):
            yield [step for batch in chunk for step in batch]

    def _carry_out(self, steps: Sequence[Step]) -> None:
        sending = Sending(
            self._around,
            lock=self._lock,
            journal=self._journal,
            principal=self._principal,
            first=not self._sent,
        )
        problem = None
        try:
            sending.carry_out(steps, self._doubtful)
        except KgitopsError as error:
            problem = error
        self._sent = self._sent or sending.sent
        self._moves.add(sending.moving)
        settled = dict(sending.settled)
        if problem and sending.intended:
            for step in (step for step in steps if step.id not in self._moves):
                settled.setdefault(step.id, left_open(step, f"no outcome is known ({problem})"))
        self._settle(settled)
        if problem:
            self._stick(problem)

    def _record(self, steps: Sequence[Step]) -> None:
        """Commit changes that only the registry records."""
        try:
            state = look(self._around.cluster, steps)
        except KgitopsError as error:
            self._stick(error)
            return
        good = []
        for step in steps:
            mismatches = check_preconditions(step.expects, state)
            if not mismatches:
                good.append(step)
            elif self._sent:
                self._fail(step, stale(step, mismatches[0]))
            else:
                raise StaleError(f"{mismatches[0]}; make a new plan")
        if not good:
            return
        try:
            self._journal.record(good, [owner_of(step.change) for step in good])
        except KgitopsError as error:
            self._stick(error)
            return
        self._sent = True
        for step in good:
            self._complete(step, StepRecord(outcome=Outcome.DONE))

    def _settle(self, settled: Mapping[str, Settled]) -> None:
        """Write outcomes, and the owners of the changes that they complete, in one append."""
        if not settled:
            return
        known = {step: outcome.known for step, outcome in settled.items()}
        after = {**self._known, **known}
        try:
            owners = owners_of_completed(self._steps, known, after)
            self._journal.settle(known, list(owners.values()))
        except KgitopsError as error:
            self._stick(error)
            problem = f"what became of it could not be written down ({error})"
            settled = {step: left_open(self._steps[step], problem) for step in settled}
        for step_id, outcome in settled.items():
            if outcome.known.outcome is Outcome.DONE:
                self._complete(self._steps[step_id], outcome.known)
            else:
                self._known[step_id] = outcome.known
                self._fail(self._steps[step_id], outcome)

    def _stick(self, error: KgitopsError) -> None:
        """The run can't go on; where nothing was sent the error keeps its own exit code."""
        if not self._sent:
            raise error
        self._stuck = True
        self._reasons.extend(error.reasons)

    def _stops(self) -> bool:
        return self._stuck or self._around.interrupted() is not None

    def _complete(self, step: Step, known: StepRecord) -> None:
        self._known[step.id] = known
        self._around.on_event(StepDone(step=step.id, address=step.address, api=step.api))

    def _fail(self, step: Step, outcome: Settled) -> None:
        self._failures[step.id] = outcome
        self._around.on_event(
            StepFailed(step=step.id, address=step.address, api=step.api, sentence=outcome.sentence)
        )

    def _result(self) -> ApplyResult:
        done = self._with(Outcome.DONE)
        failed = tuple(step for step in self._steps if step in self._failures)
        given_up = {*done, *failed}
        return ApplyResult(
            run_id=self._journal.run.id,
            done=done,
            failed=tuple(
                Failure(
                    step=step,
                    address=self._steps[step].address,
                    sentence=self._failures[step].sentence,
                )
                for step in failed
            ),
            not_attempted=tuple(step for step in self._steps if step not in given_up),
            earlier=self._earlier,
            verdict=judge(
                done=len(done),
                planned=len(self._steps),
                sent=self._sent,
                signal=self._around.interrupted(),
                failures=[
                    Reason(exit=self._failures[step].exit, sentence=self._failures[step].sentence)
                    for step in failed
                ],
                reasons=self._reasons,
            ),
        )
