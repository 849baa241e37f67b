"""Decisions on requests about virtual clusters, by brokers or by kgitops."""

import pytest
from msgspec.structs import replace
from virtual_clusters.vc_requests import A, B, add, create, delete, link, remove

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters import deciding, links
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal

INTERNAL = (
    "__cluster_metadata",
    "__consumer_offsets",
    "__kgitops",
    "__share_group_state",
    "__transaction_state",
)
"""All internal topics, spelled out: one that the product forgot would be missed otherwise."""
IDS = {"orders": "id-1", "bills": "id-2", **dict.fromkeys(INTERNAL, "id-3")}
USER, CLIENT, GROUP = EntityType.USER, EntityType.CLIENT_ID, EntityType.GROUP
TOPIC, TXN = EntityType.TOPIC, EntityType.TRANSACTIONAL_ID
SALES = VirtualCluster(
    name=A,
    links={"Orders": TopicLink(name="Orders", topic="orders", topic_id="id-1")},
    users=frozenset({"User:jane"}),
    client_ids=frozenset({"batch"}),
    groups={"etl": "old-etl", "plain": None},
    transactional_ids=frozenset({"tx"}),
)
BOTH = (SALES, VirtualCluster(name=B))


def a_delta(*there: VirtualCluster) -> VirtualClustersDelta:
    return VirtualClustersDelta(build_image(there))


def altered(
    request: AlterVirtualClusterRequest, *there: VirtualCluster, **more
) -> dict[str, VirtualCluster]:
    """The virtual clusters after the request."""
    delta = a_delta(*(there or BOTH))
    for record in list(deciding.alter(delta, request, IDS.get, **more)):
        delta.replay(record)
    return dict(delta.apply().by_name)


def refused(decide) -> tuple[Symbol, ErrorCode]:
    with pytest.raises(VirtualClusterRefusal) as caught:
        decide()
    assert str(caught.value).startswith(f"{caught.value.symbol}: ")
    return caught.value.symbol, caught.value.code


@pytest.mark.parametrize(
    "name", ["a", "emea.sales", "A-1_b", ".a", "x" * 249, "__consumer_offsets"]
)
def test_a_name_that_is_legal(name: str):
    """VC-007: topics' characters, whatever they look like (VC-006)."""
    (record,) = deciding.create(a_delta(), create(name))
    assert record.name == name


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("kafka-cluster", Symbol.RESERVED_NAME),
        ("", Symbol.INVALID_NAME),
        (".", Symbol.INVALID_NAME),
        ("..", Symbol.INVALID_NAME),
        ("a:b", Symbol.INVALID_NAME),
        ("a/b", Symbol.INVALID_NAME),
        ("<default>", Symbol.INVALID_NAME),
        ("*", Symbol.INVALID_NAME),
        ("x" * 250, Symbol.INVALID_NAME),
        ("ü", Symbol.INVALID_NAME),
        (A, Symbol.VC_ALREADY_EXISTS),
    ],
)
def test_a_virtual_cluster_that_cant_be_made(name: str, symbol: Symbol):
    """VC-007, VC-104, VC-246."""
    code = ErrorCode.INVALID_REQUEST
    assert refused(lambda: list(deciding.create(a_delta(SALES), create(name)))) == (symbol, code)


def test_names_differ_by_case():
    """VC-007."""
    (record,) = deciding.create(a_delta(SALES), create("EMEA.sales"))
    assert record.name == "EMEA.sales"


@pytest.mark.parametrize(
    "request_",
    [
        delete("kafka-cluster"),
        add(USER, "User:x", "kafka-cluster"),
        remove(USER, "User:x", "kafka-cluster"),
        AlterVirtualClusterRequest(virtual_cluster="kafka-cluster", options=LoweringOptions()),
    ],
)
def test_the_physical_cluster_is_no_virtual_one(request_):
    """VC-104: it can't be altered or deleted."""
    decide = deciding.delete if request_ == delete("kafka-cluster") else deciding.alter
    more = () if decide is deciding.delete else (IDS.get,)
    symbol, code = refused(lambda: list(decide(a_delta(*BOTH), request_, *more)))
    assert (symbol, code) == (Symbol.RESERVED_NAME, ErrorCode.INVALID_REQUEST)


def test_what_is_unknown_is_an_error():
    """VC-246: neither deleting nor altering what is not there is a success."""
    unknown = (Symbol.VC_NOT_FOUND, ErrorCode.RESOURCE_NOT_FOUND)
    assert refused(lambda: list(deciding.delete(a_delta(), delete("no")))) == unknown
    assert refused(lambda: altered(add(USER, "User:x", "no"))) == unknown
    assert refused(lambda: altered(link("l", "orders", "no"))) == unknown


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (replace(VirtualCluster(name=A), users=SALES.users), "the user User:jane"),
        (replace(VirtualCluster(name=A), client_ids=SALES.client_ids), "the client id batch"),
        (replace(VirtualCluster(name=A), groups={"etl": None}), "the group etl"),
        (replace(VirtualCluster(name=A), transactional_ids=SALES.transactional_ids),
         "the transactional id tx"),
        (replace(VirtualCluster(name=A), links=SALES.links), "the link Orders"),
    ],
)  # fmt: skip
def test_each_kind_of_member_keeps_a_virtual_cluster(left: VirtualCluster, said: str):
    """VC-245: and the answer says what it is."""
    with pytest.raises(VirtualClusterRefusal, match=said) as caught:
        list(deciding.delete(a_delta(left), delete()))
    assert caught.value.symbol is Symbol.VC_NOT_EMPTY


def test_a_crowded_virtual_cluster_is_described_in_few_words():
    full = VirtualCluster(name=A, users=frozenset(f"User:{n:02}" for n in range(25)))
    with pytest.raises(VirtualClusterRefusal, match="User:09 and 15 more; remove"):
        list(deciding.delete(a_delta(full), delete()))


def test_an_empty_one_is_deleted():
    delta = a_delta(VirtualCluster(name=A))
    (record,) = deciding.delete(delta, delete())
    delta.replay(record)
    assert not delta.apply().by_name


@pytest.mark.parametrize("topic", INTERNAL)
def test_internal_topics_are_never_linked(topic: str):
    """VC-037, VC-118: the state of share groups is among them."""
    expected = Symbol.INTERNAL_TOPIC, ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused(lambda: altered(link("l", topic))) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("connect-offsets", "connect-configs", "connect-status"),
        *("app-store-changelog", "app-by-word-repartition"),
    ],
)
def test_what_connect_and_streams_call_internal_is_a_topic_like_others(name: str):
    """VC-340, VC-342."""
    after = altered(link(name, "orders", B))
    assert after[B].links[name].topic == "orders"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "x" * 250])
def test_a_link_is_named_as_a_topic_is(name: str):
    """VC-043."""
    expected = Symbol.INVALID_LINK_NAME, ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused(lambda: altered(link(name, "orders"))) == expected


def test_a_link_leads_to_a_physical_topic_that_is_there():
    """VC-005, VC-026: not to a link, though it has that name."""
    expected = Symbol.TOPIC_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(lambda: altered(link("more", "Orders"))) == expected


def test_a_link_can_be_followed_to_its_topic():
    """VC-005: the link of a link is one to the topic, not to the link."""
    after = altered(add(TOPIC, "sales", B, target=LocalName(A, "Orders")))
    assert after[B].links == {"sales": TopicLink(name="sales", topic="orders", topic_id="id-1")}
    lost = add(TOPIC, "sales", B, target=LocalName(A, "none"))
    assert refused(lambda: altered(lost)) == (Symbol.LINK_NOT_FOUND, ErrorCode.RESOURCE_NOT_FOUND)


def test_one_link_name_one_topic_in_one_virtual_cluster():
    """VC-021: a name is taken only where it is."""
    taken = Symbol.LINK_ALREADY_EXISTS, ErrorCode.TOPIC_ALREADY_EXISTS
    assert refused(lambda: altered(link("Orders", "bills"))) == taken
    assert altered(link("Orders", "bills", B))[B].links["Orders"].topic == "bills"


def test_one_topic_many_links():
    """VC-022, VC-023: from many virtual clusters, and twice in one."""
    again = altered(link("short", "orders"))
    assert {item.topic for item in again[A].links.values()} == {"orders"}
    delta = a_delta(*again.values())
    for record in list(deciding.alter(delta, link("theirs", "orders", B), IDS.get)):
        delta.replay(record)
    assert delta.links_to("orders") == {
        LocalName(A, "Orders"),
        LocalName(A, "short"),
        LocalName(B, "theirs"),
    }


def test_what_is_so_already_is_no_error_and_no_news():
    """VC-046."""
    for same in (
        link("Orders", "orders"),
        add(USER, "User:jane"),
        add(CLIENT, "batch"),
        add(GROUP, "etl", adopts="old-etl"),
        add(TXN, "tx"),
    ):
        assert list(deciding.alter(a_delta(*BOTH), same, IDS.get)) == []


def test_removing_what_is_not_there_is_an_error():
    """VC-046."""
    gone = ErrorCode.RESOURCE_NOT_FOUND
    assert refused(lambda: altered(remove(TOPIC, "no"))) == (Symbol.LINK_NOT_FOUND, gone)
    for entity_type in (USER, CLIENT, GROUP, TXN):
        missing = refused(lambda kind=entity_type: altered(remove(kind, "no")))
        assert missing == (Symbol.MEMBER_NOT_FOUND, gone)


def test_a_link_is_given_another_topic_by_one_record():
    """VC-028: only by who knows where it leads now."""
    assert altered(link("Orders", "bills", replaces="orders"))[A].links["Orders"].topic == "bills"
    wrong = link("Orders", "bills", replaces="other")
    assert refused(lambda: altered(wrong))[0] is Symbol.LINK_ALREADY_EXISTS
    assert len(list(deciding.alter(a_delta(SALES), link("Orders", "bills", replaces="orders"),
                                   IDS.get))) == 1  # fmt: skip


def test_a_link_knows_which_topic_it_was_made_for():
    """VC-047: one that was made anew under the name is not taken for it."""
    now = {"orders": "another id"}
    expected = Symbol.TOPIC_REPLACED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (
        refused(lambda: list(deciding.alter(a_delta(SALES), link("Orders", "orders"), now.get)))
        == expected
    )


@pytest.mark.parametrize(("entity_type", "name"), [(USER, "User:jane"), (CLIENT, "batch")])
def test_who_is_in_one_is_not_in_another(entity_type: EntityType, name: str):
    """VC-080, VC-081: the answer says where they are."""
    with pytest.raises(VirtualClusterRefusal, match=f"{name} belongs to .* {A}") as caught:
        altered(add(entity_type, name, B))
    assert (caught.value.symbol, caught.value.code) == (
        Symbol.ENTITY_BOUND_ELSEWHERE,
        ErrorCode.INVALID_REQUEST,
    )


def test_a_global_group_is_taken_over_once():
    """VC-115."""
    twice = add(GROUP, "other", B, adopts="old-etl")
    assert refused(lambda: altered(twice))[0] is Symbol.ENTITY_BOUND_ELSEWHERE
    here = add(GROUP, "other", adopts="old-etl")
    assert refused(lambda: altered(here))[0] is Symbol.ENTITY_BOUND_ELSEWHERE
    moved = altered(add(GROUP, "etl", B, adopts="old-etl", moved_from=A))
    assert (moved[B].groups, set(moved[A].groups)) == ({"etl": "old-etl"}, {"plain"})
    assert altered(add(GROUP, "etl", B))[B].groups == {"etl": None}


@pytest.mark.parametrize("owner", [A, B])
def test_no_group_of_a_virtual_cluster_is_taken_over(owner: str):
    """VC-115: by its physical id it would hand a tenant's offsets to another one."""
    taken = add(GROUP, "mine", B, adopts=f"{owner}:etl")
    assert refused(lambda: altered(taken))[0] is Symbol.ENTITY_BOUND_ELSEWHERE
    assert altered(add(GROUP, "mine", B, adopts="nobody:etl"))[B].groups == {"mine": "nobody:etl"}


@pytest.mark.parametrize(
    ("entity_type", "name"), [(USER, "User:jane"), (CLIENT, "batch"), (GROUP, "plain"), (TXN, "tx")]
)
def test_a_move_leaves_nobody_behind(entity_type: EntityType, name: str):
    """VC-086."""
    after = altered(add(entity_type, name, B, moved_from=A))
    assert name in after[B].members(entity_type)
    assert name not in after[A].members(entity_type)
    wrong = add(entity_type, "stranger", B, moved_from=A)
    assert refused(lambda: altered(wrong))[0] is Symbol.MEMBER_NOT_FOUND


@pytest.mark.parametrize("principal", ["User:ANONYMOUS", "User:*", "User:root"])
def test_who_cant_be_bound(principal: str):
    """VC-092, VC-093."""
    with pytest.raises(VirtualClusterRefusal, match=r"RESERVED_NAME: .* can't be bound"):
        altered(add(USER, principal), super_users={"User:root"})


def test_users_need_not_exist():
    """VC-096: nobody but the authorizer knows users."""
    assert altered(add(USER, "User:anybody at all"))[A].users >= {"User:anybody at all"}


def test_a_group_that_is_there_by_that_name_is_not_swallowed():
    """VC-117."""
    existing = {f"{A}:etl2"}
    expected = Symbol.GROUP_NAME_COLLISION, ErrorCode.INVALID_REQUEST
    collision = add(GROUP, "etl2")
    assert refused(lambda: altered(collision, is_global_group=existing.__contains__)) == expected
    assert "etl2" in altered(collision)[A].groups


def test_no_transactional_id_is_taken_over_within_a_transaction():
    """VC-122."""
    expected = Symbol.TXN_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS
    assert refused(lambda: altered(add(TXN, "live"), open_transactions={"live"})) == expected


def test_a_topic_is_kept_by_its_links():
    """VC-033: and the answer names them."""
    delta = a_delta(*BOTH)
    with pytest.raises(VirtualClusterRefusal, match=f"linked to as {A}/Orders; remove") as caught:
        links.refuse_linked(delta, "orders")
    assert caught.value.code is ErrorCode.INVALID_REQUEST
    links.refuse_linked(delta, "bills")


def test_every_symbol_is_told_with_a_code_of_kafka():
    """VC-238: no code is invented."""
    for symbol in Symbol:
        refusal = VirtualClusterRefusal(symbol, "why")
        assert refusal.code in ErrorCode
        assert refusal.code is not ErrorCode.NONE
        assert str(refusal) == f"{symbol}: why"
