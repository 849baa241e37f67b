"""What holds for every test."""

import signal
import sqlite3
from collections.abc import Iterator

import pytest
from fleet.spark_sessions import group_spark_tests, local_spark
from kafka_clusters import (
    check_group,
    download_kafka,
    group_kafka_tests,
    kafka,
    kafka_cluster,
    own_kafka,
)

__all__ = ["kafka", "kafka_cluster", "local_spark", "own_kafka"]

# A shell lets what it starts in the background ignore interrupts, and all that tests start would.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_connect = sqlite3.connect
_opened: list[sqlite3.Connection] = []


def _remembering(*words: object, **named: object) -> sqlite3.Connection:
    connection = _connect(*words, **named)  # type: ignore[call-overload]
    _opened.append(connection)
    return connection


# Tests may leave their clusters open, and from Python 3.13 on a forgotten store is a warning. What
# fixtures of a module or of the session open stays open, and is remembered to the end.
sqlite3.connect = _remembering


@pytest.fixture(autouse=True)
def _stores_are_closed() -> Iterator[None]:
    """What a test opens is closed after it."""
    before = len(_opened)
    yield
    for connection in _opened[before:]:
        connection.close()
    del _opened[before:]


def pytest_sessionstart(session: pytest.Session) -> None:
    """What tests need and no package brings."""
    download_kafka(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest-xdist looks at the groups."""
    group_kafka_tests(items)
    group_spark_tests(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before what a test needs is made."""
    check_group(item)


def pytest_unconfigure() -> None:
    """The end of the session."""
    for connection in _opened:
        connection.close()
