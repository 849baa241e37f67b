"""Three plans in a row on a real embedded cluster that others change in between."""

from collections.abc import Iterator, Sequence

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, sealed_now
from hypothesis import strategies as st
from msgspec import Struct
from strategies import (
    BROKERS,
    HIGH_WATERMARK,
    RESOURCES,
    SOURCES,
    TEAMS,
    Team,
    foreign_requests,
    projects,
)
from used import used

from kgitops.apply.objects import with_objects
from kgitops.apply.result import ApplyResult
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import ClockAndIds, random_id
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.model.resources.addresses import config_resource_address
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.plan.planner import make_plan
from kgitops.workflow.reading import with_declared_objects, with_offsets
from kgitops.workflow.stages import Planning, with_validation


class Turn(Struct, frozen=True, kw_only=True):
    """One plan that nothing stopped, what it was made from, and what its apply sent and left."""

    desired: DesiredState
    before: ClusterState
    sealed: SealedPlan
    sent: tuple[Request, ...]
    result: ApplyResult
    after: ClusterState
    cluster: EmbeddedCluster

    @property
    def plan(self) -> Plan:
        return self.sealed.plan


class Ready(Struct, frozen=True, kw_only=True):
    """A plan that nothing stops, not applied yet."""

    desired: DesiredState
    before: ClusterState
    plan: Plan
    cluster: EmbeddedCluster
    clock: FakeClock
    nonce: str


def seen(cluster: EmbeddedCluster) -> ClusterState:
    """All that the model knows of the cluster."""
    addresses = [config_resource_address(kind, name) for kind, (name, _) in RESOURCES.items()]
    return with_objects(cluster, used(cluster), addresses)


def ready_plans(
    data: st.DataObject, teams: Sequence[Team] = TEAMS[:1], count: int = 3
) -> Iterator[Ready]:
    """Others change the cluster, clients write, a team plans; and again, if someone applies.

    Users' passwords are in the environment meanwhile.
    """
    clock = FakeClock()
    cluster = boot(
        None, brokers=BROKERS, clock_and_ids=ClockAndIds(now=clock.now, new_id=random_id)
    )
    declared: dict[Team, DesiredState] = {}
    environment = pytest.MonkeyPatch()
    try:
        for source in SOURCES:
            environment.setenv(source.env or "", "a password")
        for number in range(count):
            _disturb(data, cluster)
            team = data.draw(st.sampled_from(teams))
            desired = data.draw(
                projects(team, declared.get(team), users=True, resources=True), label="desired"
            )
            declared[team] = desired
            before = seen(cluster)  # the model knows which records are there
            plan = planned(desired, cluster)
            if not plan.verdict.stops:
                yield Ready(
                    desired=desired,
                    before=before,
                    plan=plan,
                    cluster=cluster,
                    clock=clock,
                    nonce=f"nonce-{number}",
                )
    finally:
        environment.undo()
        cluster.close()


def embedded_turns(
    data: st.DataObject, teams: Sequence[Team] = TEAMS[:1], count: int = 3
) -> Iterator[Turn]:
    """Ready plans, each applied on the way."""
    for ready in ready_plans(data, teams, count):
        recording = FaultyCluster(ready.cluster)
        sealed = sealed_now(ready.plan, ready.clock, ready.nonce)
        result = Apply(cluster=recording, clock=ready.clock, project=ready.desired.project).plan(
            sealed, f"run-{ready.nonce}"
        )
        yield Turn(
            desired=ready.desired,
            before=ready.before,
            sealed=sealed,
            sent=tuple(recording.sent),
            result=result,
            after=seen(ready.cluster),
            cluster=ready.cluster,
        )


def planned(desired: DesiredState, cluster: EmbeddedCluster) -> Plan:
    """As the product plans: made from the cluster, then judged by its brokers."""
    current = with_offsets(cluster, desired, cluster.read_state())
    current = with_declared_objects(cluster, desired, current)
    plan = make_plan(desired, current, target_name="local", capabilities=cluster.capabilities)
    return with_validation(plan, Planning(cluster=cluster, desired=desired, current=current))


def _disturb(data: st.DataObject, cluster: EmbeddedCluster) -> None:
    for request in data.draw(foreign_requests(seen(cluster), resources=True), label="others"):
        # What a broker refuses of others' changes just does not happen.
        cluster.execute([request], validate_only=False, principal="User:someone")
    for name, usage in seen(cluster).usage.items():
        for partition, end in enumerate(usage.high_watermarks):
            if end is not None and end < HIGH_WATERMARK:
                cluster.produce(name, partition, HIGH_WATERMARK - end, 10)
