"""The rules for a plan that takes over: it changes owners only, with consent, and of all objects.

The live registry and the project file decide. Of the plan only ``allow_takeover`` counts.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kgitops.desired.claims import ClaimKind, OwnershipClaim, claims_of, former_identities, owned_by
from kgitops.desired.state import Project
from kgitops.model.errors import SafetyError, StaleError, UntrustedPlanError
from kgitops.model.registry import RegistryState
from kgitops.plan.document.plan import Change, Plan, Takeover
from kgitops.plan.takeovers import describe, own_run_problem, takeover_change, takeover_problem


def check_takeovers(
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
