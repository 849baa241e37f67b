"""Embedded clusters whose brokers have policies that tests can look into: judged in process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cluster.clusters import ROOT, a_new_topic, admin
from msgspec import Struct

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import AuthorizerKind, Compat, Options
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.policy import (
    AclManagementPolicy,
    AlterBrokerRequest,
    AlterTopicRequest,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    ClusterState,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    PolicyViolation,
    TopicManagementPolicy,
)
from kgitops.policy.api.requests import (
    AlterClientQuotaRequest,
    CreateAclRequest,
    DeleteAclRequest,
    PolicyRequest,
)
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy, Waiver
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule

Says = Callable[[PolicyRequest, ClusterState], str | None]
"""What a policy has against a request; None accepts."""


class Call(Struct, frozen=True):
    """What a policy was asked, and what it could know when it was asked."""

    method: str
    request: PolicyRequest
    topics: Mapping[str, int]
    """The partitions of each topic."""
    node: Mapping[str, str]
    """The configs of the broker that evaluates."""


@dataclass
class Recorder(
    TopicManagementPolicy, BrokerManagementPolicy, AclManagementPolicy, ClientQuotaManagementPolicy
):
    """Remembers what it is asked, and denies where ``says`` has something to say."""

    says: Says = lambda _, __: None
    calls: list[Call] = field(default_factory=list)
    closed: int = 0

    @property
    def methods(self) -> list[str]:
        return [call.method for call in self.calls]

    @property
    def requests(self) -> list[PolicyRequest]:
        return [call.request for call in self.calls]

    def close(self) -> None:
        self.closed += 1

    def validate_create_topic(self, request: CreateTopicRequest, cluster_state: ClusterState):
        self._asked("create", request, cluster_state)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState):
        self._asked("alter", request, cluster_state)

    def validate_delete_topic(self, request: DeleteTopicRequest, cluster_state: ClusterState):
        self._asked("delete", request, cluster_state)

    def validate_delete_records(self, request: DeleteRecordsRequest, cluster_state: ClusterState):
        self._asked("delete records", request, cluster_state)

    def validate_alter_broker(self, request: AlterBrokerRequest, cluster_state: ClusterState):
        self._asked("alter broker", request, cluster_state)

    def validate_create_acl(self, request: CreateAclRequest, cluster_state: ClusterState):
        self._asked("create acl", request, cluster_state)

    def validate_delete_acl(self, request: DeleteAclRequest, cluster_state: ClusterState):
        self._asked("delete acl", request, cluster_state)

    def validate_alter_client_quota(
        self, request: AlterClientQuotaRequest, cluster_state: ClusterState
    ):
        self._asked("alter quota", request, cluster_state)

    def _asked(self, method: str, request: PolicyRequest, cluster: ClusterState) -> None:
        topics = {
            name: topic.num_partitions
            for name in cluster.topics(include_internal=True, include_marked_for_deletion=True)
            if (topic := cluster.topic_state(name)) is not None
        }
        node = dict(cluster.broker_state().configs)
        self.calls.append(Call(method, request, topics, node))
        words = self.says(request, cluster)
        if words is not None:
            raise PolicyViolation(words)


def denying(words: str = "not here") -> Recorder:
    """A policy that accepts nothing."""
    return Recorder(says=lambda _, __: words)


def policed(
    *policies: TopicManagementPolicy | BrokerManagementPolicy,
    level: Level = Level.HARD,
    waivers: Sequence[Waiver] = (),
    compat: Compat = Compat.SEED,
    authorizer: AuthorizerKind = AuthorizerKind.NONE,
    acls: Sequence[AclBinding] = (),
    brokers: int | Sequence[Broker] = 3,
    static_configs: Mapping[str, str] | None = None,
    broker_configs: Mapping[int, Mapping[str, str]] | None = None,
    topics: Sequence[str] = (),
) -> EmbeddedCluster:
    """A cluster with these policies, and with topics and ACLs that nobody judged."""
    rules = [
        PythonRule(f"policy-{number}", level, policy) for number, policy in enumerate(policies)
    ]
    placeholder = PythonPolicy(name="policies", level=level, digest="", class_="given:Below")
    cluster = boot(
        None,
        brokers=brokers,
        options=Options(
            compat=compat,
            authorizer=authorizer,
            super_users=frozenset({ROOT}),
            static_configs=static_configs or {},
            broker_configs=broker_configs or {},
        ),
        policies=Bundle(policies=(placeholder,)) if rules else None,
        open_evaluator=lambda _: InProcessEvaluator(rules, waivers),
    )
    held, cluster.controller.policies = cluster.controller.policies, None
    root = admin(cluster, ROOT)
    for name in topics:
        assert root.create_topics([a_new_topic(name)])[name].ok
    assert all(result.ok for result in root.create_acls(acls))
    cluster.controller.policies = held
    return cluster


def logged(cluster: EmbeddedCluster) -> int:
    """How many batches the cluster's log has: a request that writes nothing adds none."""
    connection = cluster.controller._store.connection
    (count,) = connection.execute("SELECT count(*) FROM log").fetchone()
    return count
