"""The worked scenario of KIP-1134's rules (section 24): four commits, each plan exact."""

from builders import plan_of
from laws.cluster_model import Model
from plan.worked_scenario import (
    ANALYTICS,
    APP,
    G1,
    G2,
    G3,
    SALES,
    STREAM,
    a_local_topic,
    before,
    commit_1,
    of_analytics,
    of_sales,
    wanted,
)

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.requests import CopyGroupOffsetsRequest
from kgitops.model.resources.addresses import acl_address
from kgitops.plan.document.plan import Plan

DELETE, ORPHAN = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN


def rows(plan: Plan) -> list[tuple[str, str]]:
    """The changes as one reads them: what happens, and to what."""
    return [("+".join(change.actions), change.address) for change in plan.changes]


def after(desired: DesiredState, state: ClusterState) -> ClusterState:
    return Model(state).apply(plan_of(desired, state)).state


def after_commits(*commits: DesiredState) -> ClusterState:
    state = before()
    for number, desired in enumerate(commits):
        # Topics that are made get ids, and uuids, of their own.
        state = Model(state, minted=10 * number).apply(plan_of(desired, state)).state
    return state


CREATE = "create"
PLAN_1 = [
    (CREATE, "vc/analytics"),
    (CREATE, "vc/emea.sales"),
    (CREATE, "vc/analytics/topic/Reports"),
    (CREATE, "vc/emea.sales/topic/Orders"),
    (CREATE, "vc/analytics/link/sales.orders"),
    (CREATE, "vc/emea.sales/link/SalesStream"),
    (CREATE, "vc/emea.sales/link/emea.eu.sales.SalesStream"),
    (CREATE, "vc/emea.sales/group/sales-etl"),
    (CREATE, "vc/analytics/acl/User:ana-reader/Allow/Read/group/prefixed/rpt-@*"),
    (CREATE, "vc/analytics/acl/User:ana-reader/Allow/Write/topic/literal/Reports@*"),
    (CREATE, "vc/analytics/acl/User:ana-reader/Allow/Read/topic/literal/sales.orders@*"),
    (CREATE, "acl/User:sales-admin/Allow/AlterVirtualCluster/cluster/literal/emea.sales@*"),
    (CREATE, "vc/emea.sales/acl/User:sales-app/Allow/Read/group/literal/sales-etl@*"),
    (CREATE, "vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/Orders@*"),
    (CREATE, "vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/Orders@*"),
    (CREATE, "vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/SalesStream@*"),
    (CREATE, "vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/SalesStream@*"),
    (CREATE, f"vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/{STREAM}@*"),
    (CREATE, f"vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/{STREAM}@*"),
    (CREATE, "vc/emea.sales/acl/User:sales-app/Allow/Write/transactionalId/prefixed/sales-@*"),
    (CREATE, "quota/virtual-cluster=<default>"),
    (CREATE, "quota/virtual-cluster=emea.sales"),
    (CREATE, "vc/analytics/quota/user=<default>"),
    (CREATE, "vc/emea.sales/quota/user=sales-app"),
    (CREATE, "vc/analytics/user/User:ana-reader"),
    (CREATE, "vc/emea.sales/user/User:sales-app"),
]


def test_the_first_plan_has_26_changes_in_this_order() -> None:
    """VC-195, VC-346, VC-400: §24.3, phases U10 … U70, then by virtual cluster, kind and key."""
    plan = plan_of(commit_1(), before())
    assert not plan.verdict.stops, plan.verdict.reasons
    assert rows(plan) == PLAN_1
    assert len(plan.changes) == 26


def test_copying_offsets_is_a_part_of_adding_the_group() -> None:
    """VC-114: nested in #8, once the group is there."""
    (group,) = (c for c in plan_of(commit_1(), before()).changes if c.kind == "ConsumerGroup")
    add, copy = group.requests
    assert isinstance(copy.request, CopyGroupOffsetsRequest)
    assert copy.request.source == "sales-etl"
    assert add.id in copy.depends_on


def test_copies_name_the_member_that_they_are_for_and_remember_their_origin() -> None:
    """VC-190, VC-194, VC-407: #13 and #16 … #19 are copied, and nothing else is."""
    member = "vc/emea.sales/user/User:sales-app"
    copies = [change for change in plan_of(commit_1(), before()).changes if change.derived_from]
    assert [change.address for change in copies] == [
        address for _, address in [PLAN_1[12], *PLAN_1[15:19]]
    ]
    for change in copies:
        assert change.derived_from == (member,)
        assert change.owner_after is not None
        origin = change.owner_after.last_applied["origin"]
        assert origin == {"copiedFrom": "kafka-cluster", "member": member}


def test_nothing_is_left_to_do_after_the_first_plan() -> None:
    """VC-197, VC-406: the copies stay desired, so the second plan is empty, without drift."""
    again = plan_of(commit_1(), after(commit_1(), before()))
    assert again.changes == ()
    assert again.drift == ()
    assert not again.findings


COMMIT_2 = wanted(*of_analytics(), *of_sales(remove="kafka-cluster"))
COMMIT_3 = wanted(*of_analytics(), *of_sales(remove="kafka-cluster", prefixed=False))


def test_old_acls_go_in_a_later_commit() -> None:
    """VC-191: §24.6, three changes, though nobody manages these ACLs."""
    plan = plan_of(COMMIT_2, after(commit_1(), before()))
    assert not plan.verdict.stops, plan.verdict.reasons
    assert rows(plan) == [("delete", acl_address(acl)) for acl in (G3, G1, G2)]
    assert not [finding for finding in plan.warnings if "no name" in finding.problem]
    assert plan.access_losses == ()


def test_copies_outlive_what_they_were_copied_from() -> None:
    """VC-197: the plan after the sources are gone is empty."""
    assert plan_of(COMMIT_2, after_commits(commit_1(), COMMIT_2)).changes == ()


def test_a_link_goes_with_the_rights_that_were_copied_for_it() -> None:
    """VC-197, VC-034: §24.7, two ACLs and then the link."""
    plan = plan_of(COMMIT_3, after_commits(commit_1(), COMMIT_2))
    assert not plan.verdict.stops, plan.verdict.reasons
    assert rows(plan) == [
        ("delete", f"vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/{STREAM}@*"),
        ("delete", f"vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/{STREAM}@*"),
        ("delete", f"vc/emea.sales/link/{STREAM}"),
    ]


PLAN_4 = [
    ("delete", "vc/analytics/user/User:ana-reader"),
    ("delete", "vc/analytics/acl/User:ana-reader/Allow/Read/group/prefixed/rpt-@*"),
    ("delete", "vc/analytics/acl/User:ana-reader/Allow/Write/topic/literal/Reports@*"),
    ("delete", "vc/analytics/acl/User:ana-reader/Allow/Read/topic/literal/sales.orders@*"),
    ("delete", "vc/analytics/quota/user=<default>"),
    ("delete", "vc/analytics/link/Reports"),
    ("delete", "vc/analytics/link/sales.orders"),
    ("delete", "vc/analytics/topic/Reports"),
    ("delete", "vc/analytics"),
]


def test_a_tenant_goes_in_nine_changes() -> None:
    """VC-382, VC-403: §24.8, phases D110 … D170; the shared topic stays."""
    state = after_commits(wanted(*of_analytics(DELETE), *of_sales()))
    plan = plan_of(wanted(*of_sales()), state)
    assert not plan.verdict.stops, plan.verdict.reasons
    assert rows(plan) == PLAN_4
    gone = Model(state).apply(plan).state
    assert sorted(gone.virtual_clusters) == [SALES]
    assert any(name.endswith(".Orders") for name in gone.topics)
    assert not any(name.endswith(".Reports") for name in gone.topics)
    assert plan_of(wanted(*of_sales()), gone).changes == ()


def test_an_orphan_of_a_tenant_keeps_its_records() -> None:
    """VC-032: with Orphan the topic is unlinked and forgotten, in the place of #6 and #8."""
    tenant = [item for item in of_analytics(DELETE) if item.address != "vc/analytics/topic/Reports"]
    orphan = a_local_topic("Reports", at=ANALYTICS, deletion_policy=ORPHAN)
    state = after_commits(wanted(*tenant, orphan, *of_sales()))
    plan = plan_of(wanted(*of_sales()), state)
    assert not plan.verdict.stops, plan.verdict.reasons
    expected = [row for row in PLAN_4 if "Reports" not in row[1] or "/acl/" in row[1]]
    expected.insert(-1, ("forget", "vc/analytics/topic/Reports"))
    assert rows(plan) == expected
    assert any(name.endswith(".Reports") for name in Model(state).apply(plan).state.topics)


def test_the_tenant_that_stays_is_not_touched() -> None:
    """VC-402: nothing that happens in analytics waits for emea.sales, or the reverse."""
    state = after_commits(wanted(*of_analytics(DELETE), *of_sales()))
    plan = plan_of(wanted(*of_sales()), state)
    assert APP not in str(plan.requests)
