"""A cluster behind its listeners: it answers, and it ends."""

import socket

import pytest
from serve.raw_client import RawClient, raw_client
from serve.topic_requests import create, metadata

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.errors import UnreachableError
from kgitops.serve.background import serving
from kgitops.serve.server import KafkaServer, ServeOptions


def test_a_topic_is_created_and_found(server: KafkaServer, client: RawClient) -> None:
    """At another broker than the one that it was created at."""
    (created,) = create(client, "orders")
    assert (created.name, created.error_code) == ("orders", 0)
    with raw_client(server.endpoints[1]) as another:
        found = metadata(another, None)
    assert [(row.name, row.topic_id) for row in found.topics] == [("orders", created.topic_id)]
    assert [(row.host, row.port) for row in found.brokers] == [
        (endpoint.host, endpoint.port) for endpoint in server.endpoints
    ]


def test_a_taken_port_is_one_sentence(embedded: EmbeddedCluster) -> None:
    """Nothing stays open."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(UnreachableError, match=rf"can't listen on 127\.0\.0\.1:{port}: "),
            serving(embedded, ServeOptions(port=port)),
        ):
            pass
