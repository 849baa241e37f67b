"""DescribeCluster, DescribeQuorum and UpdateFeatures as clients see them."""

from collections.abc import Iterator

import pytest
from cluster.clusters import a_grant
from serve.plain_requests import ask
from serve.raw_client import RawClient, raw_client
from serve.served import client_of, cluster_of
from serve.topic_requests import create

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, ResourceType
from kgitops.serve.nodes import Endpoint
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages
from kgitops.wire.messages import Message

ME = "User:ANONYMOUS"
METADATA_LOG = "__cluster_metadata"


def controllers(client: RawClient) -> list[Message]:
    """The controllers that DescribeQuorum names."""
    return list(quorum(client).nodes)


def quorum(client: RawClient, topic: str = METADATA_LOG, version: int = 2) -> Message:
    """Send DescribeQuorum."""
    row = {"topic_name": topic, "partitions": {"partition_index": 0}}
    return ask(client, "DescribeQuorum", version, topics=row)


@pytest.fixture
def controller(client: RawClient) -> Iterator[RawClient]:
    """A connection to the controller's listener."""
    listener = controllers(client)[0].listeners[0]
    with raw_client(Endpoint(listener.host, listener.port)) as connected:
        yield connected


@pytest.mark.parametrize("version", range(3))
def test_brokers_of_a_cluster(version: int) -> None:
    """A4-20, A4-21: fenced ones only for who asks for them, which version 2 can."""
    cluster = cluster_of(brokers=[Broker(id=1, rack="a"), Broker(id=2), Broker(id=3)])
    cluster.fence(1)
    with client_of(cluster, broker=1) as client:
        request = messages.DescribeClusterRequest()
        answer = client.ask("DescribeCluster", version, request)
        assert [row.broker_id for row in answer.brokers] == [2, 3]
        assert (answer.controller_id, answer.endpoint_type) == (2, 1)
        assert answer.cluster_id == cluster.read_state().cluster_id
        assert answer.cluster_authorized_operations == -(2**31)
        if version >= 2:
            request.include_fenced_brokers = True
            answer = client.ask("DescribeCluster", version, request)
            rows = [(row.broker_id, row.rack, row.is_fenced) for row in answer.brokers]
            assert rows == [(1, "a", True), (2, None, False), (3, None, False)]


def test_kinds_of_endpoints(server: KafkaServer, client: RawClient, controller: RawClient) -> None:
    """KIP-919: each listener tells of its own kind, and refuses to tell of others."""
    request = messages.DescribeClusterRequest
    answer = controller.ask("DescribeCluster", 1, request(endpoint_type=2))
    assert (answer.error_code, answer.endpoint_type) == (0, 2)
    assert [row.broker_id for row in answer.brokers] == [row.node_id for row in controllers(client)]
    assert answer.controller_id in [row.broker_id for row in answer.brokers]
    for asked, kind, code in ((client, 2, 114), (controller, 1, 114), (client, 7, 115)):
        refused = asked.ask("DescribeCluster", 1, request(endpoint_type=kind))
        assert (refused.error_code, refused.brokers) == (code, [])
    assert "of type BROKER, but we wanted an endpoint of type CONTROLLER" in (
        client.ask("DescribeCluster", 1, request(endpoint_type=2)).error_message
    )
    assert controller.ask("DescribeCluster", 0, request()).error_code == 42


def test_rights_on_the_cluster() -> None:
    """KIP-430: who may not describe it has none."""
    request = messages.DescribeClusterRequest(include_cluster_authorized_operations=True)
    alter = a_grant(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME, ME)
    create_topics = a_grant(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, ME)
    for rights, bits in (([alter], 1 << 7 | 1 << 8), ([create_topics], 0), ([], 0)):
        with client_of(rights=rights) as client:
            answer = client.ask("DescribeCluster", 1, request)
            assert (answer.error_code, answer.cluster_authorized_operations) == (0, bits)


@pytest.mark.parametrize("version", range(3))
def test_the_quorum(client: RawClient, version: int) -> None:
    """It has a leader and voters; brokers observe, and the log grows."""
    answer = quorum(client, version=version)
    (partition,) = answer.topics[0].partitions
    voters = [row.replica_id for row in partition.current_voters]
    assert partition.leader_id in voters
    assert [row.replica_id for row in partition.observers] == [1, 2, 3]
    assert [row.node_id for row in answer.nodes] == (voters if version >= 2 else [])
    create(client, "a")
    (later,) = quorum(client, version=version).topics[0].partitions
    assert later.high_watermark > partition.high_watermark
    (other,) = quorum(client, "other", version).topics[0].partitions
    assert (other.error_code, bool(other.error_message)) == (3, version >= 2)


def test_who_may_see_the_quorum() -> None:
    """Describe on the cluster; kgitops then knows that the controller answered."""
    with client_of(rights=[]) as client:
        answer = quorum(client)
        assert (answer.error_code, answer.topics, answer.nodes) == (31, [], [])


def update(client: RawClient, version: int, *features: tuple[str, int, int]) -> Message:
    """Send UpdateFeatures: a feature, its level, the kind of update."""
    rows = [{"feature": name, "max_version_level": level} for name, level, _ in features]
    kinds = [{"upgrade_type": kind} if version >= 1 else {} for _, _, kind in features]
    updates = [row | kind for row, kind in zip(rows, kinds, strict=True)]
    return ask(client, "UpdateFeatures", version, feature_updates=updates)


@pytest.mark.parametrize("version", range(3))
def test_levels_of_features_are_fixed(client: RawClient, version: int) -> None:
    """Only no change is one that can be made, and the first error is the answer."""
    software = messages.ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    level = {
        row.name: row.max_version_level
        for row in client.ask("ApiVersions", 4, software).finalized_features
    }["metadata.version"]
    answer = update(client, version, ("metadata.version", level, 1))
    assert (answer.error_code, answer.error_message) == (0, None)
    assert [row.error_code for row in answer.results] == ([0] if version < 2 else [])
    for feature, wrong, problem in (
        ("nope", 1, "does not support this feature"),
        ("metadata.version", level + 1, f"only supports versions 7-{level}"),
        ("metadata.version", -1, "cannot be less than 0"),
        ("metadata.version", level - 1, "Can't downgrade the version of this feature"),
    ):
        answer = update(client, version, ("kraft.version", 1, 1), (feature, wrong, 1))
        assert (answer.error_code, answer.results) == (95, [])
        assert f"Invalid update version {wrong} for feature {feature}. " in answer.error_message
        assert problem in answer.error_message
    if version >= 1:
        assert update(client, version, ("metadata.version", level - 1, 2)).error_code == 95
        assert update(client, version, ("metadata.version", level, 9)).error_code == 95


def test_the_features_of_kafka(client: RawClient) -> None:
    """As a new Kafka 4.3 has them, but for transactions of version 2, which are not served."""
    software = messages.ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    answer = client.ask("ApiVersions", 4, software)
    finalized = {row.name: row.max_version_level for row in answer.finalized_features}
    assert finalized.pop("virtual.clusters") == 1
    assert finalized == {
        "metadata.version": 30,
        "kraft.version": 1,
        "group.version": 1,
        "transaction.version": 1,
        "eligible.leader.replicas.version": 1,
        "share.version": 1,
        "streams.version": 1,
    }
    supported = {row.name: (row.min_version, row.max_version) for row in answer.supported_features}
    assert supported.pop("virtual.clusters") == (0, 1)
    assert supported == dict.fromkeys(finalized, (0, 1)) | {"metadata.version": (7, 30)}
