"""Asks a policy as brokers and plans do: by wire requests, through a judge in this process."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.policy import BrokerManagementPolicy, Configurable, TopicManagementPolicy
from kgitops.policy import ClusterState as Seen
from kgitops.policy.api.requests import AlterBrokerRequest as AlterBroker
from kgitops.policy.api.requests import AlterTopicRequest as AlterTopic
from kgitops.policy.api.requests import CreateTopicRequest as CreateTopic
from kgitops.policy.api.requests import DeleteRecordsRequest as DeleteRecords
from kgitops.policy.api.requests import DeleteTopicRequest as DeleteTopic
from kgitops.policy.api.requests import PolicyRequest
from kgitops.policy.evaluate.bundle import Level, RequestRulings
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule

TOPIC_ID = "A" * 22
T = TypeVar("T")


def a_state(*topics: TopicState, brokers: tuple[Broker, ...] | None = None) -> ClusterState:
    """A cluster of three brokers that holds these topics."""
    return ClusterState(
        cluster_id="c",
        backend="embedded",
        brokers=brokers or tuple(Broker(id=number) for number in (1, 2, 3)),
        topics={topic.name: topic for topic in topics},
    )


def a_topic_state(
    name: str = "orders",
    assignment: Assignment = ((1, 2), (2, 3)),
    configs: Mapping[str, str] | None = None,
    **more: bool,
) -> TopicState:
    """A topic that is there."""
    return TopicState(
        name=name, topic_id=TOPIC_ID, assignment=assignment, configs=configs or {}, **more
    )


def creation(
    name: str = "orders",
    configs: Mapping[str, str] | None = None,
    assignment: Assignment = ((1, 2), (2, 3)),
    *,
    generated: bool = True,
) -> req.CreateTopicRequest:
    """A topic is to be created."""
    return req.CreateTopicRequest(
        topic=name,
        requested_state=RequestedTopicState(
            name=name,
            topic_id=None,
            assignment=assignment,
            configs=configs or {},
            requested_configs=configs or {},
            generated_replica_assignments=generated,
        ),
    )


def alteration(
    before: TopicState,
    *,
    assignment: Assignment | None = None,
    configs: Mapping[str, str | None] | None = None,
) -> req.AlterTopicRequest:
    """One step of an alteration, as a plan makes it."""
    merged = {**before.configs, **(configs or {})}
    step = req.AlterStep.CONFIGS
    if assignment is not None:
        grows = len(assignment) > before.num_partitions
        step = req.AlterStep.PARTITIONS if grows else req.AlterStep.REPLICAS
    return req.AlterTopicRequest(
        topic=before.name,
        topic_id=TOPIC_ID,
        step=step,
        requested_state=RequestedTopicState(
            name=before.name,
            topic_id=TOPIC_ID,
            assignment=assignment or before.assignment,
            configs={key: value for key, value in merged.items() if value is not None},
            requested_configs=configs or {},
        ),
    )


def deletion(name: str = "orders") -> req.DeleteTopicRequest:
    """A topic is to be deleted."""
    return req.DeleteTopicRequest(topic=name, topic_id=TOPIC_ID)


def record_deletion(offsets: Mapping[int, int], name: str = "orders") -> req.DeleteRecordsRequest:
    """Records are to be deleted."""
    return req.DeleteRecordsRequest(topic=name, topic_id=TOPIC_ID, deleted_message_offsets=offsets)


def judge(
    policy: Configurable,
    state: ClusterState,
    *requests: req.Request,
    principal: str = "User:kgitops",
    broker_configs: Mapping[str, str] | None = None,
) -> list[RequestRulings]:
    """What the policy says of each; what it accepts takes effect before the next."""
    judging = InProcessEvaluator([PythonRule("under-test", Level.HARD, policy)])
    judging.begin(state, principal=principal)
    said = []
    for request in requests:
        said.append(judging.judge(request, broker_configs=broker_configs))
        if not said[-1].stops:
            judging.accept(request)
    judging.close()
    return said


def stopped(judgements: list[RequestRulings]) -> list[bool]:
    """Which requests were refused; a policy that crashes is none of what a test asks about."""
    assert not [r for item in judgements for r in item if r.crashed]
    return [item.stops for item in judgements]


def seen(
    look: Callable[[PolicyRequest, Seen], T],
    state: ClusterState,
    *requests: req.Request,
    principal: str = "User:kgitops",
    broker_configs: Mapping[str, str] | None = None,
) -> list[T]:
    """What ``look`` makes of each request and of the cluster, in a policy that accepts all."""
    policy = Looking(look)
    told = judge(policy, state, *requests, principal=principal, broker_configs=broker_configs)
    assert not any(stopped(told))
    return policy.looks


class Looking(TopicManagementPolicy, BrokerManagementPolicy):
    """Accepts everything and remembers which method saw what."""

    def __init__(self, look: Callable[[PolicyRequest, Seen], T]) -> None:
        self._look = look
        self.methods: list[str] = []
        self.looks: list[T] = []

    def _saw(self, method: str, request: PolicyRequest, cluster_state: Seen) -> None:
        self.methods.append(method)
        self.looks.append(self._look(request, cluster_state))

    def validate_create_topic(self, request: CreateTopic, cluster_state: Seen) -> None:
        self._saw("validate_create_topic", request, cluster_state)

    def validate_alter_topic(self, request: AlterTopic, cluster_state: Seen) -> None:
        self._saw("validate_alter_topic", request, cluster_state)

    def validate_delete_topic(self, request: DeleteTopic, cluster_state: Seen) -> None:
        self._saw("validate_delete_topic", request, cluster_state)

    def validate_delete_records(self, request: DeleteRecords, cluster_state: Seen) -> None:
        self._saw("validate_delete_records", request, cluster_state)

    def validate_alter_broker(self, request: AlterBroker, cluster_state: Seen) -> None:
        self._saw("validate_alter_broker", request, cluster_state)
