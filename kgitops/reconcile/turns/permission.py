"""The changes of a plan that a loop may apply by itself, as plain functions over the plan.

What is permitted is decided twice: over the whole plan, to choose the addresses, and again over
the plan of just these, which is the one that is applied.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct

from kgitops.manifests.project_document import ReconcileSettings
from kgitops.model.requests import AlterUserScramCredentialsRequest
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.plan.takeovers import takes_over

REMOVES = frozenset({Action.DELETE, Action.FORGET})
"""The actions that ``converge`` never takes: what is removed is a person's decision."""
_HEALED = ("restored", "missing")


class Permission(Struct, frozen=True, kw_only=True):
    """The right of a turn to apply by itself: nothing, or changes up to a level, or removals too.

    ``left_alone`` are addresses that are not healed: somebody else keeps changing them.
    """

    applies: bool = False
    max_risk: RiskLevel = RiskLevel.SAFE
    removals: bool = False
    heals: bool = True
    left_alone: frozenset[str] = frozenset()

    def permits(self, change: Change, healing: Collection[str] = frozenset()) -> bool:
        """Return True if the change may be applied; ``healing`` are the drifted addresses.

        A loop never takes over another project's objects, in any mode.
        """
        if not self.applies or change.denied or takes_over(change):
            return False
        if removes(change) and not self.removals:
            return False
        if change.address in self.left_alone or (change.address in healing and not self.heals):
            return False
        return RISK_LEVELS.index(change.level) >= RISK_LEVELS.index(self.max_risk)


def removes(change: Change) -> bool:
    """Return True if the change takes away the object, or one of the mechanisms of a user."""
    return bool(REMOVES.intersection(change.actions)) or any(
        isinstance(planned.request, AlterUserScramCredentialsRequest) and planned.request.removes
        for planned in change.requests
    )


def permission_of(
    settings: ReconcileSettings, *, suspended: bool, fights: Collection[str] = ()
) -> Permission:
    """Return the permission that a mode gives; none while reconciliation is suspended."""
    automatic = settings.mode == "auto"
    return Permission(
        applies=settings.mode != "observe" and not suspended,
        max_risk=RiskLevel.DATA_LOSS if automatic else RiskLevel(settings.max_risk),
        removals=automatic,
        heals=settings.heal,
        left_alone=frozenset(fights),
    )


def healed_by(plan: Plan) -> frozenset[str]:
    """Return the addresses where the plan undoes what somebody else changed."""
    changed = {change.address for change in plan.changes}
    drifted = {row.address for row in plan.drift if row.rule in _HEALED}
    return frozenset(changed & drifted)


def permitted_addresses(plan: Plan, permission: Permission) -> frozenset[str]:
    """Return the changes that may be applied, by address, whatever they need."""
    healing = healed_by(plan)
    return frozenset(c.address for c in plan.changes if permission.permits(c, healing))


def applies_whole(plan: Plan, permission: Permission) -> bool:
    """Return True if nothing of the plan has to wait, and nothing stops it."""
    return not plan.verdict.stops and forbidden(plan, permission) == ()


def forbidden(plan: Plan, permission: Permission) -> tuple[Change, ...]:
    """Return the changes of the plan that may not be applied; none of a plan that may be."""
    healing = healed_by(plan)
    found = tuple(change for change in plan.changes if not permission.permits(change, healing))
    if found or not plan.access_losses:
        return found
    # Rights may be lost by several changes together, none of which would lose them alone.
    level = RISK_LEVELS.index(RiskLevel.ACCESS_LOSS)
    return () if level >= RISK_LEVELS.index(permission.max_risk) else plan.changes


def permitted_part(
    plan: Plan, permission: Permission, plan_part: Callable[[frozenset[str]], Plan]
) -> Plan | None:
    """Return what may be applied of ``plan``: all of it, a part, or None for nothing.

    ``plan_part`` plans just these addresses, as a plan with targets, which removes nothing that is
    no longer declared. What it may not do after all, such as a change that follows from others, is
    left out with its causes and with all that comes after these in ``plan``, until nothing is
    forbidden or nothing is left.
    """
    if not permission.applies or not plan.changes:
        return None
    if applies_whole(plan, permission):
        return plan
    needs = _needs(plan)
    addresses = permitted_addresses(plan, permission)
    while addresses := _with_their_needs(addresses, needs):
        part = plan_part(addresses)
        applied = {change.address for change in part.changes}
        early = applied - _with_their_needs(applied, needs)
        if applies_whole(part, permission) and not early:
            return part if part.changes else None
        left_out = [change for change in part.changes if change.address in early]
        addresses = without(addresses, (*forbidden(part, permission), *left_out))
    return None


def without(addresses: frozenset[str], changes: Iterable[Change]) -> frozenset[str]:
    """Return fewer addresses to plan: without these changes of the plan made for them."""
    causes = {cause for change in changes for cause in (change.address, *change.derived_from)}
    fewer = addresses - causes
    return frozenset() if fewer == addresses else fewer


def _needs(plan: Plan) -> dict[str, set[str]]:
    """The other changes of the plan that each change comes after or follows from, by address."""
    address_of = {planned.id: c.address for c in plan.changes for planned in c.requests}
    changed = {change.address for change in plan.changes}
    return {
        change.address: {
            *(address_of[name] for planned in change.requests for name in planned.depends_on),
            *changed.intersection(change.derived_from),
        }
        - {change.address}
        for change in plan.changes
    }


def _with_their_needs(
    permitted: Iterable[str], needs: Mapping[str, Iterable[str]]
) -> frozenset[str]:
    """The permitted addresses that need no other than permitted ones, directly or by another."""
    left = set(permitted)
    while True:
        waiting = {address for address in left if not left.issuperset(needs.get(address, ()))}
        if not waiting:
            return frozenset(left)
        left -= waiting
