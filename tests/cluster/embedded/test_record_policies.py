"""Policies on deleted records: each leader judges its part, kgitops judges its request whole."""

from cluster.clusters import admin
from cluster.policing import Recorder, policed

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.requests import DeleteRecordsRequest

LED_BY_1_2_1 = [(0, [1, 2]), (1, [2, 1]), (2, [1, 3])]


def orders(*policies) -> EmbeddedCluster:
    """A topic whose partitions 0 and 2 are led by broker 1, and 1 by 2; each has records 2…9."""
    cluster = policed(*policies)
    held, cluster.controller.policies = cluster.controller.policies, None
    admin(cluster).create_topics([NewTopic(name="orders", assignments=LED_BY_1_2_1)])
    for partition in range(3):
        cluster.produce("orders", partition, records=10, bytes_each=1)
        admin(cluster).delete_records({("orders", partition): 2})
    cluster.controller.policies = held
    return cluster


def starts(cluster: EmbeddedCluster) -> tuple[int | None, ...]:
    return cluster.read_usage(frozenset({"orders"})).topics["orders"].log_start_offsets


def deleted(cluster: EmbeddedCluster, offsets: dict[int, int], **how):
    keys = {("orders", partition): offset for partition, offset in offsets.items()}
    rows = admin(cluster).delete_records(keys, **how)
    return {partition: row for (_, partition), row in rows.items()}


def test_each_leader_judges_its_part():
    """P201-63, P201-58: two leaders, two calls, disjoint maps, their union is complete.

    P201-59, C-15: each offset is the first that is kept.
    """
    recorder = Recorder()
    cluster = orders(recorder)
    rows = deleted(cluster, {0: 5, 1: 6, 2: 7})
    assert [request.deleted_message_offsets for request in recorder.requests] == [
        {0: 5, 2: 7},
        {1: 6},
    ]
    assert [call.node["node.id"] for call in recorder.calls] == ["1", "2"]
    assert {partition: row.low_watermark for partition, row in rows.items()} == {0: 5, 1: 6, 2: 7}
    assert starts(cluster) == (5, 6, 7)


def test_all_records_are_told_as_an_offset():
    """P201-61: a policy never sees -1."""
    recorder = Recorder()
    deleted(orders(recorder), {0: -1})
    assert recorder.requests[0].deleted_message_offsets == {0: 10}


def test_partitions_with_nothing_to_delete_are_no_news():
    """P201-60: they are not in the map, and where no other is, nothing is asked."""
    recorder = Recorder()
    cluster = orders(recorder)
    assert deleted(cluster, {0: 1, 2: 6})[0].low_watermark == 2
    assert recorder.requests[0].deleted_message_offsets == {2: 6}
    assert deleted(cluster, {0: 2})[0].result.ok
    assert len(recorder.calls) == 1


def test_a_denial_is_told_on_every_partition_of_the_part():
    """P201-109, P201-75: also on that which would have lost nothing; the low watermark is -1."""
    policy = Recorder(
        says=lambda request, _: "no" if 2 in request.deleted_message_offsets else None
    )
    cluster = orders(policy)
    rows = deleted(cluster, {0: 1, 1: 6, 2: 7, 9: 1})
    assert {
        partition: (int(row.result.code), row.result.message, row.low_watermark)
        for partition, row in rows.items()
        if partition != 9
    } == {0: (44, "no", -1), 1: (0, None, 6), 2: (44, "no", -1)}
    assert rows[9].result.code == 3
    assert starts(cluster) == (2, 6, 2)


def test_kgitops_own_request_is_judged_whole_and_leaves_nothing_half_deleted():
    """P201-63: what a plan judged in one is judged in one, whoever leads its partitions."""

    def at_most_two(request, _):
        return "too many" if len(request.deleted_message_offsets) > 2 else None

    policy = Recorder(says=at_most_two)
    cluster = orders(policy)
    topic_id = cluster.read_state().topics["orders"].topic_id
    assert topic_id
    request = DeleteRecordsRequest(
        topic="orders", topic_id=topic_id, deleted_message_offsets={0: 5, 1: 6, 2: 7}
    )
    (result,) = cluster.execute([request], validate_only=False, principal="User:a")
    assert (result.code, result.message) == (44, "too many")
    assert starts(cluster) == (2, 2, 2)
    assert [call.request.deleted_message_offsets for call in policy.calls] == [{0: 5, 1: 6, 2: 7}]
    assert all(row.result.ok for row in deleted(cluster, {0: 5, 1: 6, 2: 7}).values())
