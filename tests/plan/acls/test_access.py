"""What principals can no longer do after a plan, by Kafka's authorization rules."""

import pytest
from builders import ALL_CAPABILITIES, a_binding, a_desired, a_quota, an_acl, applied, plan_of
from msgspec.structs import replace

from kgitops.model.cluster_state import Capabilities
from kgitops.model.resources.acls import AclBinding
from kgitops.plan.document.plan import Plan

OTHER = a_quota()


def plan(before: list[AclBinding], after: list[AclBinding], principal: str = "User:ops") -> Plan:
    """The plan from one set of bindings to the other."""
    return plan_of(
        a_desired(OTHER, *map(an_acl, after), principal=principal),
        applied(OTHER, *map(an_acl, before)),
    )


def lost(before: list[AclBinding], after: list[AclBinding]) -> set[str]:
    return {
        f"{loss.principal} {loss.operation} {loss.resource}"
        for loss in plan(before, after).access_losses
    }


READ = a_binding()
READ_LOST = {
    "User:billing Read topic orders (literal)",
    "User:billing Describe topic orders (literal)",
}


def test_removing_an_allow_takes_its_operation_and_what_it_implies() -> None:
    assert lost([READ], []) == READ_LOST


def test_an_allow_of_everything_takes_every_operation_of_the_resource_type() -> None:
    taken = lost([a_binding(operation="All", resource="group", name="g")], [])
    assert {entry.split()[1] for entry in taken} == {
        "Read",
        "Describe",
        "Delete",
        "DescribeConfigs",
        "AlterConfigs",
    }


@pytest.mark.parametrize(
    "other",
    [
        a_binding(operation="All"),
        a_binding(name="*"),
        a_binding(name="ord", pattern="prefixed"),
        a_binding(name="orders", pattern="prefixed"),
        a_binding(principal="User:*"),
    ],
)
@pytest.mark.parametrize("made", [True, False], ids=["made by the plan", "there before"])
def test_what_another_allow_covers_is_not_lost(other: AclBinding, made: bool) -> None:
    assert not lost([READ] if made else [READ, other], [other])


@pytest.mark.parametrize(
    "other",
    [
        a_binding(host="10.0.0.1"),
        a_binding(name="order"),
        a_binding(name="orders2", pattern="prefixed"),
        a_binding(principal="User:audit"),
        a_binding(resource="group"),
    ],
)
def test_what_another_allow_does_not_cover_whole_is_lost(other: AclBinding) -> None:
    assert lost([READ, other], [other]) == READ_LOST


def test_an_operation_that_another_allow_implies_is_not_lost() -> None:
    assert lost([READ, a_binding(operation="Write")], [a_binding(operation="Write")]) == {
        "User:billing Read topic orders (literal)"
    }


def test_an_allow_that_a_deny_overruled_is_no_loss() -> None:
    deny = a_binding(operation="All", permission="Deny")
    assert not lost([READ, deny], [deny])


@pytest.mark.parametrize(
    ("allow", "deny", "expected"),
    [
        (READ, a_binding(permission="Deny"), "User:billing Read topic orders (literal)"),
        (
            READ,
            a_binding(permission="Deny", name="ord", pattern="prefixed"),
            "User:billing Read topic orders (literal)",
        ),
        (
            a_binding(name="ord", pattern="prefixed"),
            a_binding(permission="Deny"),
            "User:billing Read topic orders (literal)",
        ),
        (
            a_binding(name="*"),
            a_binding(permission="Deny", name="ord", pattern="prefixed"),
            "User:billing Read topic ord (prefixed)",
        ),
        (
            a_binding(name="o", pattern="prefixed"),
            a_binding(permission="Deny", name="ord", pattern="prefixed"),
            "User:billing Read topic ord (prefixed)",
        ),
        (
            READ,
            a_binding(permission="Deny", name="*"),
            "User:billing Read topic orders (literal)",
        ),
        (
            a_binding(name="*"),
            a_binding(permission="Deny", name="*"),
            "User:billing Read topic * (literal)",
        ),
        (
            READ,
            a_binding(permission="Deny", host="10.0.0.1"),
            "User:billing Read topic orders (literal) from 10.0.0.1",
        ),
        (
            a_binding(host="10.0.0.1"),
            a_binding(permission="Deny"),
            "User:billing Read topic orders (literal) from 10.0.0.1",
        ),
        (
            READ,
            a_binding(permission="Deny", principal="User:*"),
            "User:billing Read topic orders (literal)",
        ),
        (
            a_binding(principal="User:*"),
            a_binding(permission="Deny", principal="User:x"),
            "User:x Read topic orders (literal)",
        ),
    ],
)
def test_a_new_deny_takes_what_it_shares_with_an_allow(
    allow: AclBinding, deny: AclBinding, expected: str
) -> None:
    """The narrower pattern, host and principal of the two; Describe stays, it was not denied."""
    assert lost([allow], [allow, deny]) == {expected}


@pytest.mark.parametrize(
    "deny",
    [
        a_binding(permission="Deny", name="pay"),
        a_binding(permission="Deny", name="orders2", pattern="prefixed"),
        a_binding(permission="Deny", principal="User:audit"),
        a_binding(permission="Deny", operation="Write"),
        a_binding(permission="Deny", resource="group"),
    ],
)
def test_a_new_deny_that_meets_no_allow_takes_nothing(deny: AclBinding) -> None:
    assert not lost([READ], [READ, deny])


def test_hosts_that_differ_do_not_meet() -> None:
    allow = a_binding(host="10.0.0.1")
    assert not lost([allow], [allow, a_binding(permission="Deny", host="10.0.0.2")])


def test_a_deny_of_everything_takes_every_operation_that_was_allowed() -> None:
    assert lost([READ], [READ, a_binding(permission="Deny", operation="All")]) == READ_LOST


def test_the_requester_is_warned_before_it_locks_itself_out() -> None:
    found = plan([READ], [], principal="User:billing")
    assert all(loss.requester for loss in found.access_losses)
    (warning,) = found.warnings
    assert "User:billing, who applies it" in warning.problem
    assert "Read on topic orders" in warning.problem
    assert not found.verdict.stops


def test_the_requester_loses_what_everyone_loses() -> None:
    assert plan([a_binding(principal="User:*")], []).warnings


def test_the_requester_that_keeps_its_own_allow_is_not_warned() -> None:
    own = a_binding(principal="User:ops")
    found = plan([a_binding(principal="User:*"), own], [own])
    assert {loss.principal for loss in found.access_losses} == {"User:*"}
    assert not found.warnings


def test_what_others_lose_is_no_warning_to_the_requester() -> None:
    found = plan([READ], [])
    assert found.access_losses
    assert not found.warnings


def test_forgetting_or_adopting_a_binding_takes_nothing() -> None:
    found = plan_of(a_desired(OTHER), applied(OTHER, an_acl(), adopted=True))
    assert found.changes
    assert not found.access_losses


def rights(before: list[AclBinding], after: list[AclBinding]) -> list[object]:
    """What each change says of the rights that it takes away."""
    return [each.impact.get("rights_lost") for each in plan(before, after).changes]


def test_the_change_that_takes_rights_away_says_which() -> None:
    assert rights([READ], []) == [["Describe", "Read"]]
    assert rights([], [READ]) == [None]
    deny = a_binding(permission="Deny")
    assert rights([READ], [READ, deny]) == [["Read"]]


def test_an_allow_whose_right_others_give_takes_none_away() -> None:
    assert rights([READ, a_binding(operation="All")], [a_binding(operation="All")]) == [[]]


def test_a_deny_says_nothing_of_what_it_takes_from_narrower_rules() -> None:
    """Those rights have lines of their own below the plan's losses."""
    deny = a_binding(name="ord", pattern="prefixed", permission="Deny")
    assert rights([READ], [READ, deny]) == [None]
    assert lost([READ], [READ, deny]) == {"User:billing Read topic orders (literal)"}


RANGES = replace(ALL_CAPABILITIES, host_ranges=True)
NET, INSIDE, OUTSIDE = (a_binding(host=host) for host in ("10.0.0.0/8", "10.1.2.3", "11.0.0.1"))


def a_denial(host: str) -> AclBinding:
    return a_binding(host=host, permission="Deny")


def lost_hosts(before: list[AclBinding], after: list[AclBinding], *, ranges: bool) -> set[str]:
    planned = plan_of(
        a_desired(OTHER, *map(an_acl, after)),
        applied(OTHER, *map(an_acl, before)),
        RANGES if ranges else ALL_CAPABILITIES,
    )
    return {loss.resource.partition("from ")[2] for loss in planned.access_losses}


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ([INSIDE, OUTSIDE], [NET], {"11.0.0.1"}),
        ([a_binding(host="10.2.0.0/16")], [NET], set()),
        ([NET], [a_binding(host="10.2.0.0/16")], {"10.0.0.0/8"}),
        ([INSIDE, OUTSIDE], [INSIDE, OUTSIDE, a_denial("10.0.0.0/8")], {"10.1.2.3"}),
        ([NET], [NET, a_denial("10.1.2.3")], {"10.1.2.3"}),
        ([NET], [NET, a_denial("11.0.0.1")], set()),
        ([a_binding()], [NET], {""}),
        ([a_binding(host="::1")], [a_binding(host="0.0.0.0/0")], {"::1"}),
    ],
)
def test_a_range_covers_addresses_where_brokers_match_ranges(
    before: list[AclBinding], after: list[AclBinding], lost: set[str]
) -> None:
    assert lost_hosts(before, after, ranges=True) == lost


def test_a_range_is_a_text_where_they_do_not() -> None:
    assert lost_hosts([INSIDE], [NET], ranges=False) == {"10.1.2.3"}
    assert not lost_hosts([INSIDE], [INSIDE, a_denial("10.0.0.0/8")], ranges=False)


def test_a_plan_warns_of_ranges_where_brokers_do_not_match_them() -> None:
    def warned(capabilities: Capabilities) -> bool:
        planned = plan_of(a_desired(an_acl(NET)), applied(OTHER), capabilities)
        return any("is a range" in warning.problem for warning in planned.warnings)

    assert warned(ALL_CAPABILITIES)
    assert not warned(RANGES)
