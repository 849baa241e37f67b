"""Deciding a project's rights to a plan's changes by the live registry, not by the plan file.

The digests of a plan prove that it is complete, not who wrote it. So nothing is sent unless the
plan is this project's and passes the guard, before the lock and while it is held. That it is also
what the planner makes of its declarations, ``rights.replan`` checks. Of a plan that takes over the
live registry and the project file decide: only owners change, with consent, and of all objects.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kgitops.apply.rights.believed import declarations
from kgitops.apply.rights.guard import guard
from kgitops.desired.claims import ClaimKind, OwnershipClaim, claims_of, former_identities, owned_by
from kgitops.desired.state import Project
from kgitops.kinds.virtual_clusters.user_rights import foreign_users
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError, StaleError, UntrustedPlanError
from kgitops.model.registry import COMMAND_PROJECT, RegistryState
from kgitops.model.verdict import Reason
from kgitops.plan.document.plan import Change, Plan, Takeover
from kgitops.plan.ownership import build_ownership, identity_problem
from kgitops.plan.takeovers import describe, own_run_problem, takeover_change, takeover_problem


def check_rights(
    plan: Plan,
    changes: Sequence[Change],
    state: ClusterState,
    project: Project,
    *,
    resumed: bool = False,
) -> None:
    """Check the project's right to each of ``changes``, which are those that have not begun.

    A ``resumed`` run may have begun under a former identity of the project.

    Raises:
        SafetyError: the object is another project's, unmanaged, or protected, or a user that the
            plan's principal may not touch.
        UntrustedPlanError: a change contradicts itself, or the plan is another project's.
    """
    ownership = build_ownership(project, state.registry)
    desired = plan.desired
    same = (desired.identity, desired.project) == (project.identity, project.name)
    if not same and not (resumed and desired.identity in {project.identity, *ownership.former}):
        raise UntrustedPlanError(
            f"the plan was made for the project {desired.project!r} ({desired.identity}), and this "
            f"is {project.name!r} ({project.identity}); make a new plan"
        )
    command = project.identity == COMMAND_PROJECT
    problem = None if command else _identity_problem(plan, project, state)
    if problem:
        raise SafetyError(f"{problem.sentence}; then make a new plan")
    counts = Counter(change.address for change in plan.changes)
    twice = next((address for address, count in counts.items() if count > 1), None)
    if twice:
        raise UntrustedPlanError(f"the plan changes {twice} twice; make a new plan")
    if plan.takeovers:
        _check_takeovers(plan, changes, state.registry, project, resumed=resumed)
        return
    try:
        for _ in declarations(plan.changes):
            pass
    except ValueError as error:
        raise UntrustedPlanError(
            f"the plan contradicts itself or the cluster: {error}; make a new plan"
        ) from error
    guard(plan, changes, state, ownership, command=command)
    for change, reason in foreign_users(plan, changes, state):
        raise SafetyError(f"{change.address} is denied: {reason}")


def _identity_problem(plan: Plan, project: Project, state: ClusterState) -> Reason | None:
    return identity_problem(
        project,
        state.registry,
        taking=[takeover.identity for takeover in plan.takeovers],
        allowed=plan.allow_takeover,
    )


def _check_takeovers(
    plan: Plan,
    changes: Sequence[Change],
    registry: RegistryState | None,
    project: Project,
    *,
    resumed: bool,
) -> None:
    """Check a plan with takeovers; ``changes`` are those that have not begun.

    Raises:
        SafetyError: the project file no longer claims the other project, or that project has not
            agreed, or has an unfinished run.
        StaleError: the other project is no longer as the plan says.
        UntrustedPlanError: the plan does something else than taking over, or takes too little.
    """
    if registry is None:
        raise StaleError("the cluster has no registry any more; make a new plan")
    claims = {claim.identity: claim for claim in claims_of(project, registry)}
    remembered = former_identities(project, registry)
    for takeover in plan.takeovers:
        if not (resumed and takeover.identity in remembered):
            _check(takeover, claims.get(takeover.identity), plan, registry, project, resumed)
    unfinished = None if resumed else own_run_problem(project, registry, plan.target.name)
    if unfinished:
        raise SafetyError(f"{unfinished}; then make a new plan")
    identities = {each: it for it in plan.takeovers for each in it.identities}
    for change in changes:
        _check_change(change, registry, project, identities)


def _check(
    takeover: Takeover,
    claim: OwnershipClaim | None,
    plan: Plan,
    registry: RegistryState,
    project: Project,
    resumed: bool,
) -> None:
    if claim is None or claim.kind is not takeover.kind:
        raise SafetyError(
            f"the plan takes over objects of {takeover.label}, which metadata.{takeover.kind} of "
            "the project file does not claim; make a new plan"
        )
    current = describe(claim, project, registry)
    problem = takeover_problem(
        current,
        project,
        registry,
        allowed=plan.allow_takeover,
        target_name=plan.target.name,
    )
    if problem:
        raise SafetyError(f"{problem}; then make a new plan")
    if resumed:
        return
    if replace(current, released=takeover.released) != takeover:
        raise StaleError(
            f"{takeover.label} has changed since the plan was made: it has other objects, or was "
            "applied again; make a new plan"
        )
    if takeover.kind is ClaimKind.FORMERLY:
        taken = {change.address for change in plan.changes}
        left = [it for it in owned_by(claim.identities, registry.owners) if it not in taken]
        if left:
            raise UntrustedPlanError(
                f"the plan takes over {takeover.label}, but leaves out {left[0]}; make a new plan"
            )


def _check_change(
    change: Change,
    registry: RegistryState,
    project: Project,
    identities: Mapping[str, Takeover],
) -> None:
    live = registry.owners.get(change.address)
    if live is None or live != change.owner_before:
        raise StaleError(
            f"the registry's record of {change.address} has changed since the plan was made; make "
            "a new plan"
        )
    takeover = identities.get(live.project)
    if takeover is None or live.spent:
        raise SafetyError(
            f"{change.address} belongs to the project "
            f"{registry.projects.get(live.project, live.project)!r}, which this plan does not take "
            "over; make a new plan"
        )
    expected = takeover_change(
        change.address, live, takeover, project.identity, source=change.source
    )
    if replace(change, labels={}, origins={}, policies=()) != expected:
        raise UntrustedPlanError(
            f"the plan takes over {change.address}, and would do more to it than change its owner; "
            "make a new plan"
        )
