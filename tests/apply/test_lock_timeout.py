"""An apply waits for another run's lock as long as it was told to, and applies nothing older."""

from collections.abc import Callable, Sequence

import pytest
from apply.faults import FakeClock
from apply.plans import SETTINGS, Apply, open_cluster, sealed_now
from builders import a_desired, a_topic, plan_of
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import Event, Waiting
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.lock import Lock, acquire, wait_until_free
from kgitops.cluster.port import Cluster
from kgitops.model.errors import KgitopsError, LockedError
from kgitops.model.requests import Request
from kgitops.model.verdict import ExitCode

TEN_MINUTES = replace(SETTINGS, lock_timeout_ms=600_000)


class WatchedClock(FakeClock):
    """A clock that calls ``on_sleep`` before each jump ahead."""

    on_sleep: Callable[[], None] = staticmethod(lambda: None)
    sleeps = 0

    def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        self.on_sleep()
        super().sleep(seconds)


def _context(
    cluster: Cluster, clock: FakeClock, events: list[Event], signal: int | None = None
) -> ApplyContext:
    return ApplyContext(
        cluster=cluster,
        settings=TEN_MINUTES,
        clock=clock,
        on_event=events.append,
        interrupted=lambda: signal,
    )


def _holder(cluster: Cluster, clock: FakeClock) -> Lock:
    """A process that holds the lock, and renews it when asked to."""
    lock = acquire(
        replace(_context(cluster, clock, []), settings=SETTINGS), holder="ci@one (process 1)"
    )
    assert lock is not None
    return lock


def _after(sleeps: int, clock: WatchedClock, lock: Lock, act: Callable[[], None]) -> None:
    """Renew the lease at every sleep; act, and release the lock, at the given one."""

    def on_sleep() -> None:
        if clock.sleeps < sleeps:
            lock.heartbeat()
        elif clock.sleeps == sleeps:
            act()
            lock.release()

    clock.on_sleep = on_sleep


def _execute(cluster: Cluster, requests: Sequence[Request]) -> None:
    assert not any(
        result.code for result in cluster.execute(requests, validate_only=False, principal="User:x")
    )


def test_another_holder_is_waited_for_and_that_is_said_once() -> None:
    clock, events = WatchedClock(), list[Event]()
    cluster = open_cluster(clock=clock)
    _after(90, clock, _holder(cluster, clock), lambda: None)
    assert acquire(_context(cluster, clock, events), holder="ci@two") is not None
    (event,) = events
    assert isinstance(event, Waiting)
    assert event.sentence.startswith(
        "waiting up to 10m for the lock that ci@one (process 1) has held since 20"
    )
    assert clock.sleeps == 90


def test_the_wait_ends_with_the_timeout_and_leaves_no_claim() -> None:
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    lock = _holder(cluster, clock)
    clock.on_sleep = lock.heartbeat
    with pytest.raises(LockedError, match=r"locked by ci@one \(process 1\) since 20.*lease ends"):
        acquire(_context(cluster, clock, []), holder="ci@two")
    assert clock.ahead.total_seconds() == pytest.approx(600, abs=5)
    keys = [key for key in latest_values(cluster.registry.read() or ()) if key.startswith("lock/")]
    assert len(keys) == 1


@pytest.mark.parametrize("timeout_ms", [None, 0])
def test_without_a_timeout_nobody_is_waited_for(timeout_ms: int | None) -> None:
    """None is the loop's, which must not be offered an option that it does not take."""
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    _holder(cluster, clock)
    settings = replace(SETTINGS, lock_timeout_ms=timeout_ms)
    context = replace(_context(cluster, clock, []), settings=settings)
    with pytest.raises(LockedError) as caught:
        acquire(context, holder="ci@two")
    assert clock.sleeps == 0
    assert ("--lock-timeout" in str(caught.value)) == (timeout_ms is not None)


def test_an_interrupt_ends_the_wait() -> None:
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    _holder(cluster, clock)
    assert acquire(_context(cluster, clock, [], signal=2), holder="ci@two") is None


def test_a_dead_holder_is_waited_for_no_longer_than_its_lease_and_one_timeout() -> None:
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    _holder(cluster, clock)
    assert acquire(_context(cluster, clock, []), holder="ci@two") is not None
    most = (SETTINGS.lease_ms + SETTINGS.timeout_ms) / 1000
    assert clock.ahead.total_seconds() == pytest.approx(most, abs=3)


def test_a_process_that_waits_blocks_nobody() -> None:
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    first = _holder(cluster, clock)
    third: list[Lock] = []
    _after(1, clock, first, lambda: None)
    release = clock.on_sleep

    def on_sleep() -> None:
        release()
        if not third:
            third.append(_holder(cluster, clock))
        elif clock.sleeps == 5:
            third[0].release()

    clock.on_sleep = on_sleep
    assert acquire(_context(cluster, clock, []), holder="ci@two") is not None
    assert clock.sleeps == 5


def test_before_a_plan_the_wait_takes_no_claim_and_says_what_is_left() -> None:
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    context = _context(cluster, clock, [])
    assert wait_until_free(context) == pytest.approx(600_000, abs=5_000)
    _after(60, clock, _holder(cluster, clock), lambda: None)
    before = len(cluster.registry.read() or ())
    assert wait_until_free(context) == pytest.approx(540_000, abs=5_000)
    after = cluster.registry.read() or ()
    assert not any(entry.value and "two" in entry.value["holder"] for entry in after[before:])


def test_a_plan_is_stale_when_the_run_it_waited_for_changed_its_object() -> None:
    clock = WatchedClock()
    cluster = open_cluster(clock=clock)
    assert Apply(cluster=cluster, clock=clock).desired(a_desired(a_topic("orders"))).done
    grown = a_desired(a_topic("orders", partitions=6))
    sealed = sealed_now(plan_of(grown, cluster.read_state()), clock, "nonce-2")
    others = plan_of(a_desired(a_topic("orders", partitions=5)), cluster.read_state())
    requests = [planned.request for planned in others.requests]
    _after(
        3,
        clock,
        _holder(cluster, clock),
        lambda: _execute(cluster, requests),
    )
    apply = Apply(cluster=cluster, clock=clock, settings=TEN_MINUTES)
    with pytest.raises(KgitopsError) as caught:
        apply.plan(sealed, "run-2")
    assert (clock.sleeps, caught.value.exit) == (3, ExitCode.STALE)
    assert cluster.read_state().topics["orders"].num_partitions == 5
