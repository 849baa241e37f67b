"""The first write on a registry of schema version 1 raises it, at once or not at all."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from apply.faults import FakeClock, FaultyCluster, nothing
from apply.plans import SETTINGS, Apply, open_cluster, sealed_now
from builders import UID, a_desired, a_topic, plan_of
from older_registry import make_version_1, versions

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import Event, RegistryUpgraded
from kgitops.apply.lock import acquire
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster
from kgitops.model.errors import LockedError, SafetyError
from kgitops.model.json.records import Record


class Died(BaseException):
    """The process died."""


def apply_topics(apply: Apply, *names: str) -> None:
    """Apply that these topics are declared, with a plan and a run of their own."""
    plan = plan_of(a_desired(*map(a_topic, names)), apply.cluster.read_state())
    result = apply.plan(sealed_now(plan, apply.clock, nonce=f"nonce-{names}"), f"run-{len(names)}")
    assert not result.verdict.stops


def older_cluster(clock: FakeClock, path: Path | None = None) -> EmbeddedCluster:
    """A cluster with a topic, whose registry has schema version 1."""
    cluster = open_cluster(path, clock)
    apply_topics(Apply(cluster=cluster, clock=clock), "orders")
    make_version_1(cluster.registry)
    assert set(versions(cluster.registry.read()).values()) == {1}
    return cluster


def context_of(cluster: Cluster, clock: FakeClock, events: list[Event]) -> ApplyContext:
    return ApplyContext(
        cluster=cluster,
        settings=SETTINGS,
        clock=clock,
        on_event=events.append,
        interrupted=lambda: None,
    )


def test_an_apply_raises_the_version_with_its_first_write_and_tells_so_once() -> None:
    clock = FakeClock()
    cluster = older_cluster(clock)
    appends: list[list[str]] = []
    watched = FaultyCluster(
        cluster, before_append=lambda records: appends.append([key for key, _ in records])
    )
    apply = Apply(cluster=watched, clock=clock)
    apply_topics(apply, "orders", "audit")
    told = [event for event in apply.events if isinstance(event, RegistryUpgraded)]
    assert [(event.before, event.after) for event in told] == [(1, 2)]
    claim, first, *later = appends
    assert (len(claim), claim[0][:5], first[0]) == (1, "lock/", "meta")
    assert "run/run-2" in first
    assert all("meta" not in keys for keys in later)
    known = versions(cluster.registry.read())
    assert known["meta"] == known["own/topic/audit"] == known["project/" + _project(known)] == 2
    assert known["own/topic/orders"] == 1
    again = Apply(cluster=cluster, clock=clock)
    apply_topics(again, "orders", "audit", "more")
    assert not [event for event in again.events if isinstance(event, RegistryUpgraded)]


def _project(known: dict[str, int]) -> str:
    (project,) = [key.partition("/")[2] for key in known if key.startswith("project/")]
    return project


def test_a_contender_that_loses_changes_nothing_for_an_older_holder() -> None:
    """The claim of a contender has the registry's version, which the holder can read."""
    clock = FakeClock()
    cluster = older_cluster(clock)
    written: list[Record] = []
    events: list[Event] = []
    cluster.registry.append([("lock/older", _claim())])
    watched = FaultyCluster(cluster, before_append=written.extend)
    with pytest.raises(LockedError):
        acquire(context_of(watched, clock, events), holder="User:newer")
    assert {value["schema_version"] for _, value in written if value is not None} == {1}
    assert set(versions(cluster.registry.read()).values()) == {1}
    assert events == []


def _claim() -> dict[str, object]:
    return {
        "schema_version": 1,
        "holder": "User:older",
        "since": "2026-11-01T00:00:00Z",
        "lease_ms": 60_000,
        "claim_offset": None,
        "renews_until_ms": None,
    }


def test_a_lock_that_writes_nothing_leaves_the_version() -> None:
    clock = FakeClock()
    cluster = older_cluster(clock)
    events: list[Event] = []
    lock = acquire(context_of(cluster, clock, events), holder="User:newer")
    assert lock is not None
    lock.release()
    assert set(versions(cluster.registry.read()).values()) == {1}
    assert events == []


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("append", range(4))
def test_a_death_at_any_write_leaves_a_registry_of_one_version_or_the_other(
    append: int, *, after: bool
) -> None:
    """Nothing of version 2 is ever there without a ``meta`` that older versions refuse."""
    clock = FakeClock()
    cluster = older_cluster(clock)
    count = iter(range(100))

    def die(_: Sequence[Record]) -> None:
        if next(count) >= append:
            raise Died

    watched = FaultyCluster(
        cluster, after_append=die if after else nothing, before_append=nothing if after else die
    )
    with pytest.raises(Died):
        apply_topics(Apply(cluster=watched, clock=clock), "orders", "audit")
    cluster.registry.unfence()
    known = versions(cluster.registry.read())
    if known["meta"] == 1:
        assert set(known.values()) == {1}
    clock.sleep(200)
    later = Apply(cluster=cluster, clock=clock)
    later.resume(UID)
    apply_topics(later, "orders", "audit", "more")
    assert versions(cluster.registry.read())["meta"] == 2


def test_a_registry_of_a_newer_kgitops_gets_no_claim() -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    cluster.registry.append([("meta", {"schema_version": 3, "kind": "kgitops.registry"})])
    with pytest.raises(SafetyError, match="use a newer kgitops"):
        acquire(context_of(cluster, clock, []), holder="User:older")
    assert [*versions(cluster.registry.read())] == ["meta"]
