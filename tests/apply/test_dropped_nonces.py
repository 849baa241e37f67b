"""Nonces of executed plans are dropped by clocks, which may be wrong: no plan is applied twice."""

from datetime import timedelta

import pytest
from apply.faults import FakeClock
from apply.plans import Apply, open_cluster, sealed_now
from builders import a_desired, a_topic, plan_of

from kgitops.apply.journal.damage import find_damage
from kgitops.apply.journal.reading import latest_values
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import RegistryEntry
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.registry import Json
from kgitops.plan.document.file import SealedPlan

AHEAD = timedelta(days=32)


def sealed_topic(cluster: EmbeddedCluster, clock: FakeClock, name: str) -> SealedPlan:
    plan = plan_of(a_desired(a_topic(name), whole=False), cluster.read_state())
    return sealed_now(plan, clock, f"nonce-{name}")


def nonces(cluster: EmbeddedCluster) -> set[str]:
    latest = latest_values(cluster.registry.read() or ())
    return {key for key in latest if key.startswith("nonce/")}


def test_a_machine_whose_clock_is_ahead_drops_no_nonce_of_a_valid_plan() -> None:
    """The brokers' clock is right, so it counts."""
    right = FakeClock()
    cluster = open_cluster(clock=right)
    Apply(cluster=cluster, clock=right).plan(sealed_topic(cluster, right, "a"), "1")
    wrong = FakeClock(AHEAD.total_seconds())
    Apply(cluster=cluster, clock=wrong).plan(sealed_topic(cluster, wrong, "b"), "2")
    assert nonces(cluster) == {"nonce/nonce-a", "nonce/nonce-b"}


def test_a_plan_whose_nonce_was_dropped_is_refused_whatever_the_clock_says() -> None:
    """The clock of the whole cluster was ahead, and somebody has set it right."""
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    apply = Apply(cluster=cluster, clock=clock)
    waiting = sealed_topic(cluster, clock, "waiting")
    executed = sealed_topic(cluster, clock, "executed")
    apply.plan(executed, "1")
    clock.ahead += AHEAD
    apply.plan(sealed_topic(cluster, clock, "while-ahead"), "2")
    assert nonces(cluster) == {"nonce/nonce-while-ahead"}
    clock.ahead -= AHEAD
    for sealed in (executed, waiting):
        with pytest.raises(UntrustedPlanError, match="no longer keeps which plans"):
            apply.plan(sealed, "3")
    clock.sleep(1)
    assert apply.plan(sealed_topic(cluster, clock, "after"), "4").verdict.exit == 0
    assert "waiting" not in cluster.read_state().topics


@pytest.mark.parametrize("value", [{"expires": 7}, {"expires": "soon"}, {}])
def test_a_damaged_record_of_dropped_nonces_stops_plans_until_it_is_repaired(
    value: dict[str, Json],
) -> None:
    clock = FakeClock()
    cluster = open_cluster(clock=clock)
    apply = Apply(cluster=cluster, clock=clock)
    apply.plan(sealed_topic(cluster, clock, "a"), "1")
    cluster.registry.append([("nonce", {"schema_version": 2, **value})])
    with pytest.raises(SafetyError, match="registry check"):
        apply.plan(sealed_topic(cluster, clock, "b"), "2")
    (damage,) = find_damage(cluster.registry.scan() or ())
    assert damage.record is not None
    assert "are refused" in damage.remedy
    cluster.registry.append([damage.record])
    assert apply.plan(sealed_topic(cluster, clock, "c"), "3").verdict.exit == 0


def test_a_repair_brings_no_earlier_time_back() -> None:
    def entry(offset: int, value: dict[str, Json]) -> RegistryEntry:
        return RegistryEntry(
            offset=offset, key="nonce", value=value, timestamp_ms=1_764_158_400_000 + offset
        )

    early = {"schema_version": 2, "expires": "2025-01-01T00:00:00Z"}
    damages = find_damage([entry(1, early), entry(2, {"schema_version": 2, "expires": 7})])
    (record,) = [damage.record for damage in damages if damage.key == "nonce"]
    assert record == ("nonce", {"schema_version": 2, "expires": "2025-11-26T12:00:00Z"})
