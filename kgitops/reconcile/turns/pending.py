"""Pending plans as values: the digest of their changes, and their description."""

from collections import Counter
from pathlib import Path

from msgspec.structs import replace

from kgitops.model import clock as moments
from kgitops.plan.document.file import SealedPlan, plan_digest
from kgitops.plan.document.plan import Base, Change, Plan
from kgitops.reconcile.status import PendingPlan


def changes_digest(plan: Plan) -> str:
    """The digest of a plan's changes and verdict, whatever else is on the cluster.

    Nor does it matter in which lines the objects are declared.
    """
    desired = replace(plan.desired, digest="", git_sha=None, dirty=False)
    return plan_digest(
        replace(
            plan,
            target=replace(plan.target, unpinned=None),
            changes=tuple(map(_without_places, plan.changes)),
            base=Base(digest="", registry=None),
            desired=desired,
            drift=(),
            kept=(),
            warnings=(),
            managed_counts={},
        )
    )


def _without_places(change: Change) -> Change:
    policies = tuple(replace(result, source=None) for result in change.policies)
    return replace(change, source=None, policies=policies)


def pending_plan(sealed: SealedPlan, path: Path | None, since: str) -> PendingPlan:
    """Describe a plan that waits."""
    plan = sealed.plan
    return PendingPlan(
        digest=sealed.plan_digest,
        path=None if path is None else str(path),
        since=since,
        expires=moments.to_text(sealed.expires),
        exit=plan.verdict.exit,
        actions=count_actions(plan),
        levels=count_levels(plan),
        changes=_count_both(plan),
    )


def _count_both(plan: Plan) -> dict[str, dict[str, int]]:
    """Count the changes by their last action, which says the most, and by level."""
    counts: dict[str, dict[str, int]] = {}
    for change in plan.changes:
        levels = counts.setdefault(str(change.actions[-1]), {})
        levels[str(change.level)] = levels.get(str(change.level), 0) + 1
    return counts


def count_actions(plan: Plan) -> dict[str, int]:
    """Count the changes of a plan by their actions."""
    return dict(Counter(str(action) for change in plan.changes for action in change.actions))


def count_levels(plan: Plan) -> dict[str, int]:
    """Count the changes of a plan by the level of their worst risk."""
    return dict(Counter(str(change.level) for change in plan.changes))
