"""How the contract's tests ask a cluster, and wait until it shows what it did.

Written against the port only: a real cluster answers before ACLs, quotas and moves are visible.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace
from patience import eventually

from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, Validator
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.results import ErrorCode, RequestResult

PRINCIPAL = "User:kgitops"


def send(cluster: Cluster, request: req.Request, *, validate_only: bool = False) -> RequestResult:
    """What one request is answered."""
    (result,) = cluster.execute([request], validate_only=validate_only, principal=PRINCIPAL)
    return result


def can_judge(cluster: Cluster, request: req.Request) -> bool:
    """Whether the cluster has a dry run for it: Kafka never has one for a reassignment (A4-80)."""
    moves = isinstance(request, req.AlterTopicRequest) and request.step is req.AlterStep.REPLICAS
    grade = cluster.capabilities.validation[req.api_name(request)]
    return grade is not Validator.NOT_SUPPORTED and not (
        moves and cluster.capabilities.backend == "kafka"
    )


def judge(cluster: Cluster, request: req.Request) -> ErrorCode:
    """The code of a dry run, which changes nothing."""
    before = whole_state(cluster)
    code = send(cluster, request, validate_only=True).code
    assert whole_state(cluster) == before
    return code


def refused(cluster: Cluster, request: req.Request) -> ErrorCode:
    """The code of a request that must fail, in a dry run as well, and change nothing."""
    before, judged = whole_state(cluster), None
    if can_judge(cluster, request):
        judged = send(cluster, request, validate_only=True).code
        assert whole_state(cluster) == before
    code = send(cluster, request).code
    assert code != ErrorCode.NONE
    assert judged in (None, code)
    assert whole_state(cluster) == before
    return code


def done(
    cluster: Cluster, request: req.Request, shows: Callable[[ClusterState], bool]
) -> ClusterState:
    """The state once it shows what the request did."""
    assert send(cluster, request).ok
    return await_state(cluster, shows)


def await_state(cluster: Cluster, shows: Callable[[ClusterState], bool]) -> ClusterState:
    """The state once it shows what is waited for."""
    return eventually(cluster.read_state, shows, what="the cluster shows what it was asked for")


def whole_state(cluster: Cluster) -> ClusterState:
    """The state to be compared, once every broker has told its part.

    On a busy machine a broker may not answer within ten seconds: its throttle is unknown then.
    """
    state = eventually(
        cluster.read_state,
        lambda state: all(broker.throttles is not None for broker in state.brokers),
        what="every broker tells its part",
    )
    return comparable(state)


def comparable(state: ClusterState) -> ClusterState:
    """The state without the time at which it was read."""
    return replace(state, captured_at="")


def creation(
    name: str = "orders",
    assignment: Assignment = ((1, 2), (2, 3)),
    configs: Mapping[str, str] | None = None,
    *,
    generated: bool = False,
) -> req.CreateTopicRequest:
    """A request to create a topic."""
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=assignment,
        configs=configs or {},
        requested_configs=configs or {},
        generated_replica_assignments=generated,
    )
    return req.CreateTopicRequest(topic=name, requested_state=state)


def created(cluster: Cluster, name: str = "orders", **configs: str) -> TopicState:
    """A topic that is there; ``retention_ms="1"`` gives a config."""
    request = creation(name, configs={k.replace("_", "."): v for k, v in configs.items()})
    return done(cluster, request, lambda state: name in state.topics).topics[name]


def alteration(
    topic: TopicState,
    step: req.AlterStep,
    *,
    assignment: Assignment | None = None,
    configs: Mapping[str, str | None] | None = None,
) -> req.AlterTopicRequest:
    """A request for one step of an alteration."""
    requested = configs or {}
    after = {**topic.configs, **requested}
    assert topic.topic_id is not None
    return req.AlterTopicRequest(
        topic=topic.name,
        topic_id=topic.topic_id,
        step=step,
        requested_state=RequestedTopicState(
            name=topic.name,
            topic_id=topic.topic_id,
            assignment=topic.assignment if assignment is None else assignment,
            configs={key: value for key, value in after.items() if value is not None},
            requested_configs=requested,
        ),
    )


def binding(name: str = "orders", operation: Operation = Operation.READ) -> AclBinding:
    """An Allow on a topic."""
    return AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=name,
        pattern_type=PatternType.LITERAL,
        principal="User:billing",
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )
