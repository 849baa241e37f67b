"""The lock between real processes on a real cluster: one inside at a time, whatever happens."""

import os
import signal
import time
from collections.abc import Iterator

import pytest
from apply.faults import FaultyCluster, nothing
from apply.plans import Apply, sealed_now
from builders import UID, a_desired, a_topic, plan_of
from cluster.kafka.registry_logs import Driver, JustTheRegistry, Logs, logs_on
from kafka_wiping import wipe

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.lock import acquire
from kgitops.cluster.port import Cluster, RegistryEntry
from kgitops.model.clock import SystemClock
from kgitops.model.verdict import ExitCode
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

LEASE_MS, TIMEOUT_MS = 6000, 1000


@pytest.fixture
def logs(kafka: Sandbox) -> Iterator[Logs]:
    wipe(kafka)
    with logs_on(kafka) as opened:
        yield opened


@pytest.fixture
def contenders(kafka: Sandbox, request: pytest.FixtureRequest) -> Iterator[list[Driver]]:
    """Two processes, with a short lease where the test does not say otherwise."""
    lease_ms = getattr(request, "param", LEASE_MS)
    drivers = [Driver(kafka, name, str(lease_ms), str(TIMEOUT_MS)) for name in ("one", "two")]
    try:
        assert [driver.heard() for driver in drivers] == ["ready", "ready"]
        yield drivers
    finally:
        for driver in drivers:
            driver.close()


def lock_records(logs: Logs) -> dict[str, RegistryEntry]:
    """The claims that stand."""
    found: dict[str, RegistryEntry] = {}
    for entry in logs.open().read() or ():
        if entry.key.startswith("lock/"):
            found[entry.key] = entry
    return {key: entry for key, entry in found.items() if entry.value is not None}


@pytest.mark.parametrize("contenders", [60_000], indirect=True)
def test_of_two_that_start_in_the_same_millisecond_exactly_one_gets_in(
    kafka: Sandbox, logs: Logs, contenders: list[Driver]
) -> None:
    """The winner stays inside until the other has given up; twice the registry is not there yet."""
    for attempt in range(12):
        if attempt == 6:
            wipe(kafka)
        moment = time.time() + 0.05
        for contender in contenders:
            contender.tell(f"acquire {moment}")
        heard = [contender.heard() for contender in contenders]
        assert max(heard) == "won", heard
        assert min(heard).startswith("LockedError: the cluster is locked by "), heard
        winner = heard.index("won")
        assert contenders[winner].ask("write 2") == "done"
        assert contenders[winner].ask("release") == "done"
        assert lock_records(logs) == {}


def test_a_suspended_holder_writes_nothing_once_someone_else_has_taken_over(
    logs: Logs, contenders: list[Driver]
) -> None:
    """SIGSTOP for longer than its lease: its next write is refused, so it sends no request."""
    zombie, heir = contenders
    assert zombie.ask("acquire 0") == "won"
    assert zombie.ask("write 1") == "done"
    zombie.tell("toil")
    os.kill(zombie.process.pid, signal.SIGSTOP)
    assert heir.ask("acquire 0").startswith("LockedError: the cluster is locked by one since")
    time.sleep(LEASE_MS / 1000)
    assert heir.ask("acquire 0") == "won"
    assert heir.ask("write 1") == "done"
    os.kill(zombie.process.pid, signal.SIGCONT)
    assert zombie.heard().startswith("LockedError: two took the lock over at ")
    assert heir.ask("write 5") == "done"
    entries = logs.open().read() or ()
    heirs_first = min(entry.offset for entry in entries if entry.key == "run/two/1")
    assert not [
        entry
        for entry in entries
        if entry.key.startswith("run/one/") and entry.offset > heirs_first
    ]
    assert heir.ask("release") == "done"


def test_a_dead_holders_lock_is_taken_over_after_its_lease_and_one_timeout(
    logs: Logs, contenders: list[Driver]
) -> None:
    dead, heir = contenders
    assert dead.ask("acquire 0") == "won"
    assert dead.ask("write 1") == "done"
    dead.process.kill()
    (claim,) = lock_records(logs).values()
    assert heir.ask("acquire 0").startswith("LockedError: the cluster is locked by one since")
    time.sleep(LEASE_MS / 1000)
    assert heir.ask("acquire 0") == "won"
    assert heir.ask("write 1") == "done"
    (taken,) = [entry for entry in logs.open().read() or () if entry.key == "run/two/1"]
    assert taken.timestamp_ms >= claim.timestamp_ms + LEASE_MS + TIMEOUT_MS
    assert heir.ask("release") == "done"
    assert lock_records(logs) == {}


def test_an_apply_that_lost_the_lock_sends_nothing_more_and_is_resumed(
    kafka_cluster: Cluster, logs: Logs
) -> None:
    clock = SystemClock()
    settings = ApplySettings(
        parallelism=1, batch_records=3, lease_ms=LEASE_MS, timeout_ms=LEASE_MS // 2
    )
    cluster = FaultyCluster(kafka_cluster)
    apply = Apply(cluster=cluster, settings=settings, clock=clock)  # type: ignore[arg-type]
    desired = a_desired(a_topic("first", partitions=1), a_topic("second", partitions=1))
    sealed = sealed_now(plan_of(desired, cluster.read_state()), clock)  # type: ignore[arg-type]
    heirs = []

    def suspended(_: object) -> None:
        cluster.after_send = nothing
        time.sleep(LEASE_MS / 1000)
        context = ApplyContext(
            cluster=JustTheRegistry(logs.open()),  # type: ignore[arg-type]
            settings=settings,
            clock=clock,
            on_event=nothing,
            interrupted=lambda: None,
        )
        heirs.append(acquire(context, holder="User:heir"))

    cluster.after_send = suspended
    result = apply.plan(sealed)
    assert len(cluster.sent) == 1
    assert result.verdict.exit is ExitCode.PARTIAL
    assert any("User:heir took the lock over" in r.sentence for r in result.verdict.reasons)
    heirs[0].release()
    resumed = apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS, resumed.verdict
    assert len(cluster.sent) == 2
    assert {"first", "second"} <= kafka_cluster.read_state().topics.keys()
