"""What the tests of connections share."""

import pytest

from kgitops.gateway.connections import open_connections
from kgitops.gateway.running import gateway


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the times of connections, at certificates and at credentials often."""
    for module in (open_connections, gateway):
        monkeypatch.setattr(module, "_LOOK_S", 0.05)
