"""The part of a plan that a loop may apply if only several changes together are too much."""

import pytest
from builders import a_cluster, a_desired, a_topic, plan_of
from msgspec.structs import replace

from kgitops.plan.document.plan import AccessLoss, Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.reconcile.turns.permission import (
    Permission,
    applies_whole,
    forbidden,
    permitted_part,
    without_forbidden,
)

BOTH = frozenset({"topic/orders", "topic/payments"})
LOSS = AccessLoss(principal="User:billing", operation="Read", resource="topic orders (literal)")


def losing_together() -> Plan:
    """Return a plan of two changes at level safe that together revoke a right.

    The planner gives changes that revoke rights their own risk; the loop does not rely on it.
    """
    plan = plan_of(a_desired(a_topic("orders"), a_topic("payments")), a_cluster())
    assert {(change.address, change.level) for change in plan.changes} == {
        (address, RiskLevel.SAFE) for address in BOTH
    }
    return replace(plan, access_losses=(LOSS,))


@pytest.mark.parametrize(
    ("level", "applies"),
    [
        (RiskLevel.SAFE, False),
        (RiskLevel.DISRUPTIVE, False),
        (RiskLevel.ACCESS_LOSS, True),
        (RiskLevel.DATA_LOSS, True),
    ],
)
def test_access_lost_by_several_changes_needs_permission_for_access_loss(
    level: RiskLevel, *, applies: bool
) -> None:
    plan = losing_together()
    permission = Permission(applies=True, max_risk=level)
    assert forbidden(plan, permission) == (() if applies else plan.changes)
    assert applies_whole(plan, permission) is applies
    parts: list[frozenset[str]] = []

    def plan_part(addresses: frozenset[str]) -> Plan:
        assert not parts, "the loop planned a part again without any change less"
        parts.append(addresses)
        return plan

    assert permitted_part(plan, permission, plan_part) == (plan if applies else None)
    assert parts == ([] if applies else [BOTH])


def test_a_part_that_excludes_no_forbidden_change_is_given_up() -> None:
    """Otherwise the loop would plan the same part again and again."""
    permission = Permission(applies=True)
    plan = losing_together()
    assert without_forbidden(frozenset({"topic/x"}), plan, permission) == frozenset()
    assert without_forbidden(BOTH | {"topic/x"}, plan, permission) == {"topic/x"}
