"""A cluster to apply to, plans to apply, and how their outcome is compared."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from apply.faults import FakeClock, FaultyCluster
from builders import PROJECT, a_binding, a_desired, a_quota, a_topic, an_acl, plan_of
from msgspec.structs import replace

from kgitops.apply.applier import apply_plan
from kgitops.apply.checks import Recheck
from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.apply.result import ApplyResult
from kgitops.apply.run.resume import resume
from kgitops.apply.secrets import PasswordSettings
from kgitops.approval import approve
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import ClockAndIds, random_id
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState, Project
from kgitops.model.clock import Clock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.json.requests import request_to_json
from kgitops.model.requests import (
    AlterUserScramCredentialsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    Request,
    SaltedCredentialsRequest,
    api_name,
)
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.plan.document.file import SealedPlan, seal
from kgitops.plan.document.plan import Plan

HOLDER = "User:tester@here"
DELETE = DeletionPolicy.DELETE
SETTINGS = ApplySettings(parallelism=2, batch_requests=2, batch_records=14)
"""Small batches, so that one plan has many boundaries."""


def open_cluster(path: Path | None = None, clock: FakeClock | None = None) -> EmbeddedCluster:
    """An embedded cluster, in memory without a path, that lives by ``clock``."""
    clock = clock or FakeClock()
    return boot(path, brokers=3, clock_and_ids=ClockAndIds(now=clock.now, new_id=random_id))


@dataclass(slots=True, kw_only=True)
class Apply:
    """An apply or a resume with test settings; it gathers the events."""

    cluster: Cluster
    settings: ApplySettings = SETTINGS
    clock: Clock = field(default_factory=FakeClock)
    holder: str = HOLDER
    interrupted: Callable[[], int | None] = lambda: None
    recheck: Recheck | None = None
    cancels: Callable[[Sequence[str]], bool] = lambda _: False
    events: list[Event] = field(default_factory=list)
    project: Project | None = None
    passwords: PasswordSettings = field(default_factory=PasswordSettings)

    def plan(self, plan: Plan | SealedPlan, run_id: str = "run-1") -> ApplyResult:
        sealed = plan if isinstance(plan, SealedPlan) else sealed_now(plan, self.clock)
        return apply_plan(
            approve(sealed),
            self._context,
            holder=self.holder,
            run_id=run_id,
            project=self.project or _project_of(sealed.plan),
            recheck=self.recheck,
        )

    def desired(self, desired: DesiredState, run_id: str = "run-1") -> ApplyResult:
        planned = plan_of(desired, self.cluster.read_state())
        return dataclasses.replace(self, project=self.project or desired.project).plan(
            planned, run_id
        )

    def resume(self, project_identity: str) -> ApplyResult | None:
        return resume(
            self._context,
            project=self.project or self._known(project_identity),
            holder=self.holder,
            recheck=self.recheck,
        )

    def _known(self, identity: str) -> Project:
        """The project of that identity by the name that the registry knows."""
        registry = self.cluster.read_state().registry
        names = registry.projects if registry else {}
        return Project(name=names.get(identity, PROJECT), uid=identity)

    @property
    def _context(self) -> ApplyContext:
        return ApplyContext(
            cluster=self.cluster,
            settings=self.settings,
            clock=self.clock,
            on_event=self.events.append,
            interrupted=self.interrupted,
            cancels=self.cancels,
            passwords=self.passwords,
        )


def _project_of(plan: Plan) -> Project:
    """The project that applies by default: the one that the plan was made for."""
    return Project(name=plan.desired.project, uid=plan.desired.identity)


def sealed_now(plan: Plan, clock: Clock, nonce: str = "nonce-1") -> SealedPlan:
    """The plan, sealed for a day."""
    now = clock.now()
    captured_at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    expires = now + timedelta(days=1)
    return seal(plan, captured_at=captured_at, created=now, expires=expires, nonce=nonce)


BEFORE = a_desired(
    a_topic("orders", partitions=2, configs={"retention.ms": "1000"}),
    a_topic("old", deletion_policy=DELETE),
    a_topic("log", partitions=1),
    an_acl(a_binding("User:gone")),
    a_quota(consumer_byte_rate=1024),
)
"""What the project applied before."""

AFTER = a_desired(
    a_topic("orders", partitions=4, configs={"retention.ms": "2000", "max.message.bytes": "9"}),
    a_topic("new-a", configs={"cleanup.policy": "compact"}),
    a_topic("new-b", partitions=5),
    a_topic("found"),
    a_topic("log", partitions=1, delete_records_before={0: 40}),
    an_acl(a_binding("User:billing")),
    an_acl(a_binding("User:found")),
    a_quota(consumer_byte_rate=2048, producer_byte_rate=512),
)
"""What it asks for now: of everything something, in eleven steps, two of them registry only."""

STEPS = 11


def prepare(cluster: Cluster, clock: FakeClock | None = None) -> Plan:
    """Apply BEFORE, let others add what AFTER adopts, and plan AFTER."""
    clock = clock or FakeClock()
    result = Apply(cluster=cluster, clock=clock).plan(
        sealed_now(plan_of(BEFORE, cluster.read_state()), clock, "nonce-0"), "run-0"
    )
    assert result.verdict.exit == 0, result.verdict
    found = RequestedTopicState(
        name="found", topic_id=None, assignment=((1, 2), (2, 3), (3, 1)), configs={}
    )
    others = [
        CreateTopicRequest(topic="found", requested_state=found),
        CreateAclRequest(binding=a_binding("User:found")),
    ]
    for request in others:
        (answer,) = cluster.execute([request], validate_only=False, principal="User:other")
        assert answer.ok, answer
    embedded = cluster.real if isinstance(cluster, FaultyCluster) else cluster
    embedded.produce("log", 0, records=100, bytes_each=1)
    return plan_of(AFTER, cluster.read_state())


def spelt(requests: Iterable[Request]) -> list[str]:
    """Requests in their one spelling, sorted, so that equal ones are equal."""
    return sorted(
        f"{api_name(request)} {canonical_json(request_to_json(request)).decode()}"
        for request in map(without_password, requests)
    )


def without_password(request: Request) -> Request:
    """The request as it was planned."""
    if not isinstance(request, SaltedCredentialsRequest):
        return request
    return AlterUserScramCredentialsRequest(
        user=request.user,
        mechanism=request.mechanism,
        iterations=request.iterations,
        password=request.password,
        virtual_cluster=request.virtual_cluster,
    )


def comparable(state: ClusterState) -> Mapping[str, object]:
    """Cluster and registry without what differs from run to run: ids and moments.

    A topic's id becomes its name, in the registry too: an owner of another topic shows as such.
    """
    names = {topic.topic_id: topic.name for topic in state.topics.values()}
    assert state.registry
    return {
        "topics": {name: replace(topic, topic_id=None) for name, topic in state.topics.items()},
        "usage": dict(state.usage),
        "acls": state.acls,
        "quotas": dict(state.quotas),
        "objects": dict(state.objects),
        "projects": dict(state.registry.projects),
        "owners": {
            address: replace(
                owner, topic_id=owner.topic_id and names.get(owner.topic_id, "another topic")
            )
            for address, owner in state.registry.owners.items()
        },
    }
