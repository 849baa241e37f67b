"""Who may produce, fetch and write in transactions; and the names of bound callers."""

from collections.abc import Iterator

import pytest
from cluster.clusters import ROOT, a_grant, admin
from cluster.embedded.bound.tenancies import change, execute, link
from serve.data.batches import batch, fetch, produce
from serve.data.test_records import list_offset, make_topic, recent
from serve.raw_client import RawClient, raw_client
from serve.served import client_of, cluster_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model import requests as req
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.results import ErrorCode
from kgitops.wire import messages


@pytest.fixture
def guarded() -> Iterator[tuple[EmbeddedCluster, RawClient]]:
    """A cluster in which ACLs count, and a client without any."""
    cluster = cluster_of(brokers=1, rights=())
    topic = NewTopic(name="orders", num_partitions=1, replication_factor=1)
    assert admin(cluster, ROOT).create_topics([topic])["orders"].ok
    with client_of(cluster) as client:
        yield cluster, client


def grant(cluster: EmbeddedCluster, operation: Operation, kind: ResourceType, name: str) -> None:
    """Give the client a right."""
    binding = a_grant(operation, kind, name, "User:ANONYMOUS")
    (result,) = admin(cluster, ROOT).create_acls([binding])
    assert result.ok


def test_records_take_rights(guarded: tuple[EmbeddedCluster, RawClient]) -> None:
    """WRITE to produce, READ to fetch, DESCRIBE for offsets."""
    cluster, client = guarded
    data = batch(b"a", first_ms=recent())
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert produce(client, data).error_code == denied
    assert produce(client, data, topic="absent").error_code == denied
    assert fetch(client).error_code == denied
    assert list_offset(client, -1) is denied
    grant(cluster, Operation.WRITE, ResourceType.TOPIC, "orders")
    assert produce(client, data).error_code == 0
    assert fetch(client).error_code == denied
    assert list_offset(client, -1) == (1, -1)
    grant(cluster, Operation.READ, ResourceType.TOPIC, "orders")
    assert fetch(client).error_code == 0


def test_transactions_take_rights(guarded: tuple[EmbeddedCluster, RawClient]) -> None:
    """WRITE on the transactional id."""
    cluster, client = guarded
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    asked = messages.InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    assert client.ask("InitProducerId", 4, asked).error_code == denied
    ended = messages.EndTxnRequest(transactional_id="t", producer_id=0, producer_epoch=0)
    assert client.ask("EndTxn", 3, ended).error_code == denied
    grant(cluster, Operation.WRITE, ResourceType.TOPIC, "orders")
    data = batch(b"a", first_ms=recent())
    assert produce(client, data, transactional_id="t").error_code == denied
    grant(cluster, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")
    assert client.ask("InitProducerId", 4, asked).error_code == 0
    assert client.ask("ListTransactions", 0).transaction_states[0].transactional_id == "t"


def test_a_bound_caller_names_links(embedded: EmbeddedCluster, server) -> None:
    """VC-029, VC-120: by its client id; its topics, topic ids and transactional ids are local."""
    make_topic(embedded, "emea.orders")
    make_topic(embedded, "secret")
    execute(embedded, req.CreateVirtualClusterRequest(virtual_cluster="sales"))
    link(embedded, "sales", "orders", "emea.orders")
    change(embedded, "sales", EntityType.CLIENT_ID, "app")
    image = embedded.controller.image()
    ids = {name: topic.topic_id for name, topic in image.topics.by_name.items()}
    with raw_client(server.endpoints[0], "app") as client:
        data = batch(b"a", first_ms=recent())
        assert produce(client, data).error_code == 0
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert produce(client, data, topic="emea.orders").error_code == unknown
        assert fetch(client, topic="emea.orders").error_code == unknown
        assert fetch(client).high_watermark == 1
        assert list_offset(client, -1) == (1, -1)
        for name, code in (("emea.orders", 0), ("secret", ErrorCode.UNKNOWN_TOPIC_ID)):
            assert by_id(client, ids[name]) == code
        asked = messages.InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
        assert client.ask("InitProducerId", 4, asked).error_code == 0
        listed = client.ask("ListTransactions", 0).transaction_states
        assert [row.transactional_id for row in listed] == ["t"]
    assert list(embedded.controller.image().transactions.by_id) == ["sales:t"]
    with raw_client(server.endpoints[0]) as outside:
        assert fetch(outside, topic="emea.orders").high_watermark == 1
        assert fetch(outside).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert by_id(outside, ids["secret"]) == 0


def by_id(client: RawClient, topic_id: str) -> int:
    """The code of fetching from the topic with this id."""
    from kgitops.serve.answers.values import topic_id_bytes

    request = messages.FetchRequest
    partition = request.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = request.FetchTopic(topic_id=topic_id_bytes(topic_id), partitions=[partition])
    answer = client.ask("Fetch", 18, request(max_bytes=1000, topics=[topic]))
    code: int = answer.responses[0].partitions[0].error_code
    return code
