"""Law: whoever loses the lock while standing still changes nothing more, wherever that was.

An apply of a project stands still at one of its boundaries for longer than its lease, as with a
full pipe on stdout, under SIGSTOP, or while its machine sleeps. Meanwhile another plan of the same
project is applied. Then the first one goes on.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import DELETE, SETTINGS, Apply, comparable, open_cluster, prepare, sealed_now
from builders import a_binding, a_desired, a_quota, a_topic, an_acl, plan_of
from msgspec.structs import replace
from used import used

from kgitops.apply.events import ApplyStarted, Event
from kgitops.apply.lock import LeaseKeeper
from kgitops.apply.result import ApplyResult
from kgitops.cluster.embedded.store.registry_log import EmbeddedRegistryLog
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.model.errors import KgitopsError
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import SealedPlan

OTHER = a_desired(
    a_topic("orders", partitions=4, configs={"retention.ms": "7000"}),
    a_topic("log", partitions=1),
    a_topic("new-a", configs={"retention.ms": "8000"}),
    a_topic("new-b", partitions=5),
    a_topic("found"),
    a_topic("other", deletion_policy=DELETE),
    an_acl(a_binding("User:other")),
    a_quota(consumer_byte_rate=9999),
)
"""What the project asks for while an apply of what it asked for before stands still."""

ONE_AT_A_TIME = replace(SETTINGS, parallelism=1)
"""A process stands still as a whole: no other thread of it may go on."""

NOT_DONE = (ExitCode.PARTIAL, ExitCode.LOCKED, ExitCode.STALE)


@dataclass
class Trial:
    """One apply that stands still, and what was there when the other one had ended."""

    store: Path
    sealed: SealedPlan
    clock: FakeClock
    wrap: Callable[[Cluster], Cluster] = lambda cluster: cluster
    boundaries: int = 0
    settled: object = None

    def run(self, pause_at: int) -> ApplyResult | KgitopsError:
        """Apply, and stand still at this boundary; they are counted once the lock is held."""
        self.boundaries, self.settled = -1, None
        cluster = FaultyCluster(open_cluster(self.store, self.clock))
        for hook in ("before_send", "after_send", "before_append", "after_append"):
            setattr(cluster, hook, lambda *_: self._pass(pause_at))
        cluster.before_read = lambda: self._pass(pause_at)
        apply = Apply(
            cluster=self.wrap(cluster),
            settings=ONE_AT_A_TIME,
            clock=self.clock,
            events=_Told(self, pause_at),
        )
        try:
            return apply.plan(self.sealed)
        except KgitopsError as error:
            return error
        finally:
            cluster.close()

    def after(self) -> object:
        cluster = open_cluster(self.store, self.clock)
        try:
            return comparable(used(self.wrap(cluster)))
        finally:
            cluster.close()

    def _pass(self, pause_at: int) -> None:
        if self.boundaries < 0:
            return
        self.boundaries += 1
        if self.boundaries == pause_at:
            self._let_the_other_apply()

    def _let_the_other_apply(self) -> None:
        self.clock.sleep(2 * SETTINGS.lease_ms / 1000)
        cluster = open_cluster(self.store, self.clock)
        other = self.wrap(cluster)
        plan = plan_of(OTHER, other.read_state())
        result = Apply(cluster=other, clock=self.clock, holder="User:other").plan(
            sealed_now(plan, self.clock, "nonce-other"), "run-other"
        )
        assert result.verdict.exit is ExitCode.SUCCESS, result.verdict
        cluster.close()
        self.settled = self.after()


class _Told(list[Event]):
    """A reader of events that makes the apply wait for each."""

    def __init__(self, trial: Trial, pause_at: int) -> None:
        super().__init__()
        self._trial = trial
        self._pause_at = pause_at

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event, ApplyStarted):
            self._trial.boundaries = 0
        self._trial._pass(self._pause_at)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """A prepared cluster, and a plan for it."""
    clock = FakeClock()
    cluster = open_cluster(tmp_path / "prepared.db", clock)
    faulty = FaultyCluster(cluster)
    sealed = sealed_now(prepare(faulty, clock), clock)
    cluster.close()
    return Trial(store=tmp_path / "prepared.db", sealed=sealed, clock=clock)


def check_every_boundary(trial: Trial) -> int:
    """Count the boundaries; a process suspended at one changes nothing after it."""
    prepared, boundary = trial.store, 0
    while True:
        boundary += 1
        trial.store = prepared.with_name(f"{boundary}.db")
        shutil.copy(prepared, trial.store)
        result = trial.run(boundary)
        if trial.boundaries < boundary:
            assert isinstance(result, ApplyResult)
            assert result.verdict.exit is ExitCode.SUCCESS
            return boundary - 1
        if isinstance(result, ApplyResult) and not result.failed and not result.not_attempted:
            # Only what was told in the end was held up, or to give the lock back.
            assert result.verdict.exit in (ExitCode.SUCCESS, ExitCode.PARTIAL)
        else:
            refused = isinstance(result, KgitopsError)
            code = result.exit if refused else result.verdict.exit
            assert code in NOT_DONE
            reasons = result.reasons if refused else result.verdict.reasons
            locked = [why.sentence for why in reasons if why.exit is ExitCode.LOCKED]
            assert len(locked) == (code is not ExitCode.STALE)
            assert "took the lock over" not in "".join(locked)  # the other one is done by now
        assert trial.settled, "the other one could not apply"
        assert trial.after() == trial.settled, boundary
        trial.store.unlink()


def test_whoever_stood_still_at_any_boundary_changes_nothing_more(trial: Trial) -> None:
    assert check_every_boundary(trial) > 60


def test_nor_does_it_where_virtual_clusters_are_lowered(trial: Trial) -> None:
    trial.wrap = LoweredCluster
    assert check_every_boundary(trial) > 60


def _no_end_is_passed_on() -> AbstractContextManager[object]:
    return patch.object(LeaseKeeper, "keep_lock", lambda self: self._lock.heartbeat())


def _the_store_does_not_look() -> AbstractContextManager[object]:
    return patch.object(EmbeddedRegistryLog, "check_lease", lambda *_: None)


@pytest.mark.parametrize("mutant", [_no_end_is_passed_on, _the_store_does_not_look])
def test_the_law_catches_a_lease_that_nobody_looks_at_in_the_end(
    trial: Trial, mutant: Callable[[], AbstractContextManager[object]]
) -> None:
    with mutant(), pytest.raises(AssertionError):
        check_every_boundary(trial)
