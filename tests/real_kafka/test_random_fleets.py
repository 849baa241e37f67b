"""Laws of whole fleets on a real Kafka, beside brokers that know virtual clusters.

tests/laws/test_fleet_laws.py has many chains, around a simulated Kafka; here are a few of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from builders import an_entity
from cluster.kafka.committing import commit
from cluster_contract.contract import await_state
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from kafka_wiping import wipe
from laws.fleet_documents import Document, fleets, write
from laws.fleet_surroundings import OLD_RIGHTS, of_the_other_project, settle
from laws.twin_clusters import Twin, embedded, workspace_of
from msgspec.structs import replace

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.plan.document.plan import Plan
from kgitops.sandbox.sandbox import Sandbox

SEEDS = (0, 5, 7)
TURNS = 3
ONLY_OF_BROKERS = ("L-PREFLIGHT", "L-HIDDEN")
"""Of settings that isolation depends on: brokers don't tell some, and a simulated one has none."""
UNTHROTTLED = AlterClientQuotaRequest(
    entity=an_entity(user="ANONYMOUS"),
    quotas={"producer_byte_rate": 1e9, "consumer_byte_rate": 1e9},
)
"""Quotas of a fleet may be of all users, and brokers hold who applies it to them as well."""

Chain = Sequence[Sequence[Document]]


@pytest.fixture(scope="module")
def brokers(own_kafka) -> Sandbox:
    """One broker, which keeps ACLs."""
    return own_kafka()


@contextmanager
def on_kafka(brokers: Sandbox) -> Iterator[Twin]:
    """The brokers, with nothing on them."""
    wipe(brokers)
    configs = {"bootstrap.servers": brokers.servers, **brokers.configs}
    cluster = connect(f"kafka://{brokers.servers}", configs=brokers.configs, base=Path())
    # Embedded brokers throttle nobody, so their plans have no order for quotas of kgitops itself.
    lowered = cast(LoweredCluster, cluster)
    real = cast(KafkaCluster, lowered.physical)
    real._capabilities = replace(real.capabilities, client=None)
    try:
        yield Twin(cluster, lambda group, offsets: commit(configs, group, offsets))
    finally:
        cluster.close()


def drawn(number: int) -> Sequence[Chain]:
    """Chains of desired states; the last ones are the larger ones."""
    found: list[Chain] = []

    @seed(number)
    @settings(
        max_examples=20,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*(fleets(3 + turn) for turn in range(TURNS))))
    def collect(chain: Chain) -> None:
        found.append(chain)

    collect()
    return found[::-1]


def can_be_applied(chain: Chain, folder: Path) -> bool:
    """Whether nothing stops it, on a simulated Kafka."""
    folder.mkdir()
    with embedded(folder, "lowered", brokers=1) as twin:
        settle([twin], folder)
        for documents in chain:
            write(folder / "fleet", "fleet", documents)
            workspace = workspace_of(folder / "fleet")
            try:
                sealed = twin.plan(workspace)
            except FindingsError:
                return False
            if sealed.plan.verdict.stops or not sealed.plan.changes:
                return False
            twin.apply(sealed, workspace)
    return True


def settled(state: ClusterState) -> bool:
    """Whether brokers show what others asked for: they answer before."""
    quotas = {an_entity(user="jane"), UNTHROTTLED.entity}
    return state.acls.issuperset(OLD_RIGHTS) and state.quotas.keys() >= quotas


def alike(plan: Plan) -> Plan:
    """What a simulated Kafka is planned as well."""
    lines = tuple(line for line in plan.lowering if line.code not in ONLY_OF_BROKERS)
    return replace(plan, lowering=lines)


@pytest.mark.parametrize("number", SEEDS)
def test_fleets_obey_on_kafka(brokers: Sandbox, tmp_path: Path, number: int) -> None:
    """VC-322, VC-406, VC-409, VC-411: the plan after an apply is empty, brokers with and without
    virtual clusters are planned in the same words, and nothing of another project changes. A
    simulated Kafka is also planned the same physical requests."""
    chain = next(
        chain
        for place, chain in enumerate(drawn(number))
        if can_be_applied(chain, tmp_path / f"rehearsal-{place}")
    )
    folder = tmp_path / "fleet"
    with (
        embedded(tmp_path, "1", brokers=1) as native,
        embedded(tmp_path, "lowered", brokers=1) as simulated,
        on_kafka(brokers) as kafka,
    ):
        all_three = native, simulated, kafka
        assert all(twin.ask(UNTHROTTLED) for twin in all_three)
        settle(all_three, tmp_path)
        await_state(kafka.cluster, settled)
        foreign = [of_the_other_project(twin) for twin in all_three]
        for turn, documents in enumerate(chain):
            write(folder, "fleet", documents)
            workspace = workspace_of(folder)
            for twin in all_three:
                twin.learn(turn)
            sealed = [twin.plan(workspace) for twin in all_three]
            plans = [planned.plan for planned in sealed]
            assert native.logical(plans[0]) == kafka.logical(plans[2])
            assert simulated.whole(alike(plans[1])) == kafka.whole(alike(plans[2]))
            for twin, planned in zip(all_three, sealed, strict=True):
                twin.apply(planned, workspace)
                again = twin.reopened().plan(workspace).plan
                assert (again.changes, again.drift, again.verdict.stops) == ((), (), False)
            for twin, (has, bindings) in zip(all_three, foreign, strict=True):
                has_now, bindings_now = of_the_other_project(twin)
                assert has_now == has
                assert bindings <= bindings_now
