"""Clients in a virtual cluster see its names alone, in every answer about topics."""

from collections.abc import Iterator

import pytest
from cluster.clusters import BOTH, a_new_topic, admin
from cluster.embedded.bound.tenancies import change, execute, link
from serve.answers.test_metadata_answers import by_id
from serve.answers.test_partition_answers import elect, elected, move, moving, page
from serve.raw_client import RawClient
from serve.served import cluster_of, served
from serve.topic_requests import codes, create, delete, metadata

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID

ORDERS, OTHER = "emea.sales.orders", "emea.hr.people"
APP = "app"


@pytest.fixture(params=BOTH)
def tenants(request: pytest.FixtureRequest) -> EmbeddedCluster:
    """A virtual cluster with a link to one of two topics; the client id is in it."""
    cluster = cluster_of(compat=request.param)
    admin(cluster).create_topics([a_new_topic(ORDERS), a_new_topic(OTHER)])
    execute(cluster, req.CreateVirtualClusterRequest(virtual_cluster="sales"))
    link(cluster, "sales", "orders", ORDERS)
    change(cluster, "sales", EntityType.CLIENT_ID, APP)
    return cluster


@pytest.fixture
def both(tenants: EmbeddedCluster) -> Iterator[tuple[RawClient, RawClient]]:
    """A client in the virtual cluster, and one outside."""
    with (
        served(tenants) as cluster,
        cluster.client(client_id=APP) as inside,
        cluster.client(client_id="outside") as outside,
    ):
        yield inside, outside


def test_topics_have_local_names(both: tuple[RawClient, RawClient]) -> None:
    """VC-038: by name, by id and among all; what others own is unknown by each of these ways."""
    inside, outside = both
    ids = {row.name: row.topic_id for row in metadata(outside, None).topics}
    assert codes(metadata(inside, None).topics) == {"orders": 0}
    assert codes(metadata(inside, "orders", ORDERS, OTHER).topics) == {
        "orders": 0,
        ORDERS: 3,
        OTHER: 3,
    }
    rows = by_id(inside, ids[ORDERS], ids[OTHER])
    assert {(row.name, row.topic_id): row.error_code for row in rows} == {
        ("orders", ids[ORDERS]): 0,
        (None, ids[OTHER]): 100,
    }
    assert [row.name for row in page(inside).topics] == ["orders"]
    assert codes(page(inside, "orders", OTHER).topics) == {"orders": 0, OTHER: 3}


def test_topics_are_made_and_unlinked(both: tuple[RawClient, RawClient]) -> None:
    """VC-056, VC-031, VC-039: the id is the physical topic's, and means nothing to others."""
    inside, outside = both
    (made,) = create(inside, "clicks")
    assert (made.error_code, made.num_partitions) == (0, 2)
    assert [row.topic_id for row in metadata(inside, "clicks").topics] == [made.topic_id]
    (tried,) = create(inside, "views", validate_only=True)
    assert (tried.error_code, tried.num_partitions, bool(tried.configs)) == (0, 2, True)
    foreign = metadata(outside, OTHER).topics[0].topic_id
    rows = delete(inside, made.topic_id, foreign, OTHER)
    assert {(row.name, row.topic_id): row.error_code for row in rows} == {
        ("clicks", made.topic_id): 0,
        (None, foreign): 100,
        (OTHER, NIL_UUID): 3,
    }
    assert [row.name for row in metadata(inside, None).topics] == ["orders"]
    assert len(metadata(outside, None).topics) == 3


def test_partitions_have_local_names(
    both: tuple[RawClient, RawClient], tenants: EmbeddedCluster
) -> None:
    """VC-036, VC-159: partitions, moves, elections and log directories."""
    inside, outside = both
    request = messages.CreatePartitionsRequest
    rows = inside.ask(
        "CreatePartitions",
        3,
        request(
            topics=[
                request.CreatePartitionsTopic(name="orders", count=3, assignments=None),
                request.CreatePartitionsTopic(name=OTHER, count=3, assignments=None),
            ],
            timeout_ms=10_000,
        ),
    ).results
    assert codes(rows) == {"orders": 0, OTHER: 3}
    assert len(metadata(outside, ORDERS).topics[0].partitions) == 3
    tenants.faults.hold_reassignments = True
    held = metadata(inside, "orders").topics[0].partitions[0].replica_nodes
    target = [({1, 2, 3} - set(held)).pop(), held[0]]
    answer = move(inside, ("orders", 0, target), (OTHER, 0, target))
    assert [row.partitions[0].error_code for row in answer.responses] == [0, 3]
    assert list(moving(inside)) == ["orders"]
    assert list(moving(outside)) == [ORDERS]
    assert elected(elect(inside, 0, {"orders": [0], ORDERS: [0]})) == {
        "orders": [(0, 84)],
        ORDERS: [(0, 3)],
    }
    dirs = inside.ask("DescribeLogDirs", 4, messages.DescribeLogDirsRequest(topics=None))
    assert {topic.name for topic in dirs.results[0].topics} <= {"orders"}
