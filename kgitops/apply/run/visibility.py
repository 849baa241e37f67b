"""Waiting until what brokers confirmed can be seen by everyone (A4-101)."""

from collections.abc import Iterator, Sequence

from kgitops.apply.context import Surroundings
from kgitops.apply.events import Waiting, WaitReason
from kgitops.apply.lock.waiting import Patience, growing
from kgitops.apply.observe.effects import is_move, is_under_way, is_visible
from kgitops.apply.run.reading import look_patiently
from kgitops.apply.steps.outcome import Settled, left_open, seen
from kgitops.apply.steps.steps import Step
from kgitops.model.cluster_state import ClusterState
from kgitops.model.results import RequestResult

_PROBED = 20
_LONGEST_PAUSE_S = 0.5

Confirmed = tuple[Step, RequestResult]
"""A step and the success that was answered."""


def await_visible(
    confirmed: Sequence[Confirmed], around: Surroundings, patience: Patience
) -> Iterator[tuple[Step, Settled | None]]:
    """Look until everything is visible, for as long as more and more of it is.

    Each step comes with what became of it once that is known; None for a move, which the cluster
    has taken on and which will take its time.

    Raises:
        KgitopsError: the lock was lost, or the cluster can't be read; the rest is not known.
    """
    left = list(confirmed)
    deadline = patience.moment().deadline
    pauses = growing(around.settings.poll_ms, _LONGEST_PAUSE_S)
    while left:
        late = patience.moment().now >= deadline
        later = left
        if late or _is_worth_it(left, around, deadline):
            state = _look(left, around, deadline)
            later = []
            for step, reply in left:
                if is_visible(step.request, state, reply):
                    yield step, seen(step, reply, state)
                elif _is_moving(step, state):
                    yield step, None
                else:
                    later.append((step, reply))
        if len(later) < len(left):
            deadline = patience.moment().deadline
        elif late:
            break
        left = later
        if left:
            around.on_event(
                Waiting(
                    reason=WaitReason.VISIBLE,
                    sentence="the broker confirmed; waiting until it is visible",
                    steps=tuple(step.id for step, _ in left),
                )
            )
            patience.pause(next(pauses))
    waited = f"{around.settings.timeout_ms / 1000:g} s"
    problem = f"the broker confirmed, but nothing is to be seen of it after {waited}"
    for step, _ in left:
        yield step, left_open(step, problem)


def _is_worth_it(left: Sequence[Confirmed], around: Surroundings, deadline: float) -> bool:
    """Whether to look at all of them.

    Brokers take on changes in the controller's order, so the last few tell whether it is worth
    the time: a large batch of topics takes them half a minute.
    """
    if len(left) <= _PROBED:
        return True
    last = left[-_PROBED:]
    state = _look(last, around, deadline)
    return all(
        is_visible(step.request, state, reply) or _is_moving(step, state) for step, reply in last
    )


def _look(confirmed: Sequence[Confirmed], around: Surroundings, deadline: float) -> ClusterState:
    return look_patiently(around, [step for step, _ in confirmed], deadline=deadline)


def _is_moving(step: Step, state: ClusterState) -> bool:
    return is_move(step.request) and is_under_way(step.request, state)
