"""Served clusters for clients: of today's Kafka, and of the proposals' days."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from serve.served import served

from kgitops.cluster.embedded.options import Compat


@pytest.fixture
def servers() -> Iterator[str]:
    """The bootstrap servers of three brokers that answer as Kafka 4.3."""
    with _served(Compat.KRAFT) as addresses:
        yield addresses


@pytest.fixture
def old_servers() -> Iterator[str]:
    """The bootstrap servers of three brokers that know KIP-4's versions of requests, too."""
    with _served(Compat.SEED) as addresses:
        yield addresses


@contextmanager
def _served(compat: Compat) -> Iterator[str]:
    with served(compat=compat, internal_topics=True) as started:
        yield ",".join(map(str, started.server.endpoints))
