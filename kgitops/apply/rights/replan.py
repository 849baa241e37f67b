"""Deciding a project's rights to a plan's changes: they are planned again, and must be the same.

The digests of a plan prove that it is complete, not who wrote it. Of a plan only its declarations
are believed (``rights.believed``). The planner says what follows from them on this cluster, by its
registry, and every change that has not begun must be exactly that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from kgitops.apply.rights.matching import (
    Requests,
    difference,
    order_problem,
    risk_problem,
    shown_problem,
)
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.model.cluster_state import Capabilities, ClusterState, Validator, VirtualClusterSupport
from kgitops.model.errors import SafetyError, StaleError, UntrustedPlanError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.requests import Request
from kgitops.model.resources.kinds import Kind
from kgitops.plan.access import with_rights_lost
from kgitops.plan.document.plan import AccessLoss, Basis, Change, Plan, PlannedRequest
from kgitops.plan.ownership import Ownership, build_ownership
from kgitops.plan.planner import make_plan
from kgitops.plan.shown.derive import with_shown
from kgitops.plan.shown.values import releases_ownership

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
        problem = problem or risk_problem(change, shown[change.address])
        problem = problem or order_problem(change, given, again, due)
        if problem:
            return _untrusted(change, problem)
        riskier = risk_problem(change, risky[change.address])
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
