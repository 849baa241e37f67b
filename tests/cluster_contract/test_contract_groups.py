"""Consumer groups outside of virtual clusters, and client metrics, on every cluster."""

from collections.abc import Callable, Mapping

import pytest
from cluster_contract.contract import created, judge, refused, send
from kafka.protocol.admin import ListConfigResourcesRequest
from patience import eventually
from used import configs_of, groups_of

from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup, TopicOffsets
from kgitops.model.results import ErrorCode

pytestmark = pytest.mark.default_kafka

GROUP, METRICS = "billing.app", "lag"
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def group_configs(configs: Mapping[str, str | None]) -> req.AlterConfigResourceRequest:
    return req.AlterConfigResourceRequest(
        resource_type=ConfigResourceType.GROUP, resource_name=GROUP, configs=configs
    )


def metrics_configs(configs: Mapping[str, str | None]) -> req.AlterConfigResourceRequest:
    return req.AlterConfigResourceRequest(
        resource_type=ConfigResourceType.CLIENT_METRICS, resource_name=METRICS, configs=configs
    )


def commitment(
    topic_id: str, offsets: Mapping[int, int], topic: str = "orders"
) -> req.AlterConsumerGroupOffsetsRequest:
    topics = (TopicOffsets(topic=topic, topic_id=topic_id, offsets=offsets),)
    return req.AlterConsumerGroupOffsetsRequest(group=GROUP, topics=topics)


def found(cluster: Cluster) -> FoundGroup | None:
    return groups_of(cluster, frozenset({GROUP, "nobody"})).get(GROUP)


def await_group(cluster: Cluster, shows: Callable[[FoundGroup | None], bool]) -> FoundGroup | None:
    """The group once it shows what is waited for."""
    return eventually(lambda: found(cluster), shows, what="the group is as it was asked for")


def test_configs_of_a_group_that_does_not_exist(cluster: Cluster):
    assert found(cluster) is None
    asked = group_configs({SESSION: "50000", HEARTBEAT: "6000"})
    assert judge(cluster, asked) is ErrorCode.NONE
    assert found(cluster) is None
    assert send(cluster, asked).ok
    group = await_group(cluster, lambda group: group is not None and len(group.configs) == 2)
    assert group == FoundGroup(name=GROUP, configs={HEARTBEAT: "6000", SESSION: "50000"})
    assert send(cluster, group_configs({SESSION: None})).ok
    left = await_group(cluster, lambda group: group is not None and len(group.configs) == 1)
    assert left is not None
    assert left.configs == {HEARTBEAT: "6000"}


def test_what_has_configs_is_listed(cluster: Cluster):
    for kind, name, ask, key, value in (
        (ConfigResourceType.GROUP, GROUP, group_configs, SESSION, "50000"),
        (ConfigResourceType.CLIENT_METRICS, METRICS, metrics_configs, "interval.ms", "60000"),
    ):
        assert name not in configs_of(cluster, kind)
        assert send(cluster, ask({key: value})).ok
        await_listed(cluster, kind, name, expected=True)
        assert send(cluster, ask({key: None})).ok
        await_listed(cluster, kind, name, expected=False)


def test_groups_with_configs_are_found_where_brokers_do_not_list_them(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
):
    """As before Kafka 4.1; the same of the embedded clusters, which are not asked by requests."""
    topic_id = created(cluster, "orders").topic_id or ""
    assert send(cluster, commitment(topic_id, {0: 0})).ok
    assert send(cluster, group_configs({SESSION: "50000"})).ok
    await_group(cluster, lambda group: group is not None and bool(group.configs) and group.known)
    supports = Wire.supports

    def like_older(wire: Wire, request: type, version: int = 0) -> bool:
        return request is not ListConfigResourcesRequest and supports(wire, request, version)

    monkeypatch.setattr(Wire, "supports", like_older)
    await_listed(cluster, ConfigResourceType.GROUP, GROUP, expected=True)
    monkeypatch.undo()
    assert send(cluster, req.DeleteConsumerGroupRequest(group=GROUP)).ok


def await_listed(cluster: Cluster, kind: ConfigResourceType, name: str, *, expected: bool) -> None:
    eventually(
        lambda: configs_of(cluster, kind),
        lambda names: (name in names) is expected,
        what=f"{name} is {'' if expected else 'not '}listed",
    )


def test_a_wrong_config_of_a_group_is_refused(cluster: Cluster):
    assert refused(cluster, group_configs({SESSION: "0"})) is ErrorCode.INVALID_CONFIG
    assert refused(cluster, group_configs({"no.such.config": "1"})) is ErrorCode.INVALID_CONFIG
    assert found(cluster) is None


def test_client_metrics_exist_as_long_as_they_have_configs(cluster: Cluster):
    names = frozenset({METRICS})
    asked = metrics_configs({"interval.ms": "60000", "metrics": "org.apache.kafka.consumer."})
    assert judge(cluster, asked) is ErrorCode.NONE
    assert configs_of(cluster, ConfigResourceType.CLIENT_METRICS, names) == {}
    assert send(cluster, asked).ok
    held = eventually(
        lambda: configs_of(cluster, ConfigResourceType.CLIENT_METRICS, names),
        what="the resource is there",
    )
    assert held[METRICS] == dict(asked.configs)
    assert send(cluster, metrics_configs(dict.fromkeys(asked.configs))).ok
    eventually(
        lambda: configs_of(cluster, ConfigResourceType.CLIENT_METRICS, names),
        lambda left: not left,
        what="it is removed",
    )


def test_a_wrong_config_of_client_metrics_is_refused(cluster: Cluster):
    assert refused(cluster, metrics_configs({"interval.ms": "1"})) is ErrorCode.INVALID_REQUEST


def test_offsets_are_committed_and_deleted_with_the_group(cluster: Cluster):
    topic_id = created(cluster, "orders").topic_id or ""
    assert send(cluster, commitment(topic_id, {0: 7, 1: 0})).ok
    group = found(cluster)
    offsets = {("orders", 0): 7, ("orders", 1): 0}
    assert group == FoundGroup(name=GROUP, known=True, offsets=offsets)
    assert send(cluster, commitment(topic_id, {1: 3})).ok
    again = found(cluster)
    assert again is not None
    assert again.offsets == {("orders", 0): 7, ("orders", 1): 3}
    assert send(cluster, req.DeleteConsumerGroupRequest(group=GROUP)).ok
    assert await_group(cluster, lambda group: group is None) is None


def test_offsets_of_another_topic_of_the_name_are_not_committed(cluster: Cluster):
    created(cluster, "orders")
    other = "AAAAAAAAAAAAAAAAAAAAAQ"
    assert refused(cluster, commitment(other, {0: 1})) is ErrorCode.UNKNOWN_TOPIC_ID
    gone = commitment(other, {0: 1}, topic="gone")
    assert refused(cluster, gone) is ErrorCode.UNKNOWN_TOPIC_ID
    assert found(cluster) is None


def test_a_partition_that_does_not_exist_is_refused(cluster: Cluster):
    topic_id = created(cluster, "orders").topic_id or ""
    code = refused(cluster, commitment(topic_id, {99: 1}))
    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    group = found(cluster)
    assert group is None or not group.offsets


def test_a_group_that_does_not_exist_is_not_deleted(cluster: Cluster):
    request = req.DeleteConsumerGroupRequest(group=GROUP)
    assert refused(cluster, request) is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_by_time_of_an_empty_topic(cluster: Cluster):
    created(cluster, "orders")
    assert cluster.read_offsets_since(frozenset({"orders", "gone"}), 0) == {}
