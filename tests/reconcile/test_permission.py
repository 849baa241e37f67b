"""The part of a plan that a loop may apply if only several changes together are too much."""

import pytest
from builders import (
    a_cluster,
    a_desired,
    a_tombstone,
    a_topic,
    an_acl,
    an_owner,
    on_cluster,
    plan_of,
)
from msgspec.structs import replace

from kgitops.plan.document.plan import AccessLoss, Plan
from kgitops.plan.document.risks import RiskLevel, all_risks
from kgitops.reconcile.turns.permission import (
    Permission,
    applies_whole,
    forbidden,
    permitted_part,
    without,
)
from kgitops.reconcile.turns.planning import only_targets

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
    changes = forbidden(losing_together(), permission)
    assert without(frozenset({"topic/x"}), changes) == frozenset()
    assert without(BOTH | {"topic/x"}, changes) == {"topic/x"}


@pytest.mark.parametrize("planned_again", [True, False])
def test_what_comes_after_a_change_that_is_left_out_waits(*, planned_again: bool) -> None:
    """The plan of the part forbids the change, or has no such change any more."""
    topic, acl = a_topic("orders"), an_acl()
    plan = plan_of(a_desired(topic, acl), a_cluster())
    created, granted = plan.changes
    assert granted.requests[0].depends_on == (created.requests[0].id,)
    harm = next(risk for risk in all_risks() if risk.level is RiskLevel.DATA_LOSS)
    asked: list[frozenset[str]] = []

    def plan_part(addresses: frozenset[str]) -> Plan:
        asked.append(addresses)
        changes = [granted] if acl.address in addresses else []
        if planned_again and topic.address in addresses:
            changes.append(replace(created, risks=(harm,)))
        return replace(plan, changes=tuple(changes))

    whole = replace(plan, access_losses=(LOSS,))
    permission = Permission(applies=True)
    assert permitted_part(whole, permission, plan_part) is None
    assert asked[0] == {topic.address, acl.address}


def test_a_topic_is_not_deleted_before_rights_on_it_that_are_no_longer_declared() -> None:
    """The plan of a part removes nothing that is only not declared: those rights would stay."""
    topic, other, right = a_topic("orders"), a_topic("payments"), an_acl()
    current = a_cluster(
        on_cluster(topic),
        right.binding,
        owners={topic.address: an_owner(topic), right.address: an_owner(right)},
    )
    desired = a_desired(other, a_tombstone(topic))
    plan = plan_of(desired, current)
    changes = {change.address: change for change in plan.changes}
    (revoked,), (deleted,) = changes[right.address].requests, changes[topic.address].requests
    assert deleted.depends_on == (revoked.id,)
    permission = Permission(
        applies=True,
        max_risk=RiskLevel.DATA_LOSS,
        removals=True,
        left_alone=frozenset({other.address}),
    )
    part = permitted_part(
        plan, permission, lambda addresses: plan_of(only_targets(desired, addresses), current)
    )
    assert part is None
