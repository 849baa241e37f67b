"""ACLs as sets of bindings: what is declared against what is there."""

import pytest
from builders import (
    ALL_CAPABILITIES,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_topic,
    a_topic_state,
    an_acl,
    applied,
    only_change,
    plan_of,
)
from msgspec.structs import replace
from plan.worked_scenario import a_virtual_cluster

from kgitops.model.cluster_state import VirtualClusterSupport
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change
from kgitops.plan.document.risks import Risk, RiskLevel

OTHER = a_quota()


def created(binding: AclBinding, *beside: AclBinding, topics: tuple[str, ...] = ()) -> Change:
    current = applied(OTHER, beside=[*beside, *map(a_topic_state, topics)])
    return only_change(plan_of(a_desired(OTHER, an_acl(binding)), current))


def test_a_missing_binding_is_made_and_that_is_all() -> None:
    change = created(a_binding())
    (planned,) = change.requests
    assert planned.request == CreateAclRequest(binding=a_binding())
    assert change.before is None
    assert change.after is not None
    assert change.after["operation"] == "Read"


def test_bindings_that_stay_are_neither_deleted_nor_made() -> None:
    """A4-85: only the difference of the two sets is sent."""
    stays, goes, comes = (a_binding(operation=op) for op in ("Read", "Write", "Describe"))
    plan = plan_of(
        a_desired(OTHER, an_acl(stays), an_acl(comes)), applied(OTHER, an_acl(stays), an_acl(goes))
    )
    assert [planned.request for planned in plan.requests] == [
        CreateAclRequest(binding=comes),
        DeleteAclRequest(binding=goes),
    ]


@pytest.mark.parametrize(
    "other",
    [
        a_binding(principal="User:audit"),
        a_binding(operation="Write"),
        a_binding(host="10.0.0.1"),
        a_binding(permission="Deny"),
        a_binding(pattern="prefixed"),
        a_binding(resource="group"),
        a_binding(name="orders2"),
    ],
)
def test_bindings_that_differ_in_any_part_are_different(other: AclBinding) -> None:
    """A deletion names the one binding and hits no look-alike."""
    plan = plan_of(a_desired(OTHER, an_acl(other)), applied(OTHER, an_acl(), an_acl(other)))
    (planned,) = plan.requests
    assert planned.request == DeleteAclRequest(binding=a_binding())


@pytest.mark.parametrize(
    ("binding", "risk"),
    [
        (a_binding(), risks.ACL_GRANT),
        (a_binding(pattern="prefixed"), risks.ACL_GRANT),
        (a_binding(principal="User:*"), risks.ACL_WIDE_GRANT),
        (a_binding(principal="Group:*"), risks.ACL_GRANT),
        (a_binding(name="*"), risks.ACL_WIDE_GRANT),
        (a_binding(resource="cluster", name="kafka-cluster", operation="All"),
         risks.ACL_WIDE_GRANT),
        (a_binding(operation="All"), risks.ACL_GRANT),
        (a_binding(resource="cluster", name="kafka-cluster", operation="Create"),
         risks.ACL_GRANT),
        (a_binding(permission="Deny"), risks.ACL_DENY),
        (a_binding(permission="Deny", name="*"), risks.ACL_DENY),
    ],
)  # fmt: skip
def test_a_new_binding_is_graded_by_how_far_it_reaches(binding: AclBinding, risk: Risk) -> None:
    assert {risk, risks.ACL_FIRST} >= set(created(binding).risks) >= {risk}


@pytest.mark.parametrize(
    ("permission", "risk", "level"),
    [
        ("Allow", risks.ACL_REVOKE, RiskLevel.ACCESS_LOSS),
        ("Deny", risks.ACL_DENY_LIFTED, RiskLevel.DISRUPTIVE),
    ],
)
def test_a_removed_binding_is_graded_by_what_it_did(
    permission: str, risk: Risk, level: RiskLevel
) -> None:
    current = applied(OTHER, an_acl(a_binding(permission=permission)))
    change = only_change(plan_of(a_desired(OTHER), current))
    assert (change.risk, change.level) == (risk, level)


# The first rule on a resource in use


@pytest.mark.parametrize(
    ("binding", "topics", "there", "first"),
    [
        (a_binding(), ["orders"], [], True),
        (a_binding(), [], [], False),
        (a_binding(), ["orders"], [a_binding(operation="Write")], False),
        (a_binding(), ["orders"], [a_binding(name="*", principal="User:x")], False),
        (a_binding(), ["orders"], [a_binding(name="ord", pattern="prefixed")], False),
        (a_binding(), ["orders"], [a_binding(name="order")], True),
        (a_binding(), ["orders"], [a_binding(resource="group")], True),
        (a_binding(permission="Deny"), ["orders"], [], True),
        (a_binding(name="ord", pattern="prefixed"), ["orders"], [], True),
        (a_binding(name="ord", pattern="prefixed"), ["orders"], [a_binding()], False),
        (a_binding(name="ord", pattern="prefixed"), ["orders", "ordinals"], [a_binding()], True),
        (a_binding(name="ord", pattern="prefixed"), ["pay"], [], False),
        (a_binding(name="*"), ["orders"], [], True),
        (a_binding(name="*"), ["__consumer_offsets"], [], False),
        (a_binding(resource="cluster", name="kafka-cluster", operation="Alter"), [], [], True),
        (
            a_binding(resource="cluster", name="kafka-cluster", operation="Alter"),
            [],
            [a_binding(resource="cluster", name="kafka-cluster", operation="Create")],
            False,
        ),
        (a_binding(resource="group", name="readers"), [], [], False),
    ],
)
def test_the_first_rule_on_something_in_use_has_its_own_code(
    binding: AclBinding, topics: list[str], there: list[AclBinding], first: bool
) -> None:
    """Where no ACL means everyone, it shuts everyone else out."""
    change = created(binding, *there, topics=tuple(topics))
    assert (risks.ACL_FIRST in change.risks) is first


def test_a_rule_on_a_topic_that_the_same_plan_makes_shuts_nobody_out() -> None:
    plan = plan_of(a_desired(a_topic(), an_acl()), a_cluster())
    assert all(risks.ACL_FIRST not in change.risks for change in plan.changes)


@pytest.mark.parametrize(
    ("name", "pattern"), [("emea", "literal"), ("*", "literal"), ("em", "prefixed")]
)
@pytest.mark.parametrize("operation", ["Alter", "All", "Describe"])
def test_rights_on_a_cluster_that_there_is_not_are_no_plan(
    name: str, pattern: str, operation: str
) -> None:
    """VC-100: to Kafka every name but kafka-cluster is wrong, so it must be a virtual cluster's."""
    binding = a_binding("User:a", operation, name, resource="cluster", pattern=pattern)
    plan = plan_of(a_desired(OTHER, an_acl(binding)), applied(OTHER))
    (finding,) = plan.findings
    assert f"/{name}@* is about " in finding.problem
    assert finding.problem.endswith("neither on the cluster nor in this plan")
    assert finding.advice.startswith("write kafka-cluster, ")
    assert str(finding.source) == "acls.yaml#spec.resource.name:1:1"
    assert plan.changes == ()


def test_rights_on_a_virtual_cluster_of_this_plan_are_planned() -> None:
    """VC-140."""
    binding = a_binding("User:a", "Alter", "emea", resource="cluster")
    declared = a_desired(OTHER, a_virtual_cluster("emea"), an_acl(binding))
    plan = plan_of(declared, applied(OTHER))
    assert plan.findings == ()
    assert an_acl(binding).address in [change.address for change in plan.changes]


def test_rights_that_only_virtual_clusters_know_may_come_first() -> None:
    """VC-141: who may make a virtual cluster is told before there is one."""
    binding = a_binding("User:a", "CreateVirtualCluster", "emea", resource="cluster")
    plan = plan_of(a_desired(OTHER, an_acl(binding)), applied(OTHER))
    assert plan.findings == ()


def test_rights_on_a_virtual_cluster_that_went_stay_as_they_are() -> None:
    """A project is not held up because somebody else deleted what it has rights on."""
    acl = an_acl(a_binding("User:a", "Alter", "emea", resource="cluster"))
    plan = plan_of(a_desired(OTHER, acl), applied(OTHER, acl))
    assert (plan.findings, plan.changes) == ((), ())


@pytest.mark.parametrize("operation", ["Alter", "CreateVirtualCluster"])
def test_where_there_are_no_virtual_clusters_such_rights_are_refused(operation: str) -> None:
    """VC-100: before anything is sent, and not by the broker halfway through an apply."""
    acl = an_acl(a_binding("User:a", operation, "emea", resource="cluster"))
    without = replace(ALL_CAPABILITIES, virtual_clusters=VirtualClusterSupport.NONE)
    plan = plan_of(a_desired(OTHER, acl), applied(OTHER), capabilities=without)
    (finding,) = plan.findings
    assert "has no virtual clusters, and the name of its resource cluster is" in finding.problem
    assert plan.changes == ()
