"""The lock has one winner, outlives no one for long, and stops who has lost it."""

import multiprocessing
from datetime import timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import SETTINGS, Apply, open_cluster, prepare, sealed_now
from builders import UID, a_binding, a_desired, a_topic, an_acl, plan_of
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event, StepStarted, Waiting, WaitReason
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.lock import Lock, acquire
from kgitops.apply.lock_claims import live_claim
from kgitops.cluster.port import Cluster, RegistryEntry, RegistryLog
from kgitops.cluster.registry import meta_record
from kgitops.model.errors import LockedError, SafetyError, UsageError
from kgitops.model.verdict import ExitCode

SECONDS = 1000


def _context(
    cluster: Cluster, clock: FakeClock, events: list[Event] | None = None, signal: int | None = None
) -> ApplyContext:
    return ApplyContext(
        cluster=cluster,
        settings=SETTINGS,
        clock=clock,
        on_event=(events if events is not None else []).append,
        interrupted=lambda: signal,
    )


def _acquired(context: ApplyContext, holder: str) -> Lock:
    lock = acquire(context, holder=holder)
    assert lock is not None
    return lock


def _lock_keys(cluster: Cluster) -> list[str]:
    latest = latest_values(cluster.registry.read() or ())
    return [key for key in latest if key.startswith("lock/")]


def _lease_left_ms(cluster: Cluster) -> int:
    """The remaining time of the only lease, as any reader of the log computes it."""
    (claim,) = [
        entry
        for entry in cluster.registry.read() or ()
        if entry.value and entry.key.startswith("lock/")
    ]
    assert claim.value
    return claim.timestamp_ms + claim.value["lease_ms"] - cluster.registry.now_ms()


def test_a_second_contender_is_told_who_holds_it_since_when_and_leaves_no_claim() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    context = _context(cluster, clock)
    _acquired(context, "User:first@host")
    with pytest.raises(LockedError, match="locked by User:first@host since 20"):
        acquire(context, holder="User:second")
    assert len(_lock_keys(cluster)) == 1


def test_a_released_lock_is_free_at_once() -> None:
    clock = FakeClock()
    context = _context(open_cluster(clock=clock), clock)
    _acquired(context, "User:first").release()
    before = clock.ahead
    _acquired(context, "User:second")
    assert clock.ahead == before


def test_who_only_looks_sees_the_holder_until_the_lease_ends() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)

    def holder() -> str | None:
        claim = live_claim(cluster.registry.read() or (), cluster.registry.now_ms())
        return claim and claim.holder

    assert holder() is None
    lock = _acquired(_context(cluster, clock), "User:first")
    assert holder() == "User:first"
    clock.sleep(_lease_left_ms(cluster) / SECONDS)
    assert holder() is None, "it died, or has to be taken for dead"
    second = _acquired(_context(cluster, clock), "User:second")
    lock.release()
    assert holder() == "User:second"
    second.release()
    assert holder() is None


def test_a_dead_holders_lock_is_taken_over_after_its_lease_and_one_timeout() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    events: list[Event] = []
    context = _context(cluster, clock, events)
    begun = cluster.registry.now_ms()
    _acquired(context, "User:dead")
    clock.sleep(SETTINGS.lease_ms / 1000 - 1)
    with pytest.raises(LockedError, match="User:dead"):
        acquire(context, holder="User:next")
    clock.sleep(2)
    before = clock.ahead
    _acquired(context, "User:next")
    assert cluster.registry.now_ms() - begun >= SETTINGS.lease_ms + SETTINGS.timeout_ms
    assert clock.ahead - before < timedelta(milliseconds=SETTINGS.timeout_ms), "not a moment more"
    assert [type(event) for event in events] == [Waiting]
    assert events[0].reason is WaitReason.LOCK


def test_a_contender_that_waits_for_a_dead_holder_blocks_the_next_one() -> None:
    clock = FakeClock()
    context = _context(open_cluster(clock=clock), clock)
    _acquired(context, "User:dead")
    clock.sleep(SETTINGS.lease_ms / 1000 + 1)
    waiting = Lock(context.cluster.registry, holder="User:waiting", settings=SETTINGS)
    waiting.claim("2026-11-21T09:12:07Z")
    assert waiting.safe_from_ms() > context.cluster.registry.now_ms()
    with pytest.raises(LockedError, match="User:waiting"):
        acquire(context, holder="User:third")


def test_an_interrupt_while_waiting_gives_the_claim_back_and_leaves_the_dead_one() -> None:
    """The next contender must wait as long for the dead holder's requests."""
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    _acquired(_context(cluster, clock), "User:dead")
    (dead,) = _lock_keys(cluster)
    clock.sleep(SETTINGS.lease_ms / 1000 + 1)
    assert acquire(_context(cluster, clock, signal=2), holder="User:next") is None
    assert _lock_keys(cluster) == [dead]


def test_a_holder_that_renews_keeps_the_lock_for_longer_than_one_lease() -> None:
    clock = FakeClock()
    context = _context(open_cluster(clock=clock), clock)
    lock = _acquired(context, "User:first")
    for _ in range(5):
        clock.sleep(SETTINGS.lease_ms / 1000 - 1)
        lock.append([])
        with pytest.raises(LockedError, match="User:first"):
            acquire(context, holder="User:second")


@pytest.mark.parametrize("spare_ms", [1_000, 30_000, 90_000])
def test_a_heartbeat_leaves_a_lease_that_outlasts_a_request(spare_ms: int) -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    settings = ApplySettings(lease_ms=SETTINGS.timeout_ms + spare_ms)
    lock = _acquired(replace(_context(cluster, clock), settings=settings), "User:first")
    for _ in range(20):
        clock.sleep(7)
        lock.heartbeat()
        assert _lease_left_ms(cluster) > SETTINGS.timeout_ms


def test_a_holder_whose_lease_ended_may_not_write_even_when_nobody_took_over() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    lock = _acquired(_context(cluster, clock), "User:late")
    clock.sleep(SETTINGS.lease_ms / 1000 + 1)
    before = cluster.registry.read()
    for write in (lambda: lock.append([meta_record()]), lambda: lock.close([]), lock.heartbeat):
        with pytest.raises(LockedError, match="was not renewed in time"):
            write()
    assert cluster.registry.read() == before


def test_a_renewal_that_came_after_the_lease_ended_is_void_for_everyone() -> None:
    """The holder looked at the clock in time, then was suspended for long before it wrote."""
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    context = _context(cluster, clock)
    zombie = _acquired(context, "User:zombie")
    winners = []

    def suspended(_: object) -> None:
        cluster.before_append = lambda _: None
        clock.sleep(SETTINGS.lease_ms / 1000 + SETTINGS.timeout_ms / 1000 + 1)
        winners.append(_acquired(context, "User:winner"))

    cluster.before_append = suspended
    with pytest.raises(LockedError, match="User:winner took the lock over"):
        zombie.append([])
    winners[0].append([])


def test_a_renewal_that_came_a_little_late_does_not_revive_a_claim_someone_else_follows() -> None:
    """Its new lease would still run when the next holder, who waits for the old one, begins."""
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    zombie = _acquired(_context(cluster, clock), "User:zombie")
    clock.sleep(SETTINGS.lease_ms / 1000 - 5)
    waiting = Lock(cluster.real.registry, holder="User:next", settings=SETTINGS)

    def suspended(_: object) -> None:
        cluster.before_append = lambda _: None
        clock.sleep(10)
        waiting.claim("2026-11-21T09:12:07Z")
        assert waiting.safe_from_ms() > cluster.registry.now_ms()

    cluster.before_append = suspended
    with pytest.raises(LockedError, match="User:next took the lock over"):
        zombie.append([])
    clock.sleep(SETTINGS.timeout_ms / 1000)
    waiting.append([])


def test_a_renewal_between_a_contenders_claim_and_its_look_keeps_the_holders_place() -> None:
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    holder = _acquired(_context(cluster.real, clock), "User:first")

    def renew(_: object) -> None:
        cluster.after_append = lambda _: None
        holder.append([])

    cluster.after_append = renew
    with pytest.raises(LockedError, match="User:first"):
        acquire(_context(cluster, clock), holder="User:second")
    holder.append([])


def test_a_fenced_holder_sends_nothing_more_and_says_what_is_left() -> None:
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    plan = prepare(cluster, clock)
    cluster.sent.clear()
    taken = []

    def long_pause(_: object) -> None:
        cluster.after_send = lambda _: None
        clock.sleep(2 * SETTINGS.lease_ms / 1000)
        taken.append(_acquired(_context(cluster.real, clock), "User:winner"))

    cluster.after_send = long_pause
    apply = Apply(cluster=cluster, clock=clock)
    result = apply.plan(plan)
    started = [event.step for event in apply.events if isinstance(event, StepStarted)]
    assert result.verdict.exit is ExitCode.PARTIAL
    assert [reason.exit for reason in result.verdict.reasons] == [
        ExitCode.PARTIAL,
        ExitCode.LOCKED,
    ]
    assert result.done == ()
    assert {failure.step for failure in result.failed} == set(started)
    assert 0 < len(cluster.sent) < len(started)  # the other thread's batch was held back
    assert result.planned == len(plan.requests) + 2
    assert len(_lock_keys(cluster)) == 1
    taken[0].release()

    resumed = Apply(cluster=cluster, clock=clock).resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert len(cluster.sent) == len(plan.requests)


def test_a_lost_lock_before_the_first_request_is_exit_7() -> None:
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    plan = prepare(cluster, clock)
    cluster.sent.clear()

    def long_pause(records: object) -> None:
        if "run/run-1" in dict(records):
            clock.sleep(2 * SETTINGS.lease_ms / 1000)

    cluster.before_append = long_pause
    with pytest.raises(LockedError):
        Apply(cluster=cluster, clock=clock).plan(plan)
    assert cluster.sent == []


def test_a_damaged_claim_stops_everyone() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    cluster.registry.append([("lock/x", {"schema_version": 1, "holder": "User:x"})])
    with pytest.raises(SafetyError, match="lock/x is damaged"):
        acquire(_context(cluster, clock), holder="User:next")


def test_a_claim_of_a_newer_kgitops_stops_everyone() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    cluster.registry.append([("lock/x", {"schema_version": 3})])
    with pytest.raises(SafetyError, match="newer kgitops"):
        acquire(_context(cluster, clock), holder="User:next")


def test_a_lease_must_outlast_a_request() -> None:
    with pytest.raises(UsageError, match="lease"):
        ApplySettings(lease_ms=30_000, timeout_ms=30_000)


def _contend(
    path: Path, number: int, start: Barrier, outcomes: "multiprocessing.Queue[str]"
) -> None:
    clock = FakeClock()
    cluster = open_cluster(path, clock)
    project = a_desired(a_topic(f"topic-{number}"), project=f"p{number}", uid=f"uid-{number}")
    sealed = sealed_now(plan_of(project, cluster.read_state()), clock, f"nonce-{number}")
    faulty = FaultyCluster(cluster)

    # Whoever wins keeps the lock until the other one has tried.
    def hold(_: object) -> None:
        start.wait(30)

    faulty.before_send = hold
    start.wait(30)
    try:
        result = Apply(cluster=faulty, clock=clock, holder=f"User:{number}").plan(sealed)
        outcomes.put(f"won {result.verdict.exit:d}")
    except LockedError as error:
        outcomes.put(f"lost: {error}")
        start.wait(30)
    cluster.close()


def test_of_two_processes_that_start_together_exactly_one_wins(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for attempt in range(3):
        path = tmp_path / f"{attempt}.db"
        open_cluster(path).close()
        start, outcomes = context.Barrier(2), context.Queue()
        processes = [
            context.Process(target=_contend, args=(path, number, start, outcomes))
            for number in (1, 2)
        ]
        for process in processes:
            process.start()
        heard = sorted(outcomes.get(timeout=60) for _ in processes)
        for process in processes:
            process.join(60)
        assert heard[0].startswith("lost: the cluster is locked by User:")
        assert heard[1] == "won 0"
        cluster = open_cluster(path)
        assert len(cluster.read_state().topics) == 1
        cluster.close()


def test_who_was_suspended_before_the_fence_does_not_shut_out_who_came_after() -> None:
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    fenced: list[str] = []
    cluster.before_fence = lambda: fenced.append("yes")
    slow = Lock(cluster.registry, holder="User:slow", settings=SETTINGS)
    slow.claim("2026-11-21T09:12:07Z")
    slow.safe_from_ms()
    clock.sleep(2 * SETTINGS.lease_ms / 1000)
    _acquired(_context(cluster.real, clock), "User:next")
    with pytest.raises(LockedError, match="User:next took the lock over"):
        slow.take_over()
    assert fenced == []


def test_a_lease_that_was_used_up_by_writing_is_renewed_before_a_request_is_sent() -> None:
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    plan = prepare(cluster, clock)
    left_ms: list[int] = []
    cluster.before_send = lambda _: left_ms.append(_lease_left_ms(cluster))

    def slow(records: object) -> None:
        if "run/run-1" in dict(records):
            clock.sleep((SETTINGS.lease_ms - SETTINGS.timeout_ms) / 1000 + 1)

    cluster.after_append = slow
    result = Apply(cluster=cluster, clock=clock).plan(plan)
    assert result.verdict.exit is ExitCode.SUCCESS
    assert left_ms
    assert min(left_ms) > SETTINGS.timeout_ms


class OtherLeader:
    """A fake registry, for fault injection only: the clock of a new leader is behind.

    It gives what is written from now on an earlier timestamp than stands before it.
    """

    def __init__(self, real: RegistryLog) -> None:
        self.real = real
        self.from_offset = self.timestamp_ms = 0

    def read(self, since: int = 0) -> list[RegistryEntry]:
        return [
            replace(entry, timestamp_ms=self.timestamp_ms)
            if self.timestamp_ms and entry.offset >= self.from_offset
            else entry
            for entry in self.real.read(since) or ()
        ]

    def led_since_now(self, timestamp_ms: int) -> None:
        self.from_offset = self.read()[-1].offset + 1
        self.timestamp_ms = timestamp_ms

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


@pytest.mark.parametrize("late_ms", [1 * SECONDS, SETTINGS.lease_ms])
def test_who_takes_over_looks_once_more_how_long_the_one_before_may_still_act(
    late_ms: int,
) -> None:
    """If brokers' clocks disagree, a renewal may count that came after the next claim."""
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    holder = _acquired(_context(cluster, clock), "User:holder")
    registry = OtherLeader(cluster.registry)
    clock.sleep((SETTINGS.lease_ms + late_ms) / 1000)
    lock = Lock(registry, holder="User:next", settings=SETTINGS)  # type: ignore[arg-type]
    lock.claim("2026-11-21T09:12:07Z")
    clock.sleep(max(0, lock.safe_from_ms() - cluster.registry.now_ms()) / 1000)
    registry.led_since_now(holder._mine().lease_until_ms - 1)
    cluster.registry.append([holder._record(renews=holder._mine())])
    with pytest.raises(LockedError):
        lock.take_over()


def test_a_renewal_that_took_nearly_its_whole_lease_does_not_let_a_request_go() -> None:
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    lock = _acquired(_context(cluster, clock), "User:slow")
    clock.sleep(SETTINGS.lease_ms / 2000 + 1)
    cluster.after_append = lambda _: clock.sleep(
        (SETTINGS.lease_ms - SETTINGS.timeout_ms) / 1000 + 1
    )
    with pytest.raises(LockedError, match="was not renewed in time"):
        lock.heartbeat()


def test_who_waits_for_a_dead_holder_keeps_its_own_claim_alive_meanwhile() -> None:
    """The wait is as long as one timeout, and a lease need not be much longer than that."""
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    short = ApplySettings(lease_ms=SETTINGS.timeout_ms + 1 * SECONDS)
    context = replace(_context(cluster, clock), settings=short)
    dead = _acquired(context, "User:dead")
    clock.sleep(short.lease_ms / 1000 + 1)
    lock = _acquired(context, "User:next")
    assert dead is not lock
    assert lock.until_ms - cluster.registry.now_ms() > SETTINGS.timeout_ms


def test_a_lost_lock_names_nobody_who_is_dead() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    _acquired(_context(cluster, clock), "User:dead")
    clock.sleep(2 * SETTINGS.lease_ms / 1000)
    waiting = Lock(cluster.registry, holder="User:late", settings=SETTINGS)
    waiting.claim("2026-11-21T09:12:07Z")
    clock.sleep(2 * SETTINGS.lease_ms / 1000)
    with pytest.raises(LockedError) as error:
        waiting.heartbeat()
    assert "User:dead" not in str(error.value)
    assert "the lock that User:late held" in str(error.value)


def test_a_lost_lock_is_one_reason_however_many_steps_it_leaves() -> None:
    """Of 1,000 steps that nobody knows the outcome of, too."""
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    plan = plan_of(
        a_desired(*(an_acl(a_binding(f"User:{i}")) for i in range(1000))), cluster.read_state()
    )
    cluster.after_send = lambda _: clock.sleep(2 * SETTINGS.lease_ms / 1000)
    settings = ApplySettings(parallelism=2, batch_requests=500)
    result = Apply(cluster=cluster, clock=clock, settings=settings).plan(plan)
    assert len(result.failed) + len(result.not_attempted) == 1000
    assert [reason.exit for reason in result.verdict.reasons] == [ExitCode.PARTIAL, ExitCode.LOCKED]
    said = [str(result.verdict), *(failure.sentence for failure in result.failed)]
    assert max(map(len, said)) < 1000
