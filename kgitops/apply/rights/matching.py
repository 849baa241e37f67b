"""Comparing a plan's change with the one that the planner makes.

Free are sentences, the order, and what others may change without a harm: values that the change
neither reads nor writes. Preconditions decide about all that it reads.
"""

from collections.abc import Collection, Iterable

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json
from kgitops.plan.document.plan import Change, PlannedRequest, Precondition

Place = tuple[str, int]
"""The address of a request's change, and the request's number in it."""
_MOST_STEPS = 2_000_000
"""From request to request, in one plan: only a forged one has chains that long."""


class Requests:
    """The requests of a plan by their places: every plan numbers its requests again."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._places: dict[str, Place] = {}
        self._waits: dict[str, tuple[str, ...]] = {}
        for change in changes:
            for number, planned in enumerate(change.requests):
                self._places[planned.id] = change.address, number
                self._waits[planned.id] = planned.depends_on
        self._known = frozenset(self._places.values())
        self._steps = 0

    def place(self, request: str | None) -> Place | None:
        """Return the place of the request of this id."""
        return self._places.get(request) if request else None

    def waits(self, planned: PlannedRequest) -> frozenset[Place]:
        """Return the places of the requests that this one waits for by itself."""
        return frozenset(self._places[it] for it in planned.depends_on if it in self._places)

    def has_order(self, planned: PlannedRequest, due: frozenset[Place]) -> bool:
        """Return whether the request waits for all that is ``due``, if only by way of others."""
        due &= self._known
        return self.waits(planned) >= due or self._all_before(planned) >= due

    def _all_before(self, planned: PlannedRequest) -> frozenset[Place]:
        before: set[str] = set()
        left = list(planned.depends_on)
        while left and self._steps < _MOST_STEPS:
            self._steps += 1
            name = left.pop()
            if name not in before:
                before.add(name)
                left += self._waits.get(name, ())
        return frozenset(self._places[name] for name in before if name in self._places)


def difference(
    change: Change, given: Requests, again: Change, wanted: Requests, state: ClusterState
) -> str | None:
    """Return how the change differs from the one that is wanted, or None.

    ``given`` and ``wanted`` are all requests of their plans.
    """
    if change.kind is not again.kind:
        return f"is not of the kind {change.kind}"
    if change.derived_from != again.derived_from:
        return "is not derived from the objects that it names"
    if (change.owner_before, change.owner_after) != (again.owner_before, again.owner_after):
        return "would leave a record that does not follow from its declaration and the registry"
    if len(change.requests) != len(again.requests) or not all(
        _same_request(mine, theirs, again, state)
        for mine, theirs in zip(change.requests, again.requests, strict=True)
    ):
        return "has requests that do not follow from its declaration"
    for mine, theirs in zip(change.requests, again.requests, strict=True):
        if given.place(mine.undoes) != wanted.place(theirs.undoes):
            return "undoes another request than follows from its declaration"
    if not _expects_all(change.preconditions, again.preconditions) or not all(
        _expects_all([mine.expects], [theirs.expects])
        for mine, theirs in zip(change.requests, again.requests, strict=True)
    ):
        return "lacks preconditions of its requests"
    return None


def order_problem(change: Change, given: Requests, again: Change, wanted: Requests) -> str | None:
    """Return that a request of the change waits for less than it has to, or None."""
    pairs = zip(change.requests, again.requests, strict=True)
    if all(given.has_order(mine, wanted.waits(theirs)) for mine, theirs in pairs):
        return None
    return "has requests in an order that does not follow from its declaration"


def shown_problem(change: Change, shown: Change) -> str | None:
    """Return what the change shows and does not do, or None."""
    if change.actions != shown.actions:
        return "shows actions that do not follow from its requests"
    mine = {(it.path, it.before, it.after) for it in change.fields}
    if mine != {(it.path, it.before, it.after) for it in shown.fields}:
        return "shows fields that do not follow from its requests"
    return None


def risk_problem(change: Change, now: Change) -> str | None:
    """Return the risk and the harm that the change has by now and does not show, or None."""
    risks = [risk.code for risk in now.risks if risk not in change.risks]
    if risks:
        return f"has the risk {risks[0]}, which the plan does not show"
    for name, value in now.impact.items():
        if not _is_shown(value, change.impact.get(name)):
            return f"has another {name} than the plan shows"
    return None


def _same_request(
    given: PlannedRequest, wanted: PlannedRequest, change: Change, state: ClusterState
) -> bool:
    mine, theirs = given.request, wanted.request
    if not isinstance(mine, req.AlterTopicRequest) or not isinstance(theirs, req.AlterTopicRequest):
        return mine == theirs
    one, other = mine.requested_state, theirs.requested_state
    if (mine.topic, mine.topic_id, mine.local, mine.step) != (
        theirs.topic, theirs.topic_id, theirs.local, theirs.step
    ):  # fmt: skip
        return False
    if (one.name, one.topic_id, one.generated_replica_assignments) != (
        other.name, other.topic_id, other.generated_replica_assignments
    ):  # fmt: skip
        return False
    if one.requested_configs != other.requested_configs:
        return False
    match mine.step:
        case req.AlterStep.PARTITIONS:
            topic = state.topics.get(mine.topic)
            held = topic.num_partitions if topic else 0
            same = list(map(len, one.assignment)) == list(map(len, other.assignment))
            if not same or one.assignment[held:] != other.assignment[held:]:
                return False
        case req.AlterStep.REPLICAS:
            if one.assignment != other.assignment:
                return False
        case req.AlterStep.CONFIGS:
            pass
    # Policies judge the whole state afterwards, of which others may have changed the rest.
    return all(one.configs.get(key) == other.configs.get(key) for key in _own_configs(change))


def _own_configs(change: Change) -> Collection[str]:
    """Return the configs that the change declares or sets."""
    declared = change.owner_after.last_applied.get("configs", {}) if change.owner_after else {}
    keys = set(declared)
    for planned in change.requests:
        if isinstance(planned.request, req.AlterTopicRequest):
            keys |= planned.request.requested_state.requested_configs.keys()
    return keys


def _expects_all(given: Iterable[Precondition], wanted: Iterable[Precondition]) -> bool:
    """Return whether all that is wanted is expected by the given preconditions too."""
    given = tuple(given)
    return all(any(_covers(mine, theirs) for mine in given) for theirs in wanted)


def _covers(given: Precondition, wanted: Precondition) -> bool:
    same = (given.object, given.exists, given.topic_id, given.owner) == (
        wanted.object, wanted.exists, wanted.topic_id, wanted.owner
    )  # fmt: skip
    return same and wanted.fields.items() <= given.fields.items()


def _is_shown(value: Json, given: Json) -> bool:
    if isinstance(value, list) and isinstance(given, list):
        known = set(map(canonical_json, given))
        return all(canonical_json(item) in known for item in value)
    if isinstance(value, int) and isinstance(given, int):
        return value <= given  # others have made the harm smaller
    return bool(value == given)
