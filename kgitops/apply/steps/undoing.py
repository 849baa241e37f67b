"""Steps that only help others, as a throttle does a move: when they are to be taken back."""

from collections.abc import Collection, Iterable, Mapping

from kgitops.apply.observe.effects import is_move, is_under_way
from kgitops.apply.steps.runs import Outcome, StepRecord
from kgitops.apply.steps.steps import Step
from kgitops.model.cluster_state import ClusterState


def to_take_back(steps: Mapping[str, Step], known: Mapping[str, StepRecord]) -> list[Step]:
    """The steps that undo something which was sent, or may have been, and are not done."""
    return [
        step
        for step in steps.values()
        if step.undoes and not _is_done(step.id, known) and _may_be_there(step.undoes, known)
    ]


def moves_before(undoing: Iterable[Step], steps: Mapping[str, Step]) -> list[Step]:
    """The moves that must have ended before these steps."""
    names = dict.fromkeys(name for step in undoing for name in step.depends_on)
    found = [steps[name] for name in names]
    return [step for step in found if is_move(step.request)]


def still_moving_in(moves: Iterable[Step], state: ClusterState) -> frozenset[str]:
    """Those of ``moves`` that have not ended."""
    return frozenset(step.id for step in moves if is_under_way(step.request, state))


def undone_too_early(steps: Mapping[str, Step], done: Collection[str]) -> frozenset[str]:
    """What was taken back before it had served its purpose, and what took it back.

    A run that goes on needs both once more.
    """
    early = [
        step
        for step in steps.values()
        if step.undoes and step.id in done and not set(done).issuperset(step.depends_on)
    ]
    return frozenset(name for step in early for name in (step.id, step.undoes) if name)


def _is_done(step: str, known: Mapping[str, StepRecord]) -> bool:
    return step in known and known[step].outcome is Outcome.DONE


def _may_be_there(step: str, known: Mapping[str, StepRecord]) -> bool:
    return step in known and known[step].outcome is not Outcome.FAILED
