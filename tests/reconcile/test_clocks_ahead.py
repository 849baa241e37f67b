"""A machine's clock is ahead of the brokers': a suspension lasts until both say that it is over."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cli.projects import topic
from reconcile.turning import Turns

from kgitops.cluster.embedded.store.registry_log import EmbeddedRegistryLog
from kgitops.reconcile.status import TurnOutcome

ZSTD = {"compression.type": "zstd"}
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    """The embedded cluster has the clock of this machine, which is right."""
    return Turns(tmp_path / "payments").declare(topic(configs=ZSTD))


def drift(turns: Turns) -> None:
    turns.set_behind("orders", compression_type="gzip")


def test_a_loop_whose_clock_is_ahead_ends_no_suspension_early(turns: Turns) -> None:
    turns.take()
    turns.suspend(turns.clock.moment + HOUR)
    drift(turns)
    turns.clock.moment += DAY
    result = turns.take()
    assert (result.outcome, result.suspended) == (TurnOutcome.SUSPENDED, True)
    assert turns.configs("orders")["compression.type"] == "gzip"


def test_a_loop_whose_clock_is_behind_ends_it_by_its_own(turns: Turns) -> None:
    turns.take()
    turns.suspend(turns.clock.moment - HOUR)
    drift(turns)
    turns.clock.moment -= DAY
    assert turns.take().outcome is TurnOutcome.SUSPENDED
    turns.clock.moment += DAY
    turns.clock.ticks += DAY.total_seconds()
    assert turns.take().outcome is TurnOutcome.APPLIED


@pytest.fixture
def until_written(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """A fault: as on Kafka, the brokers' time is only known after a write of this connection."""
    written: set[int] = set()
    append, now_ms = EmbeddedRegistryLog.append, EmbeddedRegistryLog.now_ms

    def noticed(registry: EmbeddedRegistryLog, *arguments: object, **named: object) -> int:
        written.add(id(registry))
        return append(registry, *arguments, **named)  # type: ignore[arg-type]

    def known(registry: EmbeddedRegistryLog) -> int:
        if id(registry) in written:
            return now_ms(registry)
        return int(turns.clock.moment.timestamp() * 1000)

    monkeypatch.setattr(EmbeddedRegistryLog, "append", noticed)
    monkeypatch.setattr(EmbeddedRegistryLog, "now_ms", known)
    return lambda: len(written)


def test_the_brokers_time_is_asked_under_the_lock(
    turns: Turns, until_written: Callable[[], int]
) -> None:
    turns.take()
    turns.suspend(turns.clock.moment + HOUR)
    drift(turns)
    turns.clock.moment += DAY
    for _ in range(3):
        before = turns.records()
        result = turns.take()
        assert (result.outcome, result.suspended) == (TurnOutcome.SUSPENDED, True)
        assert result.suspension is not None
        written = turns.records() - before
    assert written == 0, "the loop remembers the end, and claims the lock no more"
    assert turns.configs("orders")["compression.type"] == "gzip"


def test_a_suspension_that_comes_while_a_turn_plans_counts(turns: Turns) -> None:
    turns.take()
    drift(turns)
    claimed = EmbeddedRegistryLog.append

    with pytest.MonkeyPatch.context() as patched:

        def overtaken(registry: EmbeddedRegistryLog, *arguments: object, **named: object) -> int:
            patched.setattr(EmbeddedRegistryLog, "append", claimed)
            turns.suspend(turns.clock.moment + HOUR)
            return claimed(registry, *arguments, **named)  # type: ignore[arg-type]

        patched.setattr(EmbeddedRegistryLog, "append", overtaken)
        result = turns.take()
    assert result.outcome is TurnOutcome.SUSPENDED
    assert turns.configs("orders")["compression.type"] == "gzip"
