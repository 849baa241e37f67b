"""Quotas of virtual clusters on brokers that look up eight entries only."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from kgitops.lowering.quota_compile import QuotaTable, lower_user_quotas, user_cap
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState, make_entity
from kgitops.model.resources.virtual_clusters import CapLowering, LoweringOptions, VirtualCluster
from kgitops.virtual_clusters.resolution import resolve

KEY = "producer_byte_rate"
CN = "CN=jane,OU=sales/emea"
USERS = st.sampled_from(["u", CN, None, ""])
CLIENTS = st.sampled_from(["c", "d", None, ""])
Values = Mapping[ClientQuotaEntity, float]


@st.composite
def entities(draw: st.DrawFn) -> ClientQuotaEntity:
    """Entities of v, w, their caps, the default cap, and global ones; '' leaves a part out."""
    parts: dict[str, str | None] = {}
    scope = draw(st.sampled_from(["v", "v", "v", "w", ""]))
    user, client = draw(USERS), draw(CLIENTS)
    if scope:
        parts["virtual-cluster"] = scope
    if user != "":
        parts["user"] = user
    if client != "":
        parts["client-id"] = client
    return make_entity(parts or {"virtual-cluster": None})


tables = st.dictionaries(entities(), st.sampled_from([5.0, 10.0, 20.0, 40.0]), max_size=14)


def states(values: Values) -> dict[ClientQuotaEntity, ClientQuotaState]:
    return {e: ClientQuotaState(entity=e, quotas={KEY: value}) for e, value in values.items()}


def physical(values: Values, found: VirtualCluster) -> dict[ClientQuotaEntity, float]:
    """The brokers' quotas once all of them are lowered."""
    table = QuotaTable(states(values).values())
    brokers = {e: value for e, value in values.items() if e[0][0] != "virtual-cluster"}
    for user in ("u", CN):
        for (entity, key), target in lower_user_quotas(table, found, user).items():
            assert key == KEY
            assert entity[0] == ("user", user)
            if target.value is None:
                assert brokers.pop(entity, None) is not None
            else:
                brokers[entity] = target.value
    return brokers


def cluster(**options: object) -> VirtualCluster:
    users = frozenset({"User:u", f"User:{CN}"})
    return VirtualCluster(name="v", users=users, options=LoweringOptions(**options))


@settings(max_examples=examples(800))
@given(tables, st.sampled_from(CapLowering))
def test_brokers_find_what_virtual_clusters_mean(values: Values, mode: CapLowering) -> None:
    """VC-219, VC-220, VC-221, VC-224: for every member and any client id the lookup by brokers on
    the lowered table gives the value of the 16 lookups, at most the cap."""
    found = cluster(cap_lowering=mode)
    lowered = states(physical(values, found))
    cap = user_cap(QuotaTable(states(values).values()), found, KEY)
    for user in ("u", CN):
        for client in ("c", "d", "e"):
            meant = resolve(
                states(values), virtual_cluster="v", user=user, client_id=client, key=KEY
            )
            there = resolve(lowered, virtual_cluster=None, user=user, client_id=client, key=KEY)
            if cap is None:
                assert there.value == meant.value
            else:
                assert there.value == min(cap[1], meant.value or cap[1])


@settings(max_examples=examples(200))
@given(tables, st.sampled_from(CapLowering))
def test_nobody_else_notices(values: Values, mode: CapLowering) -> None:
    """VC-222: nothing of a virtual cluster is lowered to a default user or to a client id alone, so
    that a user who is in none finds what it found before."""

    def of_others(quotas: Values) -> Values:
        members = (("user", "u"), ("user", CN))
        return {
            entity: value
            for entity, value in quotas.items()
            if entity[0] not in members and entity[0][0] != "virtual-cluster"
        }

    assert of_others(physical(values, cluster(cap_lowering=mode))) == of_others(values)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(CapLowering.CLAMP, 9.0), (CapLowering.DIVIDE, 4.0), (CapLowering.NONE, None)],
)
def test_a_cap_alone_limits_each_member_as_it_is_asked_to(
    mode: CapLowering, expected: float | None
) -> None:
    """VC-221: a member without any entry gets the cap, its share in whole numbers, or nothing."""
    lowered = physical({make_entity({"virtual-cluster": "v"}): 9.0}, cluster(cap_lowering=mode))
    assert lowered.get(make_entity({"user": "u"})) == expected


def test_global_defaults_that_a_cap_would_outrank_are_copied() -> None:
    """VC-221: a member that used a default user's client quota keeps it in addition to the cap."""
    values = {
        make_entity({"virtual-cluster": "v"}): 20.0,
        make_entity({"user": None, "client-id": "c"}): 5.0,
        make_entity({"client-id": "d"}): 40.0,
    }
    lowered = physical(values, cluster())
    assert lowered[make_entity({"user": "u", "client-id": "c"})] == 5.0
    assert lowered[make_entity({"user": "u", "client-id": "d"})] == 20.0
    assert lowered[make_entity({"user": "u"})] == 20.0


def test_entries_that_brokers_would_prefer_are_hidden() -> None:
    """VC-220: a user's quota in its virtual cluster counts, also where brokers have a finer global
    one for the user; entries of other clients that the virtual cluster has stay."""
    values = {
        make_entity({"virtual-cluster": "v", "user": "u"}): 10.0,
        make_entity({"virtual-cluster": "v", "user": "u", "client-id": "d"}): 20.0,
        make_entity({"user": "u", "client-id": "c"}): 40.0,
        make_entity({"user": "u", "client-id": None}): 40.0,
    }
    lowered = physical(values, cluster())
    assert lowered == {
        make_entity({"user": "u"}): 10.0,
        make_entity({"user": "u", "client-id": "d"}): 20.0,
    }
