"""Failed logins are slowed, by host, and are told no more often than a log can bear."""

import logging

import pytest

from kgitops.serve.listening.open_connections import ClosingLog
from kgitops.serve.login.handshake import FailedLogins


def test_each_failure_of_a_host_waits_for_the_one_before() -> None:
    """However many connections it has; another host does not wait for it."""
    now = [100.0]
    failures = FailedLogins(100, clock=lambda: now[0])
    assert [failures.wait_seconds("a") for _ in range(3)] == pytest.approx([0.1, 0.2, 0.3])
    assert failures.wait_seconds("b") == pytest.approx(0.1)
    now[0] += 0.25
    assert failures.wait_seconds("a") == pytest.approx(0.15)
    now[0] += 60
    assert failures.wait_seconds("a") == pytest.approx(0.1)
    assert max(failures.wait_seconds("a") for _ in range(200)) == pytest.approx(5)


def test_only_so_many_hosts_are_remembered() -> None:
    failures = FailedLogins(100, clock=lambda: 0.0)
    for number in range(5000):
        failures.wait_seconds(f"host {number}")
    assert len(failures._until) == 1000
    assert failures.wait_seconds("host 4999") == pytest.approx(0.2)
    assert failures.wait_seconds("host 1") == pytest.approx(0.1)


def test_twenty_lines_in_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    """And then the number of those that were left out."""
    now = [0.0]
    log = ClosingLog(clock=lambda: now[0])
    with caplog.at_level(logging.INFO, "kgitops.serve"):
        for _ in range(50):
            log.tell("h", "why")
        assert len(caplog.records) == 20
        now[0] = 10
        log.tell("h", "why")
    assert [record.getMessage() for record in caplog.records[20:]] == [
        "30 more closed connections had no line",
        "a connection from h is closed: why",
    ]
