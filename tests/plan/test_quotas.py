"""Client quotas, key by key: what is declared against what is there (F590-50, F590-51)."""

import pytest
from builders import (
    a_cluster,
    a_desired,
    a_quota,
    a_quota_state,
    a_topic,
    an_entity,
    applied,
    only_change,
    plan_of,
    with_changes,
)

from kgitops.apply.effects import check_preconditions
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Drift
from kgitops.plan.document.risks import Risk

OTHER = a_topic("else")


def requested(change: Change) -> dict[str, float | None]:
    (planned,) = change.requests
    assert isinstance(planned.request, AlterClientQuotaRequest)
    return dict(planned.request.quotas)


@pytest.mark.parametrize(
    "entity",
    [
        an_entity(user="billing"),
        an_entity(user=None),
        an_entity(client_id="app"),
        an_entity(client_id=None),
        an_entity(user="billing", client_id="app"),
        an_entity(user="billing", client_id=None),
        an_entity(user=None, client_id="app"),
        an_entity(user=None, client_id=None),
        an_entity(ip="10.0.0.1"),
        an_entity(ip=None),
    ],
)
def test_every_entity_is_planned_and_the_default_is_not_the_absent_one(
    entity: ClientQuotaEntity,
) -> None:
    """F590-50."""
    key = "connection_creation_rate" if entity[0][0] == "ip" else "request_percentage"
    quota = a_quota(entity, **{key: 12.5})
    change = only_change(plan_of(a_desired(quota), a_cluster()))
    assert change.requests[0].request == AlterClientQuotaRequest(entity=entity, quotas={key: 12.5})
    assert change.after is not None
    assert change.after["entity"] == dict(entity)
    assert not plan_of(a_desired(quota), applied(quota)).changes


@pytest.mark.parametrize(
    ("before", "after", "risk"),
    [
        ({}, {"producer_byte_rate": 1}, risks.QUOTA_CREATE),
        ({"producer_byte_rate": 2}, {"producer_byte_rate": 1}, risks.QUOTA_LOWER),
        ({"producer_byte_rate": 1}, {"producer_byte_rate": 2}, risks.QUOTA_RAISE),
        (
            {"producer_byte_rate": 1, "request_percentage": 5},
            {"producer_byte_rate": 1},
            risks.QUOTA_REMOVE,
        ),
    ],
)
def test_only_the_keys_that_differ_are_sent(
    before: dict[str, float], after: dict[str, float], risk: Risk
) -> None:
    old = applied(a_quota(**before)) if before else a_cluster()
    change = only_change(plan_of(a_desired(a_quota(**after)), old))
    expected = {key: after.get(key) for key in before | after if before.get(key) != after.get(key)}
    assert requested(change) == expected
    assert change.risks == (risk,)
    assert set(change.preconditions[0].fields) == {f"quotas.{key}" for key in expected}


def test_a_key_that_nobody_declared_is_drift_and_left_alone() -> None:
    quota = a_quota(producer_byte_rate=1)
    current = with_changes(
        applied(quota), a_quota_state(producer_byte_rate=1, request_percentage=7)
    )
    plan = plan_of(a_desired(quota), current)
    assert not plan.changes
    assert plan.drift == (
        Drift(
            address=quota.address,
            path="quotas.request_percentage",
            last_applied=None,
            found="7",
            rule="undeclared",
        ),
    )


@pytest.mark.parametrize(
    ("found", "declared", "rule"), [(5, 1, "restored"), (5, 5, "accepted"), (5, 7, "restored")]
)
def test_drift_of_a_quota_says_what_becomes_of_it(found: float, declared: float, rule: str) -> None:
    current = with_changes(
        applied(a_quota(producer_byte_rate=1)), a_quota_state(producer_byte_rate=found)
    )
    plan = plan_of(a_desired(a_quota(producer_byte_rate=declared)), current)
    assert [row.rule for row in plan.drift] == [rule]
    assert bool(plan.requests) is (rule == "restored")


def test_drift_of_a_key_that_leaves_the_document_goes_with_it() -> None:
    before = a_quota(producer_byte_rate=1, request_percentage=1)
    current = with_changes(
        applied(before), a_quota_state(producer_byte_rate=1, request_percentage=5)
    )
    plan = plan_of(a_desired(a_quota(producer_byte_rate=1)), current)
    assert [(row.path, row.rule) for row in plan.drift] == [
        ("quotas.request_percentage", "restored")
    ]
    assert requested(only_change(plan)) == {"request_percentage": None}


def test_a_quota_that_matches_but_was_remembered_otherwise_is_a_registry_write() -> None:
    current = with_changes(
        applied(a_quota(producer_byte_rate=1)), a_quota_state(producer_byte_rate=5)
    )
    change = only_change(plan_of(a_desired(a_quota(producer_byte_rate=5)), current))
    assert change.risks == (risks.REGISTRY_ONLY,)
    assert change.because == "its document says more than was last applied"
    (field,) = change.fields
    assert field.path == "lastApplied.quotas.producer_byte_rate"
    assert (field.before, field.after) == ("1", "5")


def test_keys_of_others_do_not_make_a_declared_entity_theirs() -> None:
    """Other keys on the entity belong to nobody: the entity is adopted, they stay."""
    current = a_cluster(a_quota_state(request_percentage=7))
    change = only_change(plan_of(a_desired(a_quota(producer_byte_rate=1)), current))
    assert change.actions == (Action.ADOPT, Action.UPDATE)
    assert requested(change) == {"producer_byte_rate": 1.0}
    assert change.after is not None
    assert change.after["quotas"] == {"producer_byte_rate": "1", "request_percentage": "7"}


def test_when_all_its_keys_are_gone_but_others_are_there_the_entity_is_updated() -> None:
    quota = a_quota(producer_byte_rate=1)
    current = with_changes(applied(quota), a_quota_state(request_percentage=7))
    change = only_change(plan_of(a_desired(quota), current))
    assert change.actions == (Action.UPDATE,)
    assert requested(change) == {"producer_byte_rate": 1.0}


def test_an_adopted_quota_that_was_deleted_outside_is_no_longer_adopted_once_made_again() -> None:
    quota = a_quota(producer_byte_rate=1)
    current = with_changes(applied(quota, adopted=True), gone=[a_quota_state(producer_byte_rate=1)])
    change = only_change(plan_of(a_desired(quota), current))
    assert change.owner_after is not None
    assert not change.owner_after.adopted


def test_changing_a_key_that_the_plan_does_not_touch_makes_no_plan_stale() -> None:
    current = applied(a_quota(producer_byte_rate=1))
    change = only_change(plan_of(a_desired(a_quota(producer_byte_rate=2)), current))
    other = with_changes(current, a_quota_state(producer_byte_rate=1, request_percentage=7))
    assert check_preconditions(change.preconditions, other) == ()


@pytest.mark.parametrize("value", [0.1, 1e-7, 1 / 3, 2**53 + 2.0, 1e300, 12.5])
def test_any_double_survives_the_registry(value: float) -> None:
    quota = a_quota(an_entity(user="x"), request_percentage=value)
    assert not plan_of(a_desired(quota), applied(quota)).changes


def test_a_removed_quota_that_others_changed_is_still_removed() -> None:
    gone = a_quota(producer_byte_rate=1)
    current = with_changes(applied(OTHER, gone), a_quota_state(producer_byte_rate=9))
    change = only_change(plan_of(a_desired(OTHER), current))
    assert change.actions == (Action.DELETE,)
    assert change.preconditions[0].fields == {"quotas.producer_byte_rate": "9"}
