"""Quotas that throttle kgitops itself are said, and set when all else is done."""

import pytest
from builders import (
    ALL_CAPABILITIES,
    a_desired,
    a_quota,
    a_topic,
    an_acl,
    an_entity,
    applied,
    plan_of,
)
from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import Capabilities, Client
from kgitops.model.json.declared import DesiredQuota
from kgitops.plan.document.plan import Plan
from kgitops.plan.phases import in_waves

TOPIC = a_topic()
OTHER = a_quota(an_entity(user="billing"))
LOGIN = Client(client_id="kgitops", user="deployer")


def connected(client: Client | None = LOGIN) -> Capabilities:
    return replace(ALL_CAPABILITIES, client=client)


def desired(*quotas: DesiredQuota, principal: str = "User:ANONYMOUS") -> DesiredState:
    return replace(a_desired(TOPIC, an_acl(), *quotas), principal=principal)


def plan(*quotas: DesiredQuota, before: tuple[DesiredQuota, ...] = ()) -> Plan:
    return plan_of(desired(*quotas), applied(*before), connected())


def limit(rate: float = 999.0, **entity: str | None) -> DesiredQuota:
    return a_quota(an_entity(**entity), producer_byte_rate=rate)


def warned(found: Plan) -> list[str]:
    return [str(item) for item in found.warnings if "throttles kgitops itself" in item.problem]


HOLDS = {
    "the user": {"user": "deployer"},
    "every user": {"user": None},
    "the client id": {"client_id": "kgitops"},
    "every client id": {"client_id": None},
    "the user's client id": {"user": "deployer", "client_id": "kgitops"},
    "every client id of the user": {"user": "deployer", "client_id": None},
    "the client id of every user": {"user": None, "client_id": "kgitops"},
    "all": {"user": None, "client_id": None},
}


@pytest.mark.parametrize("entity", HOLDS.values(), ids=HOLDS)
def test_a_quota_that_holds_for_kgitops_is_a_warning_and_set_last(
    entity: dict[str, str | None],
) -> None:
    quota = limit(**entity)
    found = plan(quota, OTHER)
    (said,) = warned(found)
    assert (
        f"{quota.address} throttles kgitops itself, which is User:deployer with the client id "
        in said
    )
    assert "kgitops, to producer_byte_rate 999; it is changed last here" in said
    assert found.changes[-1].address == quota.address
    last = found.requests[-1]
    assert set(last.depends_on) == {planned.id for planned in found.requests[:-1]}
    assert in_waves(found.requests)[-1] is last


OF_OTHERS = {
    "another user": {"user": "billing"},
    "another client id": {"client_id": "batch"},
    "another client id of the user": {"user": "deployer", "client_id": "batch"},
    "the client id of another user": {"user": "billing", "client_id": "kgitops"},
    "an address": {"ip": "10.0.0.1"},
    "a virtual cluster": {"virtual_cluster": None},
}


@pytest.mark.parametrize("entity", OF_OTHERS.values(), ids=OF_OTHERS)
def test_a_quota_of_others_is_neither(entity: dict[str, str | None]) -> None:
    kind = "connection_creation_rate" if "ip" in entity else "producer_byte_rate"
    found = plan(a_quota(an_entity(**entity), **{kind: 999.0}))
    assert warned(found) == []
    quota = next(
        item for item in found.requests if item.request.__class__.__name__.endswith("QuotaRequest")
    )
    assert quota.depends_on == ()


def test_one_of_its_own_keeps_kgitops_from_the_default_and_is_set_before_it() -> None:
    found = plan(limit(user=None), limit(1e9, user="deployer"))
    assert [change.address for change in found.changes[-2:]] == [
        "quota/user=deployer",
        "quota/user=<default>",
    ]
    assert found.requests[-1].depends_on == (found.requests[-2].id,)
    # The one of its own is a limit too, where there was none.
    (said,) = warned(found)
    assert "quota/user=deployer throttles kgitops itself" in said


def test_where_a_narrower_one_is_there_already_nothing_is_said() -> None:
    own = limit(1e9, user="deployer")
    assert warned(plan(own, limit(user=None), before=(own,))) == []


def test_that_it_goes_lets_the_default_in() -> None:
    """The change that does it is named."""
    own, default = limit(1e9, user="deployer"), limit(user=None)
    (said,) = warned(plan(default, before=(own, default)))
    assert "quota/user=deployer throttles kgitops itself" in said
    assert "to producer_byte_rate 999" in said


@pytest.mark.parametrize(("rate", "lower"), [(500.0, True), (999.0, False), (5000.0, False)])
def test_a_limit_that_is_raised_is_no_warning(rate: float, *, lower: bool) -> None:
    before = limit(user=None)
    assert bool(warned(plan(limit(rate, user=None), before=(before,)))) is lower


def test_every_key_counts_and_they_are_told_together() -> None:
    quota = a_quota(an_entity(client_id=None), request_percentage=0.1, controller_mutation_rate=1.0)
    (said,) = warned(plan(quota))
    assert "to controller_mutation_rate 1, request_percentage 0.1" in said


@pytest.mark.parametrize(
    ("client", "principal", "user", "throttled"),
    [
        (Client(client_id="kgitops"), "User:kgitops", "kgitops", True),
        (Client(client_id="kgitops"), "User:kgitops", "deployer", False),
        (Client(client_id="kgitops", user="deployer"), "User:kgitops", "deployer", True),
        (Client(client_id="kgitops", user="deployer"), "User:kgitops", "kgitops", True),
        (Client(client_id="kgitops", user="deployer"), "User:ANONYMOUS", "ANONYMOUS", False),
        (Client(client_id="kgitops", user="ANONYMOUS"), "User:ANONYMOUS", "ANONYMOUS", True),
        (Client(client_id="kgitops"), "User:ANONYMOUS", None, True),
        (None, "User:kgitops", "kgitops", False),
    ],
)
def test_kgitops_is_who_logs_in_and_whom_the_project_names(
    client: Client | None, principal: str, user: str | None, *, throttled: bool
) -> None:
    """A certificate or a token tells kgitops nothing; an embedded cluster throttles nobody."""
    found = plan_of(desired(limit(user=user), principal=principal), applied(), connected(client))
    assert bool(warned(found)) is throttled
