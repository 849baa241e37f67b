"""The order in which changes run: make before break, and no window in between (A4-84, A4-85)."""

import pytest
from builders import (
    a_binding,
    a_desired,
    a_quota,
    a_topic,
    a_topic_state,
    an_acl,
    an_entity,
    applied,
    plan_of,
    with_changes,
)
from msgspec.structs import fields, replace

from kgitops.model.cluster_state import Validator
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.resources.acls import AclBinding
from kgitops.plan.document.plan import Plan
from kgitops.plan.order import order_changes

OTHER = a_quota()
DELETE = DeletionPolicy.DELETE


def plan(before: list[DesiredObject], after: list[DesiredObject]) -> Plan:
    return plan_of(a_desired(OTHER, *after), applied(OTHER, *before))


def waits_for(found: Plan, later: DesiredObject, earlier: DesiredObject) -> bool:
    """Whether the one object's request depends on the other's."""
    ids = {change.address: change.requests for change in found.changes}
    (first,), (second,) = ids[earlier.address], ids[later.address]
    assert list(found.requests).index(first) < list(found.requests).index(second)
    return first.id in second.depends_on


def test_changes_run_from_making_to_breaking() -> None:
    deny, allow = a_binding(permission="Deny", name="x"), a_binding(name="x")
    before = [
        a_topic("old", deletion_policy=DELETE),
        a_topic("same"),
        an_acl(a_binding(name="old")),
        an_acl(a_binding(name="old", permission="Deny")),
        a_quota(an_entity(user="old")),
    ]
    after = [
        a_topic("zz-new"),
        a_topic("same", configs={"retention.ms": "1"}),
        an_acl(allow),
        an_acl(deny),
        a_quota(an_entity(user="new")),
    ]
    assert [change.address for change in plan(before, after).changes] == [
        "topic/zz-new",
        "topic/same",
        "quota/user=new",
        an_acl(deny).address,
        an_acl(allow).address,
        an_acl(a_binding(name="old")).address,
        an_acl(a_binding(name="old", permission="Deny")).address,
        "quota/user=old",
        "topic/old",
    ]


def test_requests_are_numbered_in_the_order_of_the_plan() -> None:
    found = plan([], [a_topic(), an_acl(), a_quota(an_entity(user="x"))])
    assert [planned.id for planned in found.requests] == ["r1", "r2", "r3"]


def test_numbering_leaves_all_else_of_a_request() -> None:
    (change,) = plan([], [a_topic()]).changes
    first = replace(change.requests[0], id="a")
    second = replace(
        first,
        id="b",
        depends_on=("a",),
        undoes="a",
        validated=Validator.BROKER,
        physical=("one line",),
    )
    assert all(getattr(second, each.name) != each.default for each in fields(second)), (
        "a field is new: give it a value here"
    )
    (numbered,) = order_changes([replace(change, requests=(first, second))])
    assert numbered.requests == (
        replace(first, id="r1"),
        replace(second, id="r2", depends_on=("r1",), undoes="r1"),
    )


def test_an_acl_waits_for_the_topic_it_names() -> None:
    assert waits_for(plan([], [a_topic(), an_acl()]), an_acl(), a_topic())


@pytest.mark.parametrize(
    "binding",
    [a_binding(pattern="prefixed"), a_binding(resource="group"), a_binding(name="*")],
)
def test_an_acl_that_names_no_topic_waits_for_none(binding: AclBinding) -> None:
    assert not waits_for(plan([], [a_topic(), an_acl(binding)]), an_acl(binding), a_topic())


def test_a_topic_is_deleted_after_the_acls_that_name_it() -> None:
    gone = a_topic(deletion_policy=DELETE)
    assert waits_for(plan([gone, an_acl()], []), gone, an_acl())


ALLOW = a_binding()
MEETS = [
    ALLOW,
    a_binding(operation="Write"),
    a_binding(name="ord", pattern="prefixed"),
    a_binding(name="*"),
    a_binding(principal="User:*"),
    a_binding(host="10.0.0.1"),
]
MISSES = [
    a_binding(name="pay"),
    a_binding(name="orders2", pattern="prefixed"),
    a_binding(principal="User:audit"),
    a_binding(resource="group"),
]


def denied(binding: AclBinding) -> DesiredObject:
    return an_acl(
        a_binding(
            binding.principal,
            "All",
            binding.resource_name,
            resource=binding.resource_type,
            pattern=binding.pattern_type,
            host=binding.host,
            permission="Deny",
        )
    )


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("other", "waits"), [*((o, True) for o in MEETS), *((o, False) for o in MISSES)]
)
class TestWindows:
    """Where two rules meet, principals and patterns considered, one waits for the other."""

    def pair(self, other: AclBinding, swapped: bool) -> tuple[AclBinding, AclBinding]:
        return (other, ALLOW) if swapped else (ALLOW, other)

    def test_an_allow_is_made_after_the_deny_that_limits_it(
        self, other: AclBinding, waits: bool, swapped: bool
    ) -> None:
        allow, deny = self.pair(other, swapped)
        found = plan([], [an_acl(allow), denied(deny)])
        assert waits_for(found, an_acl(allow), denied(deny)) is waits

    def test_a_deny_is_lifted_after_the_allow_that_it_limits(
        self, other: AclBinding, waits: bool, swapped: bool
    ) -> None:
        allow, deny = self.pair(other, swapped)
        found = plan([an_acl(allow), denied(deny)], [])
        assert waits_for(found, denied(deny), an_acl(allow)) is waits

    def test_an_allow_is_removed_after_the_one_that_replaces_it(
        self, other: AclBinding, waits: bool, swapped: bool
    ) -> None:
        old, new = self.pair(other, swapped)
        if old != new:
            found = plan([an_acl(old)], [an_acl(new)])
            assert waits_for(found, an_acl(old), an_acl(new)) is waits

    def test_a_deny_is_lifted_after_the_one_that_replaces_it(
        self, other: AclBinding, waits: bool, swapped: bool
    ) -> None:
        old, new = self.pair(other, swapped)
        if denied(old) != denied(new):
            found = plan([denied(old)], [denied(new)])
            assert waits_for(found, denied(old), denied(new)) is waits


def test_every_dependency_comes_earlier_in_the_plan() -> None:
    """So no order of waves can wait for itself."""
    before = [an_acl(a_binding(name=name)) for name in ("a", "b", "*")]
    after = [
        a_topic("c"),
        *(an_acl(a_binding(name=name, permission="Deny")) for name in ("a", "c")),
        an_acl(a_binding(name="c")),
    ]
    seen: set[str] = set()
    for planned in plan([*before, a_topic("d", deletion_policy=DELETE)], after).requests:
        assert seen.issuperset(planned.depends_on)
        seen.add(planned.id)


def test_rules_that_are_shown_no_more_are_removed_in_the_same_order() -> None:
    """Of a rule of a virtual cluster whose bindings others deleted, no more than a record is left;
    lifted as if it allowed, a Deny waited for what waited for it."""
    deny = a_binding("User:*", "All", "*", virtual_cluster="emea", permission="Deny")
    allow = a_binding("User:jane", "Read", "orders", virtual_cluster="emea")
    ordered = plan([an_acl(deny), an_acl(allow)], [])
    again = order_changes(replace(change, before=None) for change in ordered.changes)
    seen: set[str] = set()
    for planned in [planned for change in again for planned in change.requests]:
        assert seen.issuperset(planned.depends_on)
        seen.add(planned.id)
    assert [change.address for change in again] == [an_acl(allow).address, an_acl(deny).address]


def test_what_only_the_registry_records_takes_no_number() -> None:
    current = with_changes(applied(OTHER), a_topic_state("there"))
    found = plan_of(a_desired(OTHER, a_topic("there"), a_topic("new")), current)
    assert [planned.id for planned in found.requests] == ["r1"]
