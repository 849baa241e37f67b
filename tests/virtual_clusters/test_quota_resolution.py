"""The 16 quota lookups: the one that wins, and the caps."""

from collections.abc import Mapping

import pytest

from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState, make_entity
from kgitops.virtual_clusters.resolution import explain, resolve

KEY = "producer_byte_rate"
ORDER: list[dict[str, str | None]] = [
    {"virtual-cluster": "v", "user": "u", "client-id": "c"},
    {"virtual-cluster": "v", "user": "u", "client-id": None},
    {"virtual-cluster": "v", "user": "u"},
    {"virtual-cluster": "v", "user": None, "client-id": "c"},
    {"virtual-cluster": "v", "user": None, "client-id": None},
    {"virtual-cluster": "v", "user": None},
    {"virtual-cluster": "v", "client-id": "c"},
    {"virtual-cluster": "v", "client-id": None},
    {"user": "u", "client-id": "c"},
    {"user": "u", "client-id": None},
    {"user": "u"},
    {"user": None, "client-id": "c"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "c"},
    {"client-id": None},
]
RANKS = range(1, 17)


def table(
    values: Mapping[ClientQuotaEntity, float], key: str = KEY
) -> dict[ClientQuotaEntity, ClientQuotaState]:
    return {
        entity: ClientQuotaState(entity=entity, quotas={key: value})
        for entity, value in values.items()
    }


def from_rank(first: int) -> dict[ClientQuotaEntity, ClientQuotaState]:
    return table({make_entity(ORDER[rank - 1]): float(rank) for rank in RANKS if rank >= first})


@pytest.mark.parametrize("rank", RANKS)
def test_the_first_entry_that_says_anything_wins(rank: int) -> None:
    """VC-200, VC-204, VC-217: with the entries from this rank on, this one counts; all others of
    the 16 are there for somebody else, too."""
    others = {"virtual-cluster": "w", "user": "x", "client-id": "y"}
    foreign = {
        make_entity({kind: others[kind] if name else name for kind, name in parts.items()}): 99.0
        for parts in ORDER
        if all(parts.values())
    }
    found = resolve(
        from_rank(rank) | table(foreign), virtual_cluster="v", user="u", client_id="c", key=KEY
    )
    assert (found.rank, found.value) == (rank, float(rank))
    assert found.entity == make_entity(ORDER[rank - 1])
    rows = explain(from_rank(rank), virtual_cluster="v", user="u", client_id="c", key=KEY)
    assert [row.rank for row in rows if row.won] == [rank]
    assert [row.rank for row in rows] == list(RANKS)
    assert [row.why for row in rows[: rank - 1]] == ["not set"] * (rank - 1)
    assert all(f"but {rank} comes first" in row.why for row in rows[rank:])


def test_the_paths_are_the_proposals() -> None:
    """VC-200: the complete order, as KIP-1134 spells it."""
    rows = explain({}, virtual_cluster="v", user="u", client_id="c", key=KEY)
    assert [row.path.replace("/config", "") for row in rows] == [
        "/virtual-clusters/<vc>/users/<user>/clients/<client-id>",
        "/virtual-clusters/<vc>/users/<user>/clients/<default>",
        "/virtual-clusters/<vc>/users/<user>",
        "/virtual-clusters/<vc>/users/<default>/clients/<client-id>",
        "/virtual-clusters/<vc>/users/<default>/clients/<default>",
        "/virtual-clusters/<vc>/users/<default>",
        "/virtual-clusters/<vc>/clients/<client-id>",
        "/virtual-clusters/<vc>/clients/<default>",
        "/users/<user>/clients/<client-id>",
        "/users/<user>/clients/<default>",
        "/users/<user>",
        "/users/<default>/clients/<client-id>",
        "/users/<default>/clients/<default>",
        "/users/<default>",
        "/clients/<client-id>",
        "/clients/<default>",
    ]


def test_who_is_in_no_virtual_cluster_meets_only_the_global_half() -> None:
    """VC-204, VC-213: entries of a virtual cluster are not asked, nor is its cap."""
    quotas = from_rank(1) | table({make_entity({"virtual-cluster": "v"}): 1.0})
    found = resolve(quotas, virtual_cluster=None, user="u", client_id="c", key=KEY)
    assert (found.rank, found.cap) == (9, None)
    rows = explain(quotas, virtual_cluster=None, user="u", client_id="c", key=KEY)
    assert {row.why for row in rows[:8]} == {"not asked: the caller is in no virtual cluster"}


def test_a_caller_without_a_user_or_a_client_id_has_no_default_one_either() -> None:
    """VC-200: the default of a kind stands for a name that has no entry, not for a missing name."""
    by_client = resolve(from_rank(1), virtual_cluster="v", user=None, client_id="c", key=KEY)
    assert by_client.rank == 7
    by_user = resolve(from_rank(1), virtual_cluster="v", user="u", client_id=None, key=KEY)
    assert by_user.rank == 3
    rows = explain(from_rank(1), virtual_cluster="v", user=None, client_id=None, key=KEY)
    assert {row.why for row in rows} == {
        "not asked: the caller's principal is not a User",
        "not asked: the caller gives no client id",
    }


def test_caps_stand_beside_the_list() -> None:
    """VC-201, VC-202: (a) an entry above the cap counts as the cap, (b) without a cap the default
    cap holds, (c) without any there is no limit."""
    entry = make_entity({"virtual-cluster": "v", "user": "u"})
    own, default = make_entity({"virtual-cluster": "v"}), make_entity({"virtual-cluster": None})

    def limit(values: Mapping[ClientQuotaEntity, float]) -> float | None:
        found = resolve(table(values), virtual_cluster="v", user="u", client_id="c", key=KEY)
        return found.limit

    assert limit({entry: 10.0, own: 5.0, default: 7.0}) == 5.0
    assert limit({entry: 10.0, default: 7.0}) == 7.0
    assert limit({entry: 10.0, own: 50.0}) == 10.0
    assert limit({own: 5.0}) == 5.0
    assert limit({}) is None


def test_the_default_cap_is_looked_up_key_by_key() -> None:
    """VC-203, VC-210: an own cap for one key leaves the default cap of another in force."""
    own, default = make_entity({"virtual-cluster": "v"}), make_entity({"virtual-cluster": None})
    quotas = {
        own: ClientQuotaState(entity=own, quotas={KEY: 5.0}),
        default: ClientQuotaState(entity=default, quotas={KEY: 1.0, "consumer_byte_rate": 7.0}),
    }
    producer = resolve(quotas, virtual_cluster="v", user="u", client_id="c", key=KEY)
    consumer = resolve(
        quotas, virtual_cluster="v", user="u", client_id="c", key="consumer_byte_rate"
    )
    assert (producer.cap, producer.cap_entity) == (5.0, own)
    assert (consumer.cap, consumer.cap_entity) == (7.0, default)


@pytest.mark.parametrize("rank", RANKS)
def test_who_shares_a_bucket_follows_from_the_entry(rank: int) -> None:
    """VC-211: of an entry for user and client id each pair has one, of one for users each user, of
    one for client ids each client id; those of a virtual cluster are its own."""
    found = resolve(from_rank(rank), virtual_cluster="v", user="u", client_id="c", key=KEY)
    scope = {"virtual-cluster": "v"} if rank <= 8 else {}
    if rank in (1, 2, 4, 5, 9, 10, 12, 13):
        wanted = make_entity({**scope, "user": "u", "client-id": "c"})
    elif rank in (3, 6, 11, 14):
        wanted = make_entity({**scope, "user": "u"})
    else:
        wanted = make_entity({**scope, "client-id": "c"})
    assert found.bucket == wanted
