"""Clients that send much and are gone before their turn: nothing of them is kept."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from patience import eventually
from serve.plain_requests import Fields, request_of
from serve.raw_client import raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.answers.table import Thread
from kgitops.serve.nodes import NodeKind
from kgitops.serve.server import KafkaServer

MEGABYTES = 20
FIRST, TIMES = 5, 10
_TEXT = "x" * (MEGABYTES * 1_000_000)


@contextmanager
def busy(server: KafkaServer) -> Iterator[None]:
    """A decision that takes as long as the ``with`` statement."""
    begun, over = threading.Event(), threading.Event()

    def decide() -> None:
        begun.set()
        over.wait(60)

    thread = server._dispatcher._threads[Thread.DECISION]
    thread.submit(decide)
    assert begun.wait(30)
    try:
        yield
    finally:
        over.set()


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        ("Produce", 12, {"transactional_id": _TEXT, "acks": -1, "topic_data": []}),
        ("CreateTopics", 7, {"topics": {"name": _TEXT}, "timeout_ms": 60_000}),
    ],
)
def test_requests_of_clients_that_are_gone(
    embedded: EmbeddedCluster,
    server: KafkaServer,
    api: str,
    version: int,
    fields: Fields,
) -> None:
    """Answered in turn, or forwarded: two hundred megabytes would else wait for the decision."""
    opened = server._listeners._open[NodeKind.BROKER]
    message = request_of(api, fields)
    with raw_client(server.endpoints[0]) as good:
        asked = request_of("CreateTopics", {"topics": {"name": "?"}, "timeout_ms": 9999})
        assert good.ask("CreateTopics", 7, asked).topics
        with busy(server):
            for number in range(FIRST + TIMES):
                if number == FIRST:  # some are on their way to the controller
                    before = psutil.Process().memory_info().rss
                with raw_client(server.endpoints[0]) as gone:
                    gone.send(api, version, message)
                    eventually(
                        lambda: opened._held,
                        lambda held: held >= 1_000_000,
                        what="the server holds the request",
                    )
                eventually(
                    lambda: len(opened), lambda count: count == 1, what="the connection is closed"
                )
                assert good.ask("Metadata", 12).brokers
            after = psutil.Process().memory_info().rss
    assert after - before < 5 * MEGABYTES * 1_000_000
