"""The worked scenario (§24) without any command: its plans, and clusters that are part-way."""

from functools import cache
from pathlib import Path

from apply.faults import FakeClock
from apply.plans import Apply, sealed_now
from cli.golden import G1, G2, G3, OFFSETS
from cli.golden import SOURCE as GOLDEN

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import ClockAndIds, Options, random_id
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.manifests.load import load_manifests
from kgitops.model.requests import CreateAclRequest
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Plan
from kgitops.plan.planner import make_plan

UID = "7f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a77"


@cache
def desired_at(commit: int) -> DesiredState:
    manifests = load_manifests([GOLDEN / f"commit-{commit}"], cluster="x", variables={}, env={})
    return build_desired(
        manifests,
        project=Project(name="platform", uid=UID),
        whole=True,
        targets=frozenset(),
        excludes=frozenset(),
        safety=Safety(),
        principal="User:kgitops",
        allow_configs=(),
    )


def plan_at(cluster: Cluster, commit: int) -> Plan:
    return make_plan(
        desired_at(commit),
        cluster.read_state(),
        target_name="x",
        capabilities=cluster.capabilities,
    )


def open_scenario(
    store: Path, clock: FakeClock, *, lowered: bool
) -> tuple[EmbeddedCluster, Cluster]:
    physical = boot(
        store,
        brokers=3,
        clock_and_ids=ClockAndIds(now=clock.now, new_id=random_id),
        options=Options(virtual_clusters=not lowered),
    )
    return physical, LoweredCluster(physical) if lowered else physical


def apply_until(cluster: Cluster, clock: FakeClock, commit: int) -> None:
    """Everything before ``commit``, with the history of §24.1."""
    for number in range(commit):
        sealed = sealed_now(plan_at(cluster, number), clock, f"nonce-{number}")
        result = Apply(cluster=cluster, clock=clock).plan(sealed, f"run-{number}")
        assert result.verdict.exit is ExitCode.SUCCESS, result
        if number == 0:
            for binding in (G1, G2, G3):
                (answer,) = cluster.execute(
                    [CreateAclRequest(binding=binding)],
                    validate_only=False,
                    principal="User:kgitops",
                )
                assert answer.ok
            physical = cluster.physical if isinstance(cluster, LoweredCluster) else cluster
            assert isinstance(physical, EmbeddedCluster)
            physical.commit("sales-etl", OFFSETS)
