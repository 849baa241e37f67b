"""The progress of a run as a value, and the outcome of each of its steps."""

from collections.abc import Collection, Container, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.apply.effects import (
    PreconditionMismatch,
    check_expected,
    created_topic,
    is_move,
    is_under_way,
    is_visible,
)
from kgitops.apply.steps import RecordedOutcome, Step, StepRecord
from kgitops.cluster.registry import owner_record
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, StaleError
from kgitops.model.json.records import Record
from kgitops.model.lowered import Lowered
from kgitops.model.requests import CreateTopicRequest
from kgitops.model.resources.addresses import acl_address, quota_address
from kgitops.model.results import OK, RequestResult
from kgitops.model.verdict import ExitCode
from kgitops.model.wording import resume_command
from kgitops.plan.document.plan import Change

BEFORE = "its request was on its way when an earlier run ended"


def _resume() -> str:
    return f"remove the cause and run `{resume_command()}`, or make a new plan"


class StepOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of a step; a step that is not done has a sentence and an exit code.

    The sentence of a done step is a note for the user. ``of_run`` tells that the cause is the
    run's, which reports it once for all its steps.
    """

    record: StepRecord
    sentence: str = ""
    exit: ExitCode = ExitCode.PARTIAL
    of_run: bool = False

    @property
    def done(self) -> bool:
        """True if nothing is left to do for the step."""
        return self.record.outcome is RecordedOutcome.DONE


def step_completed(
    step: Step, reply: RequestResult, state: ClusterState, lookup: str | None = None
) -> StepOutcome:
    """The result is visible; the record has the id of a created topic."""
    if isinstance(step.request, CreateTopicRequest):
        topic = created_topic(step.request, state)
        reply = replace(reply, topic_id=topic.topic_id if topic else None)
    return StepOutcome(record=StepRecord(outcome=RecordedOutcome.DONE, reply=reply, lookup=lookup))


def step_refused(step: Step, reply: RequestResult) -> StepOutcome:
    """The broker refused the request."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.FAILED, reply=reply),
        sentence=f"{step.address}: the broker answered {step.api} with {reply}; {_resume()}",
    )


def step_without_password(step: Step, error: KgitopsError, *, maybe_applied: bool) -> StepOutcome:
    """The password could not be read when it was due, so that the request was not sent.

    One that is ``maybe_applied`` may have been sent before.
    """
    if maybe_applied:
        return step_unknown(step, str(error))
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.FAILED),
        sentence=f"{error}; {step.api} was not sent: {_resume()}",
    )


def step_stale(step: Step, mismatch: PreconditionMismatch, *, begun: bool) -> StepOutcome:
    """The request was not sent, because the object is no longer as planned.

    Raises:
        StaleError: the run has not ``begun``, so the plan is refused as a whole.
    """
    if not begun:
        raise StaleError(f"{mismatch}; make a new plan")
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.FAILED),
        sentence=f"{mismatch}, so {step.api} was not sent; make a new plan",
        exit=ExitCode.STALE,
    )


def step_conflict(step: Step, problem: str, mismatch: PreconditionMismatch) -> StepOutcome:
    """The request may have taken effect, but the object is in another state now."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.OPEN, lookup="conflict"),
        sentence=f"{step.address}: {step.api}: {problem}, and the object is neither as before nor "
        f"as asked for ({mismatch}); nothing was overwritten: make a new plan",
    )


def step_skipped(mismatch: PreconditionMismatch) -> StepOutcome:
    """An undo request found a value that this run did not set, so there is nothing to undo."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.DONE, lookup="not ours"),
        sentence=f"{mismatch.field} is {mismatch.actual}, which this run did not set; it stays so",
    )


def move_cancelled(step: Step) -> StepOutcome:
    """The reassignment was cancelled at the user's request."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.FAILED, lookup="cancelled"),
        sentence=f"{step.address}: its reassignment was cancelled as you asked, and its replicas "
        f"stay where they were; `{resume_command()}` starts it again",
    )


def move_ended_early(step: Step) -> StepOutcome:
    """The reassignment has ended, and the replicas are where they were before."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.FAILED, lookup="start"),
        sentence=f"{step.address}: its reassignment was cancelled by someone else, and its "
        f"replicas are where they were; {_resume()}",
    )


def move_continues(step: Step) -> StepOutcome:
    """The run ends before the data is copied; the cluster continues by itself."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.OPEN),
        sentence=f"{step.address}: its replicas are still being copied, and the cluster "
        f"continues that by itself; `{resume_command()}` waits for it and removes its throttle",
    )


def step_unknown(
    step: Step, problem: str, lookup: str | None = None, *, of_run: bool = False
) -> StepOutcome:
    """The outcome is not known yet."""
    return StepOutcome(
        record=StepRecord(outcome=RecordedOutcome.OPEN, lookup=lookup),
        sentence=f"{step.address}: {step.api}: {problem}; `{resume_command()}` "
        "looks before it sends anything again",
        of_run=of_run,
    )


def resolve_open_step(step: Step, state: ClusterState) -> StepOutcome | None:
    """Resolve a request that an earlier process left open.

    None when the object is as before the request, or when its result is still to come.
    """
    if is_visible(step.request, state):
        return step_completed(step, OK, state, lookup="done")
    if is_under_way(step.request, state):
        return None
    mismatches = check_expected(step.expects, step.request, state, maybe_applied=True)
    if mismatches and step.undoes:
        return step_skipped(mismatches[0])
    return step_conflict(step, BEFORE, mismatches[0]) if mismatches else None


def owners_of_completed(
    steps: Mapping[str, Step], news: Mapping[str, StepRecord], known: Mapping[str, StepRecord]
) -> Mapping[str, Record]:
    """Return the ownership records, by address, of the changes that ``news`` completes.

    ``known`` are the records of all steps, including the news.
    """
    done = [steps[step] for step, record in news.items() if record.outcome is RecordedOutcome.DONE]
    changes = {step.address: step.change for step in done}
    owners = {}
    for address, change in changes.items():
        records = [known.get(planned.id) for planned in change.requests]
        remembers = change.owner_before is not None or change.owner_after is not None
        if remembers and all(
            record and record.outcome is RecordedOutcome.DONE for record in records
        ):
            owners[address] = owner_of(change, [record.reply for record in records if record])
    return owners


def owners_of_begun(open_steps: Iterable[Step], state: ClusterState) -> Mapping[str, Record]:
    """Return the ownership records, by address, of half-made objects in virtual clusters.

    Only an owner may remove such an object, and it is visible to nobody else.
    """
    lowered = state.lowered or Lowered()
    begun = {
        *map(acl_address, lowered.begun_acls),
        *(quota_address(entity) for entity, _ in lowered.begun_quotas),
    }
    changes = {step.address: step.change for step in open_steps if step.address in begun}
    return {it: owner_of(change) for it, change in changes.items() if change.owner_after}


def owner_of(change: Change, replies: Iterable[RequestResult | None] = ()) -> Record:
    """Return the new ownership record; the id of a new topic comes from the broker's reply."""
    owner = change.owner_after
    if owner is not None and owner.topic_id is None:
        minted = [reply.topic_id for reply in replies if reply and reply.topic_id]
        owner = replace(owner, topic_id=minted[0] if minted else None)
    return owner_record(change.address, owner)


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a run.

    ``records`` has the records of all steps that were begun, in this process or an earlier one.
    ``failures`` are the steps that this process has given up.
    """

    steps: Mapping[str, Step]
    records: Mapping[str, StepRecord] = field(default_factory=dict)
    failures: Mapping[str, StepOutcome] = field(default_factory=dict)

    @property
    def done(self) -> tuple[str, ...]:
        """The steps that are done, in the plan's order."""
        return self._with(RecordedOutcome.DONE)

    @property
    def open(self) -> tuple[str, ...]:
        """The steps that were begun and whose outcome is unknown."""
        return self._with(RecordedOutcome.OPEN)

    @property
    def failed(self) -> tuple[str, ...]:
        """The steps that this process has given up, in the plan's order."""
        return tuple(step for step in self.steps if step in self.failures)

    @property
    def not_attempted(self) -> tuple[str, ...]:
        """The steps that are neither done nor given up."""
        given_up = {*self.done, *self.failures}
        return tuple(step for step in self.steps if step not in given_up)

    @property
    def not_begun(self) -> tuple[Change, ...]:
        """The changes without any step that was begun."""
        begun = {self.steps[step].address for step in self.records}
        changes = {step.address: step.change for step in self.steps.values()}
        return tuple(change for address, change in changes.items() if address not in begun)

    @property
    def steps_to_undo(self) -> list[Step]:
        """The steps that undo helper steps, such as throttles, that may be in effect."""
        return [s for s in steps_to_undo(self.steps, self.records) if s.id not in self.failures]

    def ready(self, under_way: Container[str]) -> list[Step]:
        """Return the steps to send: not attempted, not ``under_way``, all dependencies done."""
        done = frozenset(self.done)
        candidates = [self.steps[step] for step in self.not_attempted if step not in under_way]
        return [step for step in candidates if done.issuperset(step.depends_on)]

    def with_outcomes(self, outcomes: Mapping[str, StepOutcome]) -> "Progress":
        """Return the progress with these outcomes added."""
        records = {step: outcome.record for step, outcome in outcomes.items()}
        failures = {step: outcome for step, outcome in outcomes.items() if not outcome.done}
        return replace(
            self, records={**self.records, **records}, failures={**self.failures, **failures}
        )

    def for_resume(self) -> "Progress":
        """Return the progress for a resume: steps that were undone too early are done again."""
        early = undone_too_early(self.steps, self.done)
        return replace(
            self,
            records={step: record for step, record in self.records.items() if step not in early},
        )

    def _with(self, outcome: RecordedOutcome) -> tuple[str, ...]:
        records = self.records
        return tuple(s for s in self.steps if s in records and records[s].outcome is outcome)


def steps_to_undo(steps: Mapping[str, Step], records: Mapping[str, StepRecord]) -> list[Step]:
    """Return the undo steps that are not done and whose undone request was or may be sent."""
    return [
        step
        for step in steps.values()
        if step.undoes
        and not _is_done(step.id, records)
        and _may_be_in_effect(step.undoes, records)
    ]


def moves_before(undoing: Iterable[Step], steps: Mapping[str, Step]) -> list[Step]:
    """Return the reassignments that must have ended before these steps."""
    names = dict.fromkeys(name for step in undoing for name in step.depends_on)
    dependencies = [steps[name] for name in names]
    return [step for step in dependencies if is_move(step.request)]


def still_moving_in(moves: Iterable[Step], state: ClusterState) -> frozenset[str]:
    """Return the ids of reassignments that have not ended."""
    return frozenset(step.id for step in moves if is_under_way(step.request, state))


def undone_too_early(steps: Mapping[str, Step], done: Collection[str]) -> frozenset[str]:
    """Return the helper steps that were undone too early, and the steps that undid them.

    A resumed run must do both again.
    """
    early = [
        step
        for step in steps.values()
        if step.undoes and step.id in done and not set(done).issuperset(step.depends_on)
    ]
    return frozenset(name for step in early for name in (step.id, step.undoes) if name)


def _is_done(step: str, records: Mapping[str, StepRecord]) -> bool:
    return step in records and records[step].outcome is RecordedOutcome.DONE


def _may_be_in_effect(step: str, records: Mapping[str, StepRecord]) -> bool:
    return step in records and records[step].outcome is not RecordedOutcome.FAILED
