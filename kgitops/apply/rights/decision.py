"""Deciding a project's rights to a plan's changes by the live registry, not by the plan file.

The digests of a plan prove that it is complete, not who wrote it. So nothing is sent unless the
plan is this project's and passes the guard, before the lock and while it is held. That it is also
what the planner makes of its declarations, ``rights.replan`` checks.
"""

from collections import Counter
from collections.abc import Sequence

from kgitops.apply.rights.believed import declarations
from kgitops.apply.rights.guard import guard
from kgitops.apply.rights.takeovers import check_takeovers
from kgitops.desired.state import Project
from kgitops.kinds.user_rights import foreign_users
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.verdict import Reason
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.ownership import build_ownership, identity_problem


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
        check_takeovers(plan, changes, state.registry, project, resumed=resumed)
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
