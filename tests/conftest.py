"""What holds for every test."""

import signal
import sqlite3
from collections.abc import Iterator

import pytest
from installed import missing_browser, missing_packages

if missing := missing_packages():
    raise SystemExit(f"{missing}.")

from fleet.spark_sessions import group_spark_tests, local_spark
from hypothesis import HealthCheck, settings
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

# How long an example takes says how busy the machine is. What a test asks for comes on top of this.
settings.register_profile("kgitops", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kgitops")

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
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before pytest-xdist looks at the groups."""
    if missing_browser():
        left_out = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    group_kafka_tests(items)
    group_spark_tests(items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After all else, where it is seen."""
    if sentence := missing_browser():
        terminalreporter.write_line(sentence)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before what a test needs is made."""
    check_group(item)


def pytest_unconfigure() -> None:
    """The end of the session."""
    for connection in _opened:
        connection.close()
