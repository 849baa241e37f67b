"""Producers and their transactions in virtual clusters and outside."""

from pathlib import Path

import pytest
from cluster.clusters import ROOT, a_cluster, a_grant, admin, topic_grant
from cluster.embedded.bound.tenancies import (
    SALES,
    change,
    connect,
    on_cluster,
    root,
    scoped,
    two_tenants,
)
from msgspec.structs import replace

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, PermissionType, ResourceType
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.results import ErrorCode

DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
FENCED = ErrorCode.PRODUCER_FENCED


def adopted(cluster, name: str):
    """What is answered to adding a transactional id to a virtual cluster."""
    request = AlterVirtualClusterRequest(
        virtual_cluster=SALES, entity_type=EntityType.TRANSACTIONAL_ID, entity_name=name
    )
    return cluster.execute([request], validate_only=False, principal=ROOT)[0]


def test_the_same_transactional_id_in_two_virtual_clusters():
    """VC-120, VC-249: and outside; none of them fences the others."""
    cluster = two_tenants()
    callers = [connect(cluster), connect(cluster, "User:b"), root(cluster)]
    producers = [caller.init_producer_id("t") for caller in callers]
    assert len({producer.producer_id for producer in producers}) == 3
    for caller, producer in zip(callers, producers, strict=True):
        assert caller.add_offsets_to_txn("t", producer, "g").ok
        assert caller.end_txn("t", producer).ok


def test_a_newer_producer_fences_the_older_one():
    """VC-120; an epoch of its own ends the transaction of the older one, as in Kafka."""
    cluster = two_tenants()
    a = connect(cluster)
    first = a.init_producer_id("t")
    assert a.add_offsets_to_txn("t", first, "g").ok
    second = a.init_producer_id("t")
    assert (second.producer_id, second.epoch) == (first.producer_id, first.epoch + 2)
    assert a.add_offsets_to_txn("t", first, "g").code is FENCED
    assert a.end_txn("t", first).code is FENCED
    assert a.end_txn("t", second).code is ErrorCode.INVALID_TXN_STATE
    assert a.add_offsets_to_txn("t", second, "g").ok
    assert a.end_txn("t", second).ok
    assert a.end_txn("t", second).ok
    assert a.end_txn("t", second, committed=False).code is ErrorCode.INVALID_TXN_STATE
    stranger = replace(second, producer_id=99)
    assert a.end_txn("t", stranger).code is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_transaction_is_in_one_virtual_cluster():
    """VC-121: the id of another one's group, or of its transaction, means nothing of it here."""
    group = a_grant(Operation.READ, ResourceType.GROUP, "g")
    transaction = a_grant(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")
    cluster = two_tenants(scoped(group), scoped(transaction), members_may=False)
    rights_of_b = [
        scoped(a_grant(Operation.ALL, kind, "*", "User:b"), "hr")
        for kind in (ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    ]
    root(cluster).create_acls(rights_of_b)
    a, b = connect(cluster), connect(cluster, "User:b")
    theirs = b.init_producer_id("t")
    mine = a.init_producer_id("t")
    denied = a.add_offsets_to_txn("t", mine, "hr:g")
    assert denied.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert a.end_txn("hr:t", theirs).code is DENIED
    assert a.init_producer_id("hr:t").result.code is DENIED
    assert a.end_txn("t", theirs).code is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert b.add_offsets_to_txn("t", theirs, "g").ok
    assert b.end_txn("t", theirs).ok


def test_a_transaction_makes_no_group_that_could_be_taken_for_another():
    """VC-117."""
    outside = root(two_tenants())
    producer = outside.init_producer_id("t")
    refused = outside.add_offsets_to_txn("t", producer, "sales:new")
    assert refused.code is ErrorCode.INVALID_REQUEST
    assert "GROUP_NAME_COLLISION" in (refused.message or "")


def test_an_open_transaction_is_not_taken_over():
    """VC-122: until it is ended, or a newer producer has ended it."""
    cluster = two_tenants()
    outside = root(cluster)
    producer = outside.init_producer_id("t")
    assert outside.add_offsets_to_txn("t", producer, "g").ok
    refused = adopted(cluster, "t")
    assert refused.code is ErrorCode.CONCURRENT_TRANSACTIONS
    assert "TXN_IN_PROGRESS" in (refused.message or "")
    assert outside.end_txn("t", producer).ok
    assert adopted(cluster, "t").ok
    other = outside.init_producer_id("u")
    outside.add_offsets_to_txn("u", other, "g")
    assert not adopted(cluster, "u").ok
    outside.init_producer_id("u")
    assert adopted(cluster, "u").ok


def test_transactional_ids_in_use_are_described():
    """VC-124."""
    cluster = two_tenants()
    connect(cluster).init_producer_id("used")
    change(cluster, SALES, EntityType.TRANSACTIONAL_ID, "added")
    described = root(cluster).describe_virtual_clusters([SALES])[SALES].description
    assert described is not None
    assert described.transactional_id_links == ("added", "used")


@pytest.mark.parametrize(
    ("bindings", "allowed"),
    [
        ([], False),
        ([scoped(topic_grant(Operation.WRITE))], True),
        ([topic_grant(Operation.WRITE, "anything")], True),
        ([on_cluster(Operation.IDEMPOTENT_WRITE, CLUSTER_NAME)], True),
        ([on_cluster(Operation.IDEMPOTENT_WRITE)], False),
        ([scoped(topic_grant(Operation.WRITE), "hr")], False),
        ([scoped(topic_grant(Operation.READ))], False),
        (
            [
                scoped(topic_grant(Operation.WRITE)),
                scoped(a_grant(Operation.WRITE, name="*", permission_type=PermissionType.DENY)),
            ],
            False,
        ),
    ],
)
def test_a_producer_without_transactions(bindings, allowed: bool):
    """VC-123, VC-160b: what it writes with is of the physical cluster, and means no name."""
    cluster = two_tenants(*bindings, members_may=False)
    producer = connect(cluster).init_producer_id()
    assert producer.result.ok is allowed
    if allowed:
        assert connect(cluster).init_producer_id().producer_id > producer.producer_id


def test_transactions_outlive_a_restart(tmp_path: Path):
    """VC-319: the log has them."""
    cluster = a_cluster(tmp_path / "store.db")
    first = admin(cluster).init_producer_id("t")
    assert admin(cluster).add_offsets_to_txn("t", first, "g").ok
    cluster.close()
    again = a_cluster(tmp_path / "store.db")
    assert admin(again).init_producer_id().producer_id == first.producer_id + 1
    assert again.controller.image().transactions.by_id["t"].open
    assert admin(again).end_txn("t", first).ok
    again.close()
