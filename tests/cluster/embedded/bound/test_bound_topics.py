"""CreateTopics, DeleteTopics, CreatePartitions and Metadata of callers in a virtual cluster."""

import re
from uuid import UUID

import pytest
from cluster.clusters import BOTH, a_cluster, a_grant, a_new_topic, admin, codes, topic_grant
from cluster.embedded.bound.tenancies import (
    HR,
    PHYSICAL,
    SALES,
    SHARED,
    connect,
    link,
    on_cluster,
    root,
    scoped,
    tenant,
    two_tenants,
)

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
GENERATED = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.invoices")


def topics(cluster: EmbeddedCluster) -> set[str]:
    """All physical topics."""
    return set(cluster.read_state().topics)


@pytest.mark.parametrize("compat", BOTH)
def test_a_topic_is_created_under_a_name_of_its_own(compat: Compat):
    """VC-056, VC-057, VC-249, VC-082: the same request before and after says another thing."""
    cluster = two_tenants(compat=compat)
    result = connect(cluster).create_topics([a_new_topic("invoices")])["invoices"]
    assert result.ok
    made = tenant(cluster).links["invoices"]
    assert GENERATED.fullmatch(made.topic)
    assert made.topic_id == result.topic_id
    assert "invoices" not in topics(cluster)
    assert "invoices" not in tenant(cluster, HR).links
    assert root(cluster).create_topics([a_new_topic("invoices")])["invoices"].ok
    assert "invoices" in topics(cluster)


def test_a_name_that_is_taken_here_or_elsewhere():
    """VC-061: only a link of the same virtual cluster is in the way."""
    cluster = two_tenants()
    before = topics(cluster)
    taken = connect(cluster).create_topics([a_new_topic("orders")])["orders"]
    assert taken.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert PHYSICAL[SALES] not in (taken.message or "")
    assert topics(cluster) == before
    assert root(cluster).create_topics([a_new_topic("global")])["global"].ok
    assert connect(cluster, "User:b").create_topics([a_new_topic("x")])["x"].ok
    made = connect(cluster).create_topics([a_new_topic("global"), a_new_topic("x")])
    assert set(codes(made).values()) == {ErrorCode.NONE}


def test_how_long_a_local_name_may_be():
    """VC-058."""
    cluster = two_tenants()
    fits, too_long = "a" * 212, "a" * 213
    made = connect(cluster).create_topics([a_new_topic(fits), a_new_topic(too_long)])
    assert made[fits].ok
    assert made[too_long].code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "212" in (made[too_long].message or "")


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize(
    ("binding", "allowed"),
    [
        (on_cluster(Operation.CREATE), True),
        (on_cluster(Operation.CREATE, "kafka-cluster"), True),
        (scoped(topic_grant(Operation.CREATE, "invoices")), True),
        (on_cluster(Operation.CREATE, HR), False),
        (on_cluster(Operation.CREATE_VIRTUAL_CLUSTER), False),
        (topic_grant(Operation.CREATE, "invoices"), False),
    ],
    ids=["its-own", "physical", "the-name", "another", "to-make-virtual-clusters", "global-name"],
)
def test_who_may_create(compat: Compat, binding, allowed: bool):
    """VC-158: by a right on the virtual cluster; a global one on that name is of another topic."""
    cluster = two_tenants(binding, compat=compat, members_may=False)
    result = connect(cluster).create_topics([a_new_topic("invoices")])["invoices"]
    assert result.code is (ErrorCode.NONE if allowed else DENIED)


def test_a_name_twice_in_a_request():
    cluster = two_tenants()
    before = topics(cluster)
    twice = connect(cluster).create_topics([a_new_topic("x"), a_new_topic("x")])
    assert codes(twice) == {"x": ErrorCode.INVALID_REQUEST}
    assert topics(cluster) == before


@pytest.mark.parametrize("compat", BOTH)
def test_deleting_removes_the_link_only(compat: Compat):
    """VC-031, VC-032: data stays, also for who shares it."""
    cluster = two_tenants(compat=compat)
    result = connect(cluster).delete_topics(["prices", "orders"])
    assert set(codes(result).values()) == {ErrorCode.NONE}
    assert tenant(cluster).links == {}
    assert {SHARED, PHYSICAL[SALES]} <= topics(cluster)
    shared = connect(cluster, "User:b").metadata(["prices"])[0]
    assert shared.error is ErrorCode.NONE


@pytest.mark.parametrize("compat", BOTH)
def test_rights_are_asked_for_before_existence(compat: Compat):
    """VC-150: what may not be known of is denied whether or not it is there."""
    cluster = two_tenants(scoped(topic_grant(Operation.DELETE, "gone")), compat=compat,
                          members_may=False)  # fmt: skip
    result = connect(cluster).delete_topics(["orders", "never", "gone", PHYSICAL[SALES]])
    assert codes(result) == {
        "orders": DENIED,
        "never": DENIED,
        "gone": UNKNOWN,
        PHYSICAL[SALES]: DENIED,
    }
    assert tenant(cluster).links.keys() == {"orders", "prices"}


def test_deleting_by_topic_id():
    """VC-039: the one link goes; of two it can't be told which is meant."""
    cluster = two_tenants()
    link(cluster, SALES, "old.orders", PHYSICAL[SALES])
    state = cluster.read_state()
    twice, once, foreign = (
        state.topics[name].topic_id for name in (PHYSICAL[SALES], SHARED, PHYSICAL[HR])
    )
    result = connect(cluster).delete_topics(topic_ids=[twice, once, foreign, "no-such-id"])
    assert codes(result) == {
        twice: ErrorCode.INVALID_REQUEST,
        once: ErrorCode.NONE,
        foreign: ErrorCode.UNKNOWN_TOPIC_ID,
        "no-such-id": ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert tenant(cluster).links.keys() == {"orders", "old.orders"}
    assert tenant(cluster, HR).links.keys() == {"orders", "prices"}


def test_deleting_by_topic_id_needs_the_right():
    """VC-150."""
    cluster = two_tenants(scoped(topic_grant(Operation.DESCRIBE, "orders")), members_may=False)
    state = cluster.read_state()
    seen, unseen = (state.topics[name].topic_id for name in (PHYSICAL[SALES], SHARED))
    result = connect(cluster).delete_topics(topic_ids=[seen, unseen])
    assert codes(result) == {seen: DENIED, unseen: ErrorCode.UNKNOWN_TOPIC_ID}


def test_partitions_are_added_for_everyone_who_shares():
    """VC-036, VC-249."""
    cluster = two_tenants()
    result = connect(cluster).create_partitions(
        [NewPartitions(topic="prices", count=3), NewPartitions(topic="orders", count=1)]
    )
    assert codes(result) == {"prices": ErrorCode.NONE, "orders": ErrorCode.INVALID_PARTITIONS}
    words = result["orders"].message or ""
    assert "The topic orders currently" in words
    assert PHYSICAL[SALES] not in words
    assert len(cluster.read_state().topics[SHARED].assignment) == 3


def test_partitions_need_alter_on_the_link():
    cluster = two_tenants(scoped(topic_grant(Operation.ALTER, "gone")), members_may=False)
    result = connect(cluster).create_partitions(
        [NewPartitions(topic=name, count=9) for name in ("orders", "gone", "gone2")]
    )
    assert codes(result) == {"orders": DENIED, "gone": UNKNOWN, "gone2": DENIED}


def test_metadata_lists_links_and_nothing_else():
    """VC-038, VC-087, VC-030."""
    cluster = two_tenants()
    assert root(cluster).create_topics([a_new_topic("prices")])["prices"].ok
    described = connect(cluster).metadata()
    assert [topic.name for topic in described] == ["orders", "prices"]
    state = cluster.read_state()
    assert [topic.topic_id for topic in described] == [
        state.topics[PHYSICAL[SALES]].topic_id,
        state.topics[SHARED].topic_id,
    ]
    assert [topic.name for topic in root(cluster).metadata()] == sorted(state.topics)


def test_metadata_of_what_is_not_a_link():
    """VC-029, VC-082: there is no falling back to a physical topic."""
    cluster = two_tenants()
    assert root(cluster).create_topics([a_new_topic("global")])["global"].ok
    asked = ["orders", "global", PHYSICAL[SALES], "no such name"]
    described = {topic.name: topic.error for topic in connect(cluster).metadata(asked)}
    assert described == {
        "orders": ErrorCode.NONE,
        "global": UNKNOWN,
        PHYSICAL[SALES]: UNKNOWN,
        "no such name": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


def test_metadata_shows_what_may_be_described():
    """VC-087, VC-150."""
    cluster = two_tenants(scoped(topic_grant(Operation.READ, "prices")), members_may=False)
    a = connect(cluster)
    assert [topic.name for topic in a.metadata()] == ["prices"]
    assert [topic.error for topic in a.metadata(["orders", "never"])] == [DENIED, DENIED]


def test_metadata_creates_what_is_missing_where_it_is_allowed_to():
    """VC-066."""
    cluster = two_tenants()
    a = connect(cluster)
    assert a.metadata(["clicks"])[0].error is UNKNOWN
    created = a.metadata(["clicks", "orders"], allow_auto_create=True)
    assert [(topic.name, topic.error) for topic in created] == [
        ("clicks", ErrorCode.NONE),
        ("orders", ErrorCode.NONE),
    ]
    assert tenant(cluster).links["clicks"].topic.endswith(".clicks")
    assert "clicks" not in topics(cluster)
    unbound = root(cluster).metadata(["plain"], allow_auto_create=True)
    assert unbound[0].error is ErrorCode.NONE
    assert "plain" in topics(cluster)


def test_metadata_creates_nothing_without_the_right():
    """VC-066, VC-158."""
    describe = scoped(a_grant(Operation.DESCRIBE, name="*"))
    cluster = two_tenants(describe, members_may=False)
    before = topics(cluster)
    assert connect(cluster).metadata(["x"], allow_auto_create=True)[0].error is UNKNOWN
    assert topics(cluster) == before


def test_brokers_can_be_told_to_create_nothing():
    """VC-066: by the config that today's brokers have for it."""
    cluster = a_cluster(static_configs={"auto.create.topics.enable": "false"})
    assert admin(cluster).metadata(["x"], allow_auto_create=True)[0].error is UNKNOWN
    assert topics(cluster) == set()


def test_an_old_global_acl_reaches_through_a_link():
    """VC-103."""
    old = a_grant(Operation.ALL, name=PHYSICAL[SALES])
    cluster = two_tenants(old, a_grant(Operation.ALL, name="prices"), members_may=False)
    errors = [topic.error for topic in connect(cluster).metadata(["orders", "prices"])]
    assert errors == [ErrorCode.NONE, DENIED]


def test_internal_names_of_connect_and_streams_in_two_virtual_clusters():
    """VC-340, VC-341, VC-342: each has its own, with the same names behind its uuid."""
    cluster = two_tenants()
    names = ["connect-offsets", "connect-configs", "connect-status"]
    names += ["app-store-changelog", "app-by-word-repartition"]
    for principal in ("User:a", "User:b"):
        made = connect(cluster, principal).create_topics([a_new_topic(name) for name in names])
        assert set(codes(made).values()) == {ErrorCode.NONE}
    sales, hr = tenant(cluster).links, tenant(cluster, HR).links
    assert all(sales[name].topic != hr[name].topic for name in names)
    for links in (sales, hr):
        assert all(UUID(links[name].topic.removesuffix(f".{name}")) for name in names)
