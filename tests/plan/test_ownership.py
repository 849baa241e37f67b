"""Whose objects are whose (contract §1, Owners, Adopting, Fields) and what a plan may touch."""

import pytest
from builders import (
    PROJECT,
    UID,
    Place,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_quota_state,
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

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.resources.names import ALL_INTERNAL
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Kept, Plan

EVERY_KIND = [a_topic(), an_acl(), a_quota()]
every_kind = pytest.mark.parametrize("item", EVERY_KIND, ids=["topic", "acl", "quota"])


def owned_by(project: str, item: DesiredObject, name: str | None = None) -> ClusterState:
    return a_cluster(
        on_cluster(item),
        owners={item.address: an_owner(item, project=project)},
        projects={project: name or project},
    )


def refused(plan: Plan) -> str:
    assert plan.verdict.exit is ExitCode.REFUSED
    assert not plan.requests
    return plan.verdict.reasons[0].sentence


# Creating and adopting


@every_kind
def test_a_declared_object_that_is_not_there_is_created(item: DesiredObject) -> None:
    plan = plan_of(a_desired(item), a_cluster())
    change = only_change(plan)
    assert not plan.drift
    assert change.actions == (Action.CREATE,)
    assert change.because == "it is declared"
    assert change.owner_before is None
    assert change.owner_after is not None
    assert change.owner_after.project == UID
    assert not change.owner_after.adopted
    assert change.preconditions[0].exists is False
    assert change.preconditions[0].owner is None


@every_kind
def test_what_exists_and_nobody_manages_is_adopted_without_a_request(item: DesiredObject) -> None:
    change = only_change(plan_of(a_desired(item), a_cluster(on_cluster(item))))
    assert change.actions == (Action.ADOPT,)
    assert change.requests == ()
    assert change.because == "it exists and no project manages it"
    assert change.owner_after is not None
    assert change.owner_after.adopted
    assert change.preconditions[0].exists
    assert change.preconditions[0].owner is None


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (a_topic(configs={"retention.ms": "1000"}), a_topic_state()),
        (a_quota(producer_byte_rate=2), a_quota_state(producer_byte_rate=1)),
    ],
)
def test_what_is_adopted_and_differs_is_updated_as_well(item: DesiredObject, found: object) -> None:
    change = only_change(plan_of(a_desired(item), a_cluster(found)))
    assert change.actions == (Action.ADOPT, Action.UPDATE)
    assert len(change.requests) == 1


@every_kind
def test_a_managed_object_as_declared_is_no_change(item: DesiredObject) -> None:
    """P201-80: a converged state sends nothing."""
    plan = plan_of(a_desired(item), applied(item))
    assert not plan.changes
    assert not plan.drift
    assert not plan.kept
    assert plan.verdict.exit is ExitCode.SUCCESS


@every_kind
def test_an_adopted_object_stays_adopted_while_its_document_changes(item: DesiredObject) -> None:
    written = type(item).__name__
    current = applied(item, adopted=True)
    changed = {
        "DesiredTopic": a_topic(configs={"retention.ms": "1"}),
        "DesiredAcl": an_acl(deletion_policy=DeletionPolicy.PROTECT),
        "DesiredQuota": a_quota(producer_byte_rate=99),
    }[written]
    change = only_change(plan_of(a_desired(changed), current))
    assert change.owner_after is not None
    assert change.owner_after.adopted


@every_kind
def test_what_was_deleted_outside_is_made_again_and_counts_as_drift(item: DesiredObject) -> None:
    current = with_changes(applied(item, adopted=True), gone=[on_cluster(item)])
    plan = plan_of(a_desired(item), current)
    change = only_change(plan)
    assert change.actions == (Action.CREATE,)
    assert "deleted outside" in change.because
    assert [(row.address, row.rule) for row in plan.drift] == [(item.address, "missing")]
    assert change.owner_after is not None
    assert not change.owner_after.adopted


def test_a_topic_that_was_recreated_outside_is_adopted() -> None:
    """It is another topic: what was applied to the old one says nothing about it."""
    topic = a_topic(configs={"retention.ms": "5"})
    current = with_changes(applied(topic), a_topic_state(topic_id="made-anew"))
    change = only_change(plan_of(a_desired(topic), current))
    assert change.actions == (Action.ADOPT, Action.UPDATE)
    assert "re-created" in change.because
    assert change.owner_after is not None
    assert change.owner_after.topic_id == "made-anew"


@every_kind
@pytest.mark.parametrize("project", [UID, "theirs"])
@pytest.mark.parametrize("there", [True, False], ids=["made anew", "absent"])
def test_what_a_tombstone_deleted_is_nobodys_when_it_is_declared_again(
    item: DesiredObject, project: str, there: bool
) -> None:
    current = a_cluster(
        *([on_cluster(item)] if there else []),
        owners={item.address: an_owner(item, project=project, spent=True)},
        projects={UID: PROJECT, "theirs": "theirs"},
    )
    plan = plan_of(a_desired(item), current)
    change = only_change(plan)
    assert change.actions == ((Action.ADOPT,) if there else (Action.CREATE,))
    assert change.preconditions[0].owner is None
    assert change.owner_before is not None
    assert change.owner_before.spent
    assert not plan.drift
    assert risks.OBJECT_TAKEN not in change.risks


# Registry-only changes


@pytest.mark.parametrize("kind", [a_topic, an_acl, a_quota])
def test_a_registry_write_that_adopts_nothing_carries_no_adoption(kind: type) -> None:
    written = kind(deletion_policy=DeletionPolicy.PROTECT)
    change = only_change(plan_of(a_desired(written), applied(kind())))
    assert change.actions == (Action.UPDATE,)
    assert change.risks == (risks.REGISTRY_ONLY,)


def test_a_change_of_policy_alone_is_a_registry_write() -> None:
    change = only_change(
        plan_of(a_desired(a_topic(deletion_policy=DeletionPolicy.DELETE)), applied(a_topic()))
    )
    assert change.actions == (Action.UPDATE,)
    assert change.requests == ()
    assert risks.PROTECTION_LOWERED in change.risks
    assert {field.path for field in change.fields} == {
        "lastApplied.deletionPolicy",
        "lastApplied.deletionPolicyWritten",
    }


@pytest.mark.parametrize(
    ("before", "after", "lowered"),
    [
        (DeletionPolicy.PROTECT, DeletionPolicy.DELETE, True),
        (DeletionPolicy.PROTECT, DeletionPolicy.ORPHAN, True),
        (DeletionPolicy.ORPHAN, DeletionPolicy.DELETE, True),
        (DeletionPolicy.DELETE, DeletionPolicy.PROTECT, False),
        (DeletionPolicy.ORPHAN, DeletionPolicy.PROTECT, False),
    ],
)
@pytest.mark.parametrize("kind", [a_topic, an_acl, a_quota])
def test_lowering_the_protection_has_its_own_code(
    kind: type, before: DeletionPolicy, after: DeletionPolicy, lowered: bool
) -> None:
    change = only_change(
        plan_of(a_desired(kind(deletion_policy=after)), applied(kind(deletion_policy=before)))
    )
    assert (risks.PROTECTION_LOWERED in change.risks) is lowered


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (a_topic(), a_topic(configs={"retention.ms": "1"}, deletion_policy=DeletionPolicy.DELETE)),
        (
            a_quota(deletion_policy=DeletionPolicy.PROTECT, producer_byte_rate=1),
            a_quota(producer_byte_rate=2),
        ),
    ],
)
def test_a_lowered_protection_does_not_hide_behind_another_change(
    before: DesiredObject, after: DesiredObject
) -> None:
    change = only_change(plan_of(a_desired(after), applied(before)))
    assert risks.PROTECTION_LOWERED in change.risks
    assert "lastApplied.deletionPolicy" in {field.path for field in change.fields}
    assert change.requests


@pytest.mark.parametrize("kind", [a_topic, an_acl, a_quota])
def test_writing_delete_on_an_adopted_object_lowers_its_protection(kind: type) -> None:
    """Until it was written, the first removal was a forget."""
    change = only_change(
        plan_of(
            a_desired(kind(deletion_policy=DeletionPolicy.DELETE)), applied(kind(), adopted=True)
        )
    )
    assert risks.PROTECTION_LOWERED in change.risks


# Other projects


@every_kind
def test_another_projects_object_is_refused_and_left_alone(item: DesiredObject) -> None:
    plan = plan_of(a_desired(item), owned_by("theirs", item))
    sentence = refused(plan)
    assert item.address in sentence
    assert "'theirs'" in sentence
    assert "takeFrom" in sentence
    assert plan.kept == (Kept(address=item.address, rule="foreign"),)
    assert not plan.changes


@every_kind
def test_another_projects_object_that_is_not_declared_is_only_listed(item: DesiredObject) -> None:
    other = a_topic("mine")
    plan = plan_of(a_desired(other), with_changes(owned_by("theirs", item), a_topic_state("mine")))
    assert Kept(address=item.address, rule="foreign") in plan.kept
    assert not plan.refusals


@every_kind
def test_what_nobody_manages_or_declares_is_only_listed(item: DesiredObject) -> None:
    other = a_topic("mine")
    plan = plan_of(a_desired(other), applied(other, beside=[on_cluster(item)]))
    assert plan.kept == (Kept(address=item.address, rule="unmanaged"),)
    assert not plan.changes


def test_internal_topics_are_not_even_listed() -> None:
    """P201-20: brokers own them."""
    mine = a_topic("mine")
    beside = [a_topic_state("__consumer_offsets"), a_topic_state("__kgitops")]
    assert plan_of(a_desired(mine), applied(mine, beside=beside)).kept == ()


@pytest.mark.parametrize("policy", DeletionPolicy)
@pytest.mark.parametrize("name", sorted(ALL_INTERNAL))
def test_internal_topics_are_never_deleted(name: str, policy: DeletionPolicy) -> None:
    """A4-28, F590-37: not even where the registry says that they are this project's."""
    mine, planted = a_topic("mine"), a_topic(name, deletion_policy=policy)
    change = only_change(plan_of(a_desired(mine), applied(mine, planted)))
    assert change.address == f"topic/{name}"
    assert (change.actions, change.requests) == ((Action.FORGET,), ())
    assert change.owner_after is None


@every_kind
def test_an_object_of_default_changes_hands_when_it_is_declared(item: DesiredObject) -> None:
    change = only_change(plan_of(a_desired(item), owned_by("default", item)))
    assert change.actions == (Action.ADOPT,)
    assert risks.OBJECT_TAKEN in change.risks
    assert risks.PROJECT_TAKEN_OVER not in change.risks
    assert change.preconditions[0].owner == "default"
    assert change.owner_after is not None
    assert change.owner_after.project == UID


@every_kind
def test_taking_over_what_is_gone_makes_it_and_says_that_it_changes_hands(
    item: DesiredObject,
) -> None:
    current = with_changes(owned_by("default", item), gone=[on_cluster(item)])
    change = only_change(plan_of(a_desired(item), current))
    assert change.actions == (Action.CREATE,)
    assert risks.OBJECT_TAKEN in change.risks
    assert change.preconditions[0].owner == "default"


@every_kind
def test_what_may_be_taken_over_but_is_not_declared_is_left_alone(item: DesiredObject) -> None:
    mine = a_topic("mine")
    current = with_changes(owned_by("default", item), a_topic_state("mine"))
    plan = plan_of(a_desired(mine), current)
    assert [change.address for change in plan.changes] == [mine.address]
    assert Kept(address=item.address, rule="foreign") in plan.kept


def test_the_keys_that_the_former_owner_applied_are_taken_over_too() -> None:
    theirs = a_quota(producer_byte_rate=1, request_percentage=2)
    change = only_change(
        plan_of(a_desired(a_quota(producer_byte_rate=1)), owned_by("default", theirs))
    )
    assert change.requests[0].request.quotas == {"request_percentage": None}


# Identity


def test_the_same_name_with_another_uid_is_refused_whole() -> None:
    current = with_changes(owned_by("old-uid", a_topic(), PROJECT), a_topic_state("else"))
    plan = plan_of(a_desired(a_topic("else")), current)
    sentence = refused(plan)
    assert not plan.changes
    assert "old-uid" in sentence
    assert f"takeFrom: [{PROJECT}]" in sentence


def test_a_project_that_lost_its_uid_is_refused() -> None:
    assert UID in refused(plan_of(a_desired(a_topic(), uid=None), applied(a_topic())))


def test_the_same_uid_under_another_name_is_refused_until_formerly_says_so() -> None:
    renamed = {"project": "billing"}
    assert "formerly: [payments]" in refused(
        plan_of(a_desired(a_topic(), **renamed), applied(a_topic()))
    )
    plan = plan_of(a_desired(a_topic(), **renamed, formerly=["payments"]), applied(a_topic()))
    assert not plan.changes
    assert plan.verdict.exit is ExitCode.SUCCESS


def test_without_a_uid_the_name_is_the_identity() -> None:
    plan = plan_of(a_desired(a_topic(), uid=None), owned_by("payments", a_topic(), "payments"))
    assert not plan.changes
    assert not plan.refusals


def test_with_several_clashes_the_sentence_does_not_depend_on_order() -> None:
    def plan(names: dict[str, str]) -> Plan:
        return plan_of(a_desired(a_topic()), a_cluster(projects=names))

    one = plan({"u1": PROJECT, "u2": PROJECT})
    assert one.refusals == plan({"u2": PROJECT, "u1": PROJECT}).refusals


# Selection


@every_kind
@pytest.mark.parametrize(
    "scope",
    [{"targets": ["topic/else"]}, {"excludes": [item.address for item in EVERY_KIND]}],
    ids=["targets", "excludes"],
)
def test_what_is_not_selected_is_kept_and_the_plan_is_partial(
    item: DesiredObject, scope: dict[str, list[str]]
) -> None:
    plan = plan_of(a_desired(item, **scope), a_cluster())
    assert not plan.changes
    assert plan.kept == (Kept(address=item.address, rule="excluded"),)
    assert plan.partial


def test_a_target_plans_that_object_alone() -> None:
    desired = a_desired(*EVERY_KIND, targets=[an_acl().address])
    assert [change.address for change in plan_of(desired, a_cluster()).changes] == [
        an_acl().address
    ]


@every_kind
def test_a_foreign_object_that_is_excluded_does_not_refuse_the_rest(item: DesiredObject) -> None:
    desired = a_desired(item, a_topic("else"), excludes=[item.address])
    plan = plan_of(desired, owned_by("theirs", item))
    assert not plan.refusals
    assert [change.address for change in plan.changes] == ["topic/else"]


def test_without_a_registry_everything_is_created_or_adopted() -> None:
    """A first run can only create or adopt."""
    plan = plan_of(a_desired(*EVERY_KIND), a_cluster(a_topic_state()))
    assert {action for change in plan.changes for action in change.actions} <= {
        Action.CREATE,
        Action.ADOPT,
        Action.UPDATE,
    }
    assert plan.base.registry is None


def test_addresses_that_look_alike_stay_apart() -> None:
    """Contract §3: ``@`` and ``/`` in names are encoded, ``<default>`` is no client id."""
    names = [a_binding(name="a@b"), a_binding(name="a", host="b"), a_binding(name="a/b")]
    acls = [an_acl(binding) for binding in names]
    assert len({acl.address for acl in acls}) == 3
    plan = plan_of(a_desired(*acls), a_cluster(*names[:1]))
    assert plan.count(Action.ADOPT) == 1
    assert plan.count(Action.CREATE) == 2
    default = a_quota((("client-id", None),))
    spelt = a_quota((("client-id", "<default>"),))
    assert default.address == "quota/client-id=<default>"
    assert spelt.address == "quota/client-id=%3Cdefault%3E"


def test_the_sources_of_refusals_and_changes_are_the_documents() -> None:
    plan = plan_of(a_desired(a_topic()), owned_by("theirs", a_topic()))
    assert refused(plan).startswith(str(Place("orders.yaml").source))
    assert (
        only_change(plan_of(a_desired(a_topic()), a_cluster())).source
        == Place("orders.yaml").source
    )


def test_the_owner_of_a_topic_remembers_its_id_and_its_whole_declaration() -> None:
    topic = a_topic(configs={"retention.ms": "1"}, delete_records_before={0: 5})
    state = a_topic_state(configs={"retention.ms": "1"})
    change = plan_of(a_desired(topic), a_cluster(state)).changes[0]
    assert change.owner_after is not None
    assert change.owner_after.topic_id == id_of("orders")
    assert change.owner_after.last_applied == {
        "kind": "Topic",
        "name": "orders",
        "partitions": 3,
        "replicationFactor": 2,
        "assignments": None,
        "configs": {"retention.ms": "1"},
        "configsPolicy": "Declared",
        "deleteRecordsBefore": {"0": "5"},
        "deletionPolicy": "Protect",
        "deletionPolicyWritten": False,
    }
