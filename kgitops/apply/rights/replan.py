"""Deciding a project's rights to a plan's changes: they are planned again, and must be the same.

The digests of a plan prove that it is complete, not who wrote it. Of a plan only its declarations
are believed (``rights.believed``). The planner says what follows from them on this cluster, by its
registry, and every change that has not begun must be exactly that. Free are sentences, the order,
and what others may change without harm: values that the change neither reads nor writes.
Preconditions decide about all that it reads.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from msgspec.structs import replace

from kgitops.apply.rights.believed import (
    asking_members,
    check_sizes,
    copying_members,
    declarations,
    earlier_facts,
    replication_throttle,
    taken_over_throttles,
    tombstones,
)
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.model import requests as req
from kgitops.model.cluster_state import Capabilities, ClusterState, Validator, VirtualClusterSupport
from kgitops.model.errors import SafetyError, StaleError, UntrustedPlanError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import COMMAND_PROJECT, Json
from kgitops.model.requests import Request
from kgitops.model.resources.kinds import Kind
from kgitops.plan.access import with_rights_lost
from kgitops.plan.document.plan import AccessLoss, Basis, Change, Plan, PlannedRequest, Precondition
from kgitops.plan.ownership import Ownership, build_ownership
from kgitops.plan.planner import make_plan
from kgitops.plan.shown import with_shown
from kgitops.plan.shown_values import releases_ownership

_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Errors that a planner may raise over declarations that no document can give."""
_APIS = [kind.__name__.removesuffix("Request") for kind in get_args(Request)]
_NO_LIMIT = 10**9


def check_replanned(
    plan: Plan,
    state: ClusterState,
    project: Project,
    capabilities: Capabilities,
    pending_undo: Sequence[PlannedRequest] = (),
) -> None:
    """Check that the planner makes each change of the plan, before any of it has begun.

    A command's plan is no file: it is made, and applied, by one process. And a run that is resumed
    was compared when it began; its plan is the journal's. For both the guard decides alone.
    ``pending_undo`` are requests of unfinished runs that undo their throttles.

    Raises:
        SafetyError: the project has no right to a change.
        StaleError: another plan would be made by now, or a change is riskier than the plan shows.
        UntrustedPlanError: a change is not what follows from the declarations.
    """
    if not plan.changes or plan.takeovers or project.identity == COMMAND_PROJECT:
        return  # takeovers are compared as a whole (``rights.takeovers``)
    # Users were not read, and brokers themselves refuse an ACL that they can't keep.
    state = replace(state.with_objects((), Kind.USER), has_authorizer=True)
    try:
        throttles = taken_over_throttles(pending_undo, plan.changes)
        candidates = list(_planned(plan, state, project, capabilities, throttles))
        problems = [_problem(plan, state, fresh) for fresh in candidates]
    except _MALFORMED as error:
        raise UntrustedPlanError(
            f"the plan declares what can't be planned ({error}); make a new plan"
        ) from error
    if None not in problems:
        raise next(filter(None, problems))


def _planned(
    plan: Plan,
    state: ClusterState,
    project: Project,
    capabilities: Capabilities,
    throttles: Sequence[PlannedRequest],
) -> Iterator[Plan]:
    """Plan the declarations again; twice, if a member may no longer ask for its copied ACLs."""
    ownership = build_ownership(project, state.registry)
    earlier = earlier_facts(plan.changes, state)
    objects = list(declarations(plan.changes))
    check_sizes(objects, earlier, state)
    declared = frozenset(item.address for item in objects)
    given_up = frozenset(change.address for change in plan.changes if releases_ownership(change))
    asking = list(asking_members(plan.changes, declared | given_up, ownership))
    targets = {change.address for change in plan.changes} | {item.address for item in asking}
    copying = [
        member
        for member in copying_members(plan.changes, declared | given_up, ownership)
        if member.address not in targets
    ]
    desired = DesiredState(
        project=project,
        scope=ManagedScope(whole=True, targets=frozenset(targets), takes_over=False),
        safety=Safety(
            max_deletes=_NO_LIMIT,
            max_delete_percent=100,
            replication_throttle=replication_throttle(plan, state),
        ),
        principal=plan.principal,
        tombstones=tuple(tombstones(plan.changes, ownership)),
    )
    releases = any(
        releases_ownership(change) and _is_copy(change, ownership) for change in plan.changes
    )
    for members in (copying, ()) if copying and releases else (copying,):
        yield make_plan(
            desired.with_objects((*objects, *asking, *members)),
            state,
            target_name=plan.target.name,
            capabilities=_any_request(capabilities),
            pending_undo_requests=throttles,
            advise=False,
            unchanged_counts={"": 1},  # so few declarations are no failed load
            base_digest="not needed",
            earlier=earlier,
        )


def _is_copy(change: Change, ownership: Ownership) -> bool:
    live = ownership.owner(change.address)
    return live is not None and ORIGIN in live.last_applied


def _any_request(capabilities: Capabilities) -> Capabilities:
    """Let every request be planned: ``check_steps`` sees whether the cluster carries it out."""
    return replace(
        capabilities,
        validation=dict.fromkeys(_APIS, Validator.CLIENT),
        virtual_clusters=VirtualClusterSupport.NATIVE,
    )


def _problem(plan: Plan, state: ClusterState, fresh: Plan) -> Exception | None:
    """Return the error about the first change that the fresh plan does not make, or None."""
    wanted = {change.address: change for change in _as_measured(fresh, plan)}
    shown = _shown(wanted.values(), plan.base.defaults, fresh.access_losses)
    risky = _shown(wanted.values(), state.broker_defaults, fresh.access_losses)
    given, due = Requests(plan.changes), Requests(wanted.values())
    for change in plan.changes:
        again = wanted.get(change.address)
        if again is None:
            return _missing(change, fresh)
        problem = difference(change, given, again, due, state)
        problem = problem or shown_problem(change, shown[change.address])
        problem = problem or _risk_problem(change, shown[change.address])
        problem = problem or _order_problem(change, given, again, due)
        if problem:
            return _untrusted(change, problem)
        riskier = _risk_problem(change, risky[change.address])
        if riskier:
            # Others have changed the brokers' defaults.
            return StaleError(f"{change.address} {riskier}; make a new plan")
    unshown = next((it for it in fresh.access_losses if it not in plan.access_losses), None)
    if unshown is not None:
        return StaleError(
            f"{unshown.principal} would lose more access by now than the plan shows; make a new "
            "plan"
        )
    return _objection(fresh)


def _shown(
    changes: Iterable[Change], defaults: Mapping[str, str], losses: Sequence[AccessLoss]
) -> Mapping[str, Change]:
    """Return the changes by address, with what a plan shows of them."""
    shown = with_rights_lost(with_shown([*changes], defaults), losses)
    return {change.address: change for change in shown}


def _as_measured(fresh: Plan, plan: Plan) -> Iterator[Change]:
    """Yield the fresh changes with what the plan measured: sizes change all the time.

    A plan that rests on a size expects it (``plan.shown``), and so does the fresh one then.
    """
    bases = {change.address: change.basis or Basis() for change in plan.changes}
    for change in fresh.changes:
        found = bases.get(change.address, Basis()).measured
        yield replace(change, basis=replace(change.basis or Basis(), measured=found))


def _objection(fresh: Plan) -> Exception | None:
    """Return the planner's objection to the changes, or None."""
    if fresh.refusals:
        return SafetyError(f"{fresh.refusals[0].sentence}; then make a new plan")
    if fresh.findings:
        problem = fresh.findings[0].problem
        return StaleError(f"the same can't be planned any more: {problem}; make a new plan")
    return None


def _missing(change: Change, fresh: Plan) -> Exception:
    """Explain why the planner makes no such change."""
    if change.kind is Kind.BROKER:
        return StaleError(
            f"{change.address} is not to be throttled by now: the broker or the replicas that "
            "move have changed; make a new plan"
        )
    return _objection(fresh) or _untrusted(change, "does not follow from what the plan declares")


def _untrusted(change: Change, problem: str) -> UntrustedPlanError:
    return UntrustedPlanError(
        f"the plan contradicts itself or the cluster: {change.address} {problem}; make a new plan"
    )


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


def _order_problem(change: Change, given: Requests, again: Change, wanted: Requests) -> str | None:
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


def _risk_problem(change: Change, now: Change) -> str | None:
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
