"""DeleteRecords (A4-81), and the offsets that simulated producers leave."""

import pytest
from cluster.clusters import BOTH, a_cluster, a_new_topic, admin
from used import used

from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import Compat
from kgitops.model.results import ErrorCode, RequestResult

ORDERS = ("orders", 0)


def orders(compat: Compat = Compat.SEED, **configs: str):
    """A topic whose partition 0, led by broker 2, holds the records 10 to 99."""
    cluster = a_cluster(compat=compat)
    topic = NewTopic(
        name="orders",
        assignments=[(0, [2, 1])],
        configs={key.replace("_", "."): value for key, value in configs.items()},
    )
    admin(cluster).create_topics([topic])
    cluster.produce("orders", 0, records=100, bytes_each=1_000)
    if "cleanup_policy" not in configs:
        assert admin(cluster).delete_records({ORDERS: 10})[ORDERS].result.ok
    return cluster


def start_of(cluster) -> int | None:
    return used(cluster).usage["orders"].log_start_offsets[0]


@pytest.mark.parametrize(
    ("offset", "code", "start"),
    [
        (40, ErrorCode.NONE, 40),
        (100, ErrorCode.NONE, 100),
        (-1, ErrorCode.NONE, 100),
        (10, ErrorCode.NONE, 10),
        (0, ErrorCode.NONE, 10),
        (101, ErrorCode.OFFSET_OUT_OF_RANGE, 10),
        (-2, ErrorCode.OFFSET_OUT_OF_RANGE, 10),
    ],
)
@pytest.mark.parametrize("compat", BOTH)
def test_offsets(compat: Compat, offset: int, code: ErrorCode, start: int):
    """A4-81, P201-59: the offset is the first that is kept; -1 means the high watermark."""
    cluster = orders(compat)
    outcome = admin(cluster).delete_records({ORDERS: offset})[ORDERS]
    assert outcome.result.code is code
    assert outcome.low_watermark == (start if code is ErrorCode.NONE else -1)
    assert start_of(cluster) == start


def test_the_size_shrinks_with_the_records():
    cluster = orders()
    admin(cluster).delete_records({ORDERS: 70})
    usage = used(cluster).usage["orders"]
    assert (usage.high_watermarks, usage.size_bytes) == ((100,), (30_000,))


@pytest.mark.parametrize(
    ("partition", "code"),
    [
        (("none", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (("orders", 1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (("__consumer_offsets", 0), ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_partitions_that_have_no_records_to_delete(partition, code: ErrorCode):
    """A4-81."""
    cluster = orders()
    admin(cluster).create_topics([a_new_topic("__consumer_offsets")])
    assert admin(cluster).delete_records({partition: 0})[partition].result.code is code


def test_only_the_leader_deletes():
    """A4-81."""
    connection = admin(orders())
    asked = {broker: connection.delete_records({ORDERS: 50}, broker=broker) for broker in (1, 2)}
    assert asked[1][ORDERS].result.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert asked[2][ORDERS].result.ok


def test_a_dry_run_and_words_are_the_seeds_alone():
    """P201-106, P201-107, C-22, C-29."""
    seed, kraft = orders(Compat.SEED), orders(Compat.KRAFT)
    assert admin(seed).delete_records({ORDERS: 50}, validate_only=True)[ORDERS].result.ok
    refused = admin(kraft).delete_records({ORDERS: 50}, validate_only=True)[ORDERS]
    assert refused.result.code is ErrorCode.UNSUPPORTED_VERSION
    assert (start_of(seed), start_of(kraft)) == (10, 10)
    assert admin(seed).delete_records({ORDERS: 500})[ORDERS].result.message
    assert admin(kraft).delete_records({ORDERS: 500})[ORDERS].result.message is None


@pytest.mark.parametrize("compat", BOTH)
def test_the_first_version_has_neither_a_dry_run_nor_words(compat: Compat):
    """P201-106, C-29: both came with version 1."""
    cluster = orders(compat)
    first = {"version": 0}
    outcome = admin(cluster).delete_records({ORDERS: 500}, **first)[ORDERS]
    assert outcome.result == RequestResult(code=ErrorCode.OFFSET_OUT_OF_RANGE)
    refused = admin(cluster).delete_records({ORDERS: 50}, validate_only=True, **first)[ORDERS]
    assert refused.result.code is ErrorCode.UNSUPPORTED_VERSION
    assert start_of(cluster) == 10
