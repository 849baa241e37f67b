"""What a plan says of a Kafka without virtual clusters: physical lines, the report, refusals."""

from builders import a_binding, plan_of
from msgspec.structs import replace
from plan.plan_json import plan_from_json
from plan.worked_scenario import (
    ANALYTICS,
    APP,
    SALES,
    STREAM,
    a_local_topic,
    a_virtual_cluster,
    an_acl_in,
    before,
    commit_1,
    of_analytics,
    of_sales,
    wanted,
)

from kgitops.model.cluster_state import VirtualClusterSupport
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan
from kgitops.plan.lowering import with_lowering

LOWERED = VirtualClusterSupport.LOWERED


def lowered(plan: Plan) -> Plan:
    return with_lowering(plan, before(), LOWERED)


def lines(plan: Plan) -> dict[str, list[str]]:
    return {
        change.address: [line for planned in change.requests for line in planned.physical]
        for change in plan.changes
    }


def test_each_request_lists_what_is_done_for_it() -> None:
    """VC-411: the logical plan is the same, with a nested list of physical operations."""
    plan = plan_of(commit_1(), before())
    found = lowered(plan)
    assert not found.findings
    assert [change.address for change in found.changes] == [c.address for c in plan.changes]
    said = lines(found)
    assert said["vc/emea.sales/topic/Orders"] == ["create topic/<uuid:new>.Orders"]
    assert said["vc/emea.sales/link/SalesStream"] == []
    everything = [line for each in said.values() for line in each]
    # §24.5: nine ACLs stand for twelve.
    acls = [line for line in set(everything) if line.startswith("create acl/")]
    assert len(acls) == 9
    assert f"create acl/{APP}/Allow/Write/topic/literal/{STREAM}@*" in acls
    codes = {line.code for line in found.lowering}
    assert {"L-NATIVE", "L-TRANSPARENCY", "L-GROUP", "L-TXN", "L-ACL-CLUSTER"} <= codes


def test_topics_of_one_name_stay_two_while_they_have_no_uuid() -> None:
    """VC-056: a name in two virtual clusters is two physical topics."""
    twice = [a_local_topic("Orders", at=name) for name in (SALES, ANALYTICS)]
    both = [a_virtual_cluster(name) for name in (SALES, ANALYTICS)]
    found = lines(lowered(plan_of(wanted(*both, *twice), before())))
    for topic in twice:
        assert found[topic.address] == ["create topic/<uuid:new>.Orders"]


def test_what_can_not_be_lowered_is_a_finding_where_it_is_declared() -> None:
    """VC-173: and nothing that waits for it is blamed."""
    token = an_acl_in(SALES, APP, "Describe", "t", resource="delegationToken")
    plan = plan_of(wanted(*of_sales(), *of_analytics(), token), before())
    assert not plan.findings
    (finding,) = lowered(plan).findings
    assert finding.source == token.located.source
    assert "L-ACL-TOKEN" in finding.problem
    assert finding.advice == "create a global one"


def test_without_virtual_clusters_nothing_is_added() -> None:
    """VC-004: byte for byte the plan that it was."""
    plan = plan_of(wanted(an_acl_in("kafka-cluster", APP, "Read", STREAM)), before())
    assert plan.changes
    assert lowered(plan) == plan
    assert with_lowering(plan, before(), VirtualClusterSupport.NATIVE) == plan


def test_brokers_that_know_virtual_clusters_say_only_what_they_are() -> None:
    """VC-392."""
    plan = with_lowering(plan_of(commit_1(), before()), before(), VirtualClusterSupport.NATIVE)
    assert [line.code for line in plan.lowering] == ["L-DATAPLANE"]
    assert all(not planned.physical for planned in plan.requests)


def test_the_report_and_the_lines_are_read_back() -> None:
    plan = lowered(plan_of(commit_1(), before()))
    document = plan_to_json(plan)
    assert plan_from_json(document) == plan
    assert document["lowering"][0].keys() == {
        "code", "grade", "virtual_cluster", "subject", "reason", "remedy",
    }  # fmt: skip
    physical = [
        r["physical"] for c in document["changes"] for r in c["requests"] if "physical" in r
    ]
    assert all(physical)


def test_a_plan_that_is_refused_anyway_is_not_lowered() -> None:
    """Its requests would fail for reasons that are told already."""
    unknown = an_acl_in("nowhere", APP, "Read", "x")
    plan = plan_of(wanted(*of_sales(), unknown), before())
    found = lowered(plan)
    assert found.findings == plan.findings
    assert not any(planned.physical for planned in found.requests)


def test_a_user_of_the_brokers_can_not_be_bound() -> None:
    """VC-092: super users are told by the brokers' settings."""
    state = replace(before(), settings={"super.users": f"User:kafka;{APP}"})
    plan = with_lowering(plan_of(wanted(*of_sales()), state), state, LOWERED)
    assert any(APP in finding.problem for finding in plan.findings)


def test_global_rights_have_no_lines() -> None:
    acl = a_binding("User:x")
    plan = lowered(
        plan_of(wanted(*of_sales(), an_acl_in("kafka-cluster", "User:x", "Read", "t")), before())
    )
    assert lines(plan)[f"acl/{acl.principal}/Allow/Read/topic/literal/t@*"] == []
