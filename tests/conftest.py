"""What holds for every test."""

import sqlite3
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _stores_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test may leave its clusters open; from Python 3.13 on a forgotten store is a warning."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembering(*words: object, **named: object) -> sqlite3.Connection:
        connection = connect(*words, **named)  # type: ignore[call-overload]
        opened.append(connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", remembering)
    yield
    for connection in opened:
        connection.close()
