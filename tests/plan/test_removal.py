"""What it means that a document is gone, or that a Tombstone stands for it (contract §1)."""

import pytest
from builders import (
    UID,
    Place,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_quota_state,
    a_tombstone,
    a_topic,
    a_topic_state,
    an_acl,
    an_owner,
    applied,
    id_of,
    on_cluster,
    only_change,
    plan_of,
    with_changes,
)
from msgspec.structs import replace

from kgitops.apply.effects import check_preconditions
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject, Tombstone
from kgitops.model.registry import Owner
from kgitops.model.requests import AlterClientQuotaRequest, DeleteAclRequest, DeleteTopicRequest
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Kept, Plan

OTHER = a_topic("keeps-the-project-from-being-empty")
EVERY_KIND = [a_topic(), an_acl(), a_quota()]


def without(*gone: DesiredObject, current: ClusterState | None = None, **scope: object) -> Plan:
    """The plan of a project that still declares OTHER, and no longer what is ``gone``."""
    return plan_of(a_desired(OTHER, **scope), current or applied(OTHER, *gone))


def refusal(plan: Plan) -> str:
    assert plan.verdict.exit is ExitCode.REFUSED
    (reason,) = plan.verdict.reasons
    return reason.sentence


def rule(plan: Plan, item: DesiredObject) -> str:
    (kept,) = [kept for kept in plan.kept if kept.address == item.address]
    return kept.rule


# Absence


@pytest.mark.parametrize(
    ("gone", "request_type"),
    [
        (a_topic(deletion_policy=DeletionPolicy.DELETE), DeleteTopicRequest),
        (an_acl(), DeleteAclRequest),
        (a_quota(), AlterClientQuotaRequest),
    ],
)
def test_an_absent_object_whose_policy_is_delete_is_deleted(
    gone: DesiredObject, request_type: type
) -> None:
    change = only_change(without(gone))
    assert check_preconditions(change.preconditions, applied(OTHER, gone)) == ()
    assert change.actions == (Action.DELETE,)
    assert [type(planned.request) for planned in change.requests] == [request_type]
    assert change.owner_before == an_owner(gone)
    assert change.owner_after is None
    assert change.source is None


@pytest.mark.parametrize("kind", [a_topic, an_acl, a_quota])
def test_an_absent_object_whose_policy_is_orphan_is_forgotten(kind: type) -> None:
    gone = kind(deletion_policy=DeletionPolicy.ORPHAN)
    change = only_change(without(gone))
    assert change.actions == (Action.FORGET,)
    assert change.requests == ()
    assert change.owner_after is None


@pytest.mark.parametrize("kind", [a_topic, an_acl, a_quota])
def test_an_absent_object_that_is_protected_refuses_the_plan(kind: type) -> None:
    gone = kind(deletion_policy=DeletionPolicy.PROTECT)
    plan = without(gone)
    assert not plan.changes
    assert rule(plan, gone) == "protected"
    sentence = refusal(plan)
    assert gone.address in sentence
    assert "Tombstone" in sentence
    assert "deletionPolicy: Delete" in sentence


def test_topics_are_protected_and_acls_and_quotas_are_not_if_nothing_is_written() -> None:
    plan = without(*EVERY_KIND)
    assert [change.address for change in plan.changes] == [
        an_acl().address,
        a_quota().address,
    ]
    assert a_topic().address in refusal(plan)


def test_what_counts_is_the_policy_that_was_last_applied() -> None:
    """The document is gone, so nothing else can be asked."""
    current = applied(OTHER, a_topic(deletion_policy=DeletionPolicy.DELETE))
    assert only_change(without(current=current)).actions == (Action.DELETE,)


@pytest.mark.parametrize("item", EVERY_KIND)
def test_an_adopted_object_is_forgotten_at_its_first_removal(item: DesiredObject) -> None:
    current = a_cluster(
        on_cluster(OTHER),
        on_cluster(item),
        owners={OTHER.address: an_owner(OTHER), item.address: an_owner(item, adopted=True)},
    )
    change = only_change(without(current=current))
    assert change.actions == (Action.FORGET,)
    assert "adopted" in change.because


def test_an_adopted_object_whose_policy_was_written_is_removed_as_it_says() -> None:
    gone = a_topic(deletion_policy=DeletionPolicy.DELETE)
    current = a_cluster(
        on_cluster(OTHER),
        on_cluster(gone),
        owners={OTHER.address: an_owner(OTHER), gone.address: an_owner(gone, adopted=True)},
    )
    assert only_change(without(current=current)).actions == (Action.DELETE,)


@pytest.mark.parametrize("item", EVERY_KIND)
def test_part_of_a_project_removes_nothing(item: DesiredObject) -> None:
    plan = without(item, whole=False)
    assert not plan.changes
    assert rule(plan, item) == "not-loaded"
    assert plan.partial


@pytest.mark.parametrize("item", EVERY_KIND)
def test_a_document_for_other_clusters_only_removes_nothing_here(item: DesiredObject) -> None:
    plan = without(item, other_clusters=[item.address])
    assert not plan.changes
    assert rule(plan, item) == "other-cluster"


@pytest.mark.parametrize(
    "scope",
    [{"excludes": [an_acl().address]}, {"targets": [OTHER.address]}],
    ids=["excluded", "not targeted"],
)
def test_what_is_not_selected_is_not_removed(scope: dict[str, list[str]]) -> None:
    plan = without(an_acl(), **scope)
    assert not plan.changes
    assert rule(plan, an_acl()) == "excluded"


@pytest.mark.parametrize("item", [a_topic(deletion_policy=DeletionPolicy.DELETE), *EVERY_KIND[1:]])
def test_what_is_gone_already_is_only_forgotten(item: DesiredObject) -> None:
    current = with_changes(applied(OTHER, item), gone=[on_cluster(item)])
    change = only_change(without(current=current))
    assert change.actions == (Action.FORGET,)
    assert change.requests == ()
    assert "already gone" in change.because
    assert check_preconditions(change.preconditions, current) == ()
    assert not change.preconditions[0].exists


def test_a_topic_that_was_made_anew_by_others_survives_the_removal() -> None:
    """The id is another one: that topic is nobody's, so kgitops does not delete it."""
    current = with_changes(
        applied(OTHER, a_topic(deletion_policy=DeletionPolicy.DELETE)),
        a_topic_state(topic_id="made-anew"),
    )
    change = only_change(without(current=current))
    assert change.actions == (Action.FORGET,)
    assert change.requests == ()
    assert change.preconditions[0].topic_id == "made-anew"


def test_a_topic_without_an_id_is_never_deleted() -> None:
    """A deletion by name would hit whatever has the name by then."""
    gone = a_topic(deletion_policy=DeletionPolicy.DELETE)
    state = replace(a_topic_state(), topic_id=None)
    owner = replace(an_owner(gone), topic_id=None)
    current = a_cluster(
        on_cluster(OTHER), state, owners={OTHER.address: an_owner(OTHER), gone.address: owner}
    )
    assert only_change(without(current=current)).requests == ()


def test_a_topic_is_deleted_by_the_id_that_the_plan_saw() -> None:
    change = only_change(without(a_topic(deletion_policy=DeletionPolicy.DELETE)))
    (planned,) = change.requests
    assert planned.request == DeleteTopicRequest(topic="orders", topic_id=id_of("orders"))
    assert planned.expects.topic_id == id_of("orders")
    assert planned.expects.owner == UID


def test_a_topic_that_is_being_deleted_stops_the_plan() -> None:
    current = with_changes(
        applied(OTHER, a_topic(deletion_policy=DeletionPolicy.DELETE)),
        a_topic_state(marked_for_deletion=True),
    )
    plan = without(current=current)
    assert not plan.changes
    assert plan.verdict.exit is ExitCode.ERROR


def test_a_removed_quota_takes_only_the_keys_that_were_applied() -> None:
    gone = a_quota(producer_byte_rate=10)
    current = with_changes(
        applied(OTHER, gone), a_quota_state(producer_byte_rate=10, request_percentage=50)
    )
    change = only_change(without(current=current))
    (planned,) = change.requests
    assert planned.request.quotas == {"producer_byte_rate": None}
    assert change.after["quotas"] == {"request_percentage": "50"}


# Tombstones


def buried(tombstone: Tombstone, current: ClusterState, **scope: object) -> Plan:
    return plan_of(a_desired(OTHER, tombstone, **scope), current)


@pytest.mark.parametrize("item", EVERY_KIND)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "part"])
def test_a_tombstone_deletes_even_what_is_protected_also_from_a_part(
    item: DesiredObject, whole: bool
) -> None:
    plan = buried(a_tombstone(item), applied(OTHER, item), whole=whole)
    change = only_change(plan)
    assert change.actions == (Action.DELETE,)
    assert change.source == Place("drop.yaml").source
    assert "no longer needed" in change.because


def test_a_tombstone_deletes_a_document_that_is_for_other_clusters() -> None:
    plan = buried(
        a_tombstone(a_topic()), applied(OTHER, a_topic()), other_clusters=[a_topic().address]
    )
    assert only_change(plan).actions == (Action.DELETE,)


def test_an_executed_tombstone_leaves_its_mark_with_the_topic_id() -> None:
    change = only_change(buried(a_tombstone(a_topic()), applied(OTHER, a_topic())))
    assert change.owner_after is not None
    assert change.owner_after.spent
    assert change.owner_after.topic_id == id_of("orders")


@pytest.mark.parametrize("there", [True, False], ids=["made anew", "absent"])
def test_a_spent_tombstone_warns_and_never_acts_again(there: bool) -> None:
    """A topic that was made anew under the name survives."""
    anew = [a_topic_state(topic_id="made-anew")] if there else []
    current = a_cluster(
        on_cluster(OTHER),
        *anew,
        owners={
            OTHER.address: an_owner(OTHER),
            a_topic().address: an_owner(a_topic(), spent=True),
        },
    )
    plan = buried(a_tombstone(a_topic()), current)
    assert not plan.changes
    assert plan.verdict.exit is ExitCode.SUCCESS
    (warning,) = plan.warnings
    assert "already executed" in warning.problem


def executed_then_declared_again(tombstone: Tombstone) -> ClusterState:
    """The Tombstone was executed, and then the project declared and applied the topic once more."""
    deletion = only_change(buried(tombstone, applied(OTHER, a_topic())))
    assert deletion.owner_after is not None
    spent = a_cluster(
        on_cluster(OTHER),
        owners={OTHER.address: an_owner(OTHER), a_topic().address: deletion.owner_after},
    )
    creation = only_change(plan_of(a_desired(OTHER, a_topic()), spent))
    assert creation.actions == (Action.CREATE,)
    assert creation.owner_after is not None
    owner = replace(creation.owner_after, topic_id="second")
    return a_cluster(
        on_cluster(OTHER),
        a_topic_state(topic_id="second"),
        owners={OTHER.address: an_owner(OTHER), a_topic().address: owner},
    )


def test_an_old_tombstone_stays_spent_after_the_object_went_without_it() -> None:
    """Declared since with Delete, its document removed: the deletion is by absence."""
    quota, tombstone = a_quota(), a_tombstone(a_quota())
    first = only_change(buried(tombstone, applied(OTHER, quota)))
    gone = {OTHER.address: an_owner(OTHER), quota.address: owner_after(first)}
    again = only_change(plan_of(a_desired(OTHER, quota), a_cluster(on_cluster(OTHER), owners=gone)))
    there = {**gone, quota.address: owner_after(again)}
    current = a_cluster(on_cluster(OTHER), on_cluster(quota), owners=there)
    second = only_change(buried(tombstone, current))
    assert second.actions == (Action.DELETE,)
    gone = {**gone, quota.address: owner_after(second)}
    plan = buried(tombstone, a_cluster(on_cluster(OTHER), owners=gone))
    assert (plan.changes, plan.verdict.exit) == ((), ExitCode.SUCCESS)
    assert "already executed" in plan.warnings[0].problem


def owner_after(change: Change) -> Owner:
    assert change.owner_after is not None
    return change.owner_after


def test_an_old_tombstone_does_not_delete_the_topic_that_was_declared_since() -> None:
    """A pipeline of an old commit runs once more: as if there were no Tombstone."""
    current = executed_then_declared_again(a_tombstone(a_topic()))
    plan = buried(a_tombstone(a_topic()), current)
    assert not plan.changes
    assert "protected" in refusal(plan)
    assert "already executed" in plan.warnings[0].problem


@pytest.mark.parametrize(
    "fresh",
    [a_tombstone(a_topic(), name="drop-2"), a_tombstone(a_topic(), topic_id="second")],
    ids=["another name", "names the new id"],
)
def test_a_topic_declared_since_needs_a_tombstone_of_its_own(fresh: Tombstone) -> None:
    current = executed_then_declared_again(a_tombstone(a_topic()))
    assert only_change(buried(fresh, current)).actions == (Action.DELETE,)


def test_what_is_remembered_of_a_tombstone_is_no_change() -> None:
    current = executed_then_declared_again(a_tombstone(a_topic()))
    assert not plan_of(a_desired(OTHER, a_topic()), current).changes


def test_a_tombstone_for_what_nobody_manages_is_an_error() -> None:
    plan = buried(a_tombstone(a_topic()), with_changes(applied(OTHER), a_topic_state()))
    assert not plan.changes
    assert plan.verdict.exit is ExitCode.ERROR
    assert "nobody manages" in plan.findings[0].problem


@pytest.mark.parametrize("scope", [{}, {"take_from": ["theirs"]}], ids=["foreign", "takeable"])
def test_a_tombstone_for_another_projects_object_is_refused(scope: dict[str, object]) -> None:
    current = a_cluster(
        on_cluster(OTHER),
        a_topic_state(),
        owners={
            OTHER.address: an_owner(OTHER),
            a_topic().address: an_owner(a_topic(), project="theirs"),
        },
        projects={UID: "payments", "theirs": "theirs"},
    )
    plan = buried(a_tombstone(a_topic()), current, **scope)
    assert not plan.changes
    assert "'theirs'" in refusal(plan)


def test_a_tombstone_for_another_topic_id_is_an_error() -> None:
    plan = buried(a_tombstone(a_topic(), topic_id="another"), applied(OTHER, a_topic()))
    assert not plan.changes
    (finding,) = plan.findings
    assert finding.source == Place("drop.yaml").at("spec", "topicId")
    assert id_of("orders") in finding.problem


def test_a_tombstone_for_this_topic_id_acts() -> None:
    tombstone = a_tombstone(a_topic(), topic_id=id_of("orders"))
    assert only_change(buried(tombstone, applied(OTHER, a_topic()))).risk is risks.TOPIC_DELETE


def test_a_tombstone_spares_a_topic_that_others_made_anew() -> None:
    current = with_changes(applied(OTHER, a_topic()), a_topic_state(topic_id="made-anew"))
    change = only_change(buried(a_tombstone(a_topic()), current))
    assert change.actions == (Action.FORGET,)
    assert change.requests == ()
    assert change.owner_after is not None
    assert change.owner_after.spent


@pytest.mark.parametrize("item", EVERY_KIND)
def test_a_tombstone_beside_a_document_is_an_error_and_deletes_nothing(item: DesiredObject) -> None:
    plan = plan_of(a_desired(OTHER, item, a_tombstone(item)), applied(OTHER, item))
    assert not plan.changes
    assert plan.verdict.exit is ExitCode.ERROR
    assert item.address in plan.findings[0].problem


def test_two_tombstones_for_one_object_are_an_error() -> None:
    desired = a_desired(OTHER, a_tombstone(a_topic()), a_tombstone(a_topic(), name="drop-too"))
    plan = plan_of(desired, applied(OTHER, a_topic()))
    assert plan.verdict.exit is ExitCode.ERROR
    assert "drop-too" in plan.findings[0].problem
    assert len(plan.changes) == 1


def test_an_excluded_tombstone_does_nothing() -> None:
    plan = buried(a_tombstone(a_topic()), applied(OTHER, a_topic()), excludes=["topic/orders"])
    assert not plan.changes
    assert Kept(address="topic/orders", rule="excluded") in plan.kept


def test_the_reason_of_a_removed_deny_is_that_a_protection_goes() -> None:
    change = only_change(without(an_acl(a_binding(permission="Deny"))))
    assert change.risks == (risks.ACL_DENY_LIFTED,)
