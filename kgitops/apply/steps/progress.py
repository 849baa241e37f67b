"""The progress of a run as a value: the steps that are done, failed, ready, or to be undone."""

from collections.abc import Collection, Container, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.apply.observe.effects import is_move, is_under_way
from kgitops.apply.steps.outcome import StepOutcome
from kgitops.apply.steps.runs import RecordedOutcome, StepRecord
from kgitops.apply.steps.steps import Step
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.document.plan import Change


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
