"""One broker with many listeners, for the tests of connections."""

from collections.abc import Iterator

import pytest
from cluster.kafka import many_listeners, msk_verifier, token_endpoint
from cluster.kafka.many_listeners import ManyListeners


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManyListeners]:
    """Started once."""
    with token_endpoint.running() as provider, msk_verifier.running() as msk:
        started = many_listeners.start(tmp_path_factory.mktemp("many") / "home", provider, msk)
        yield started
        started.sandbox.kill_all()
