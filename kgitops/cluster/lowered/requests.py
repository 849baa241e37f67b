"""Requests to a lowered cluster: selects those to lower, and sends the physical ones to brokers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import assert_never

from kgitops.cluster.port import Cluster
from kgitops.lowering.acls.compile import is_logical
from kgitops.lowering.effects import PhysicalRequest
from kgitops.model import requests as req
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import LocalName, generated_parts
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.well_formed import binding_problem, entity_problem, quota_problem


def must_lower(request: req.Request, *, lowered: bool) -> bool:
    """True if the request has to be lowered.

    If the cluster has physical objects for virtual clusters (``lowered``), requests about global
    objects may affect them too: an ACL, a user's quota, or a topic that links lead to.
    """
    match request:
        case req.AclRequest(binding=binding):
            return lowered or is_logical(binding)
        case req.AlterClientQuotaRequest(entity=entity):
            return lowered or any(kind == VIRTUAL_CLUSTER for kind, _ in entity)
        case req.DeleteTopicRequest(local=local):
            return lowered or local is not None
        case req.CreateTopicRequest(local=local):
            return local is not None
        case req.VirtualClusterRequest():
            return True
        case req.AlterTopicRequest() | req.DeleteRecordsRequest() | req.AlterBrokerRequest():
            return False  # links to the topic make no difference
        case req.AlterUserScramCredentialsRequest():
            return lowered  # the right of an administrator is checked
        case req.AlterConfigResourceRequest() | req.ConsumerGroupRequest():
            return False
        case _:
            assert_never(request)


def topics_of(requests: Iterable[req.Request]) -> frozenset[str]:
    """The physical topics that these requests name."""
    names = set()
    for request in requests:
        match request:
            case req.AlterVirtualClusterRequest(topic=str(topic)):
                names.add(topic)
            case req.DeleteTopicRequest(topic=topic):
                names.add(topic)
            case _:
                pass
    return frozenset(names)


def links_of(requests: Iterable[req.Request]) -> frozenset[LocalName]:
    """The links that these requests follow, and the topics that they create in virtual clusters."""
    names = set()
    for request in requests:
        match request:
            case req.AlterVirtualClusterRequest(target=LocalName() as target):
                names.add(target)
            case req.CreateTopicRequest(local=LocalName() as local):
                names.add(local)
            case _:
                pass
    return frozenset(names)


def refusal(request: req.Request) -> RequestResult | None:
    """The answer of brokers with virtual clusters to an invalid ACL or quota; None if it is valid.

    The brokers themselves never see these ACLs and quotas.
    """
    match request:
        case req.CreateAclRequest(binding=binding) if is_logical(binding):
            problem = binding_problem(binding)
        case req.AlterClientQuotaRequest(entity=entity) if (
            entity and entity[0][0] == VIRTUAL_CLUSTER
        ):
            problems = (quota_problem(entity, key, value) for key, value in request.quotas.items())
            problem = entity_problem(entity) or next(filter(None, problems), None)
        case _:
            problem = None
    return RequestResult(code=ErrorCode.INVALID_REQUEST, message=problem) if problem else None


# Controllers refuse batches of more than 10,000 records. A physical request takes only a few, but
# a logical request may need any number of them.
_BATCH_SIZE = 1_000
NOT_ATTEMPTED = RequestResult(
    code=ErrorCode.OPERATION_NOT_ATTEMPTED,
    message="A request that has to come first failed.",
)


def carry_out(
    cluster: Cluster,
    requests: Sequence[PhysicalRequest],
    *,
    principal: str,
    until_ms: int | None = None,
) -> Sequence[RequestResult]:
    """Send physical requests, consecutive ones of one kind as one batch; the answers, in order.

    Deletions come last. A physical request is not sent if an earlier one failed for any of the
    logical requests behind it, so that what they replace stays (VC-402). ``until_ms`` is the end of
    the lock's lease.

    Raises:
        LockedError: the lease has ended.
        UnreachableError: no answer came; the outcome is unknown.
    """
    answers: list[RequestResult] = []
    failed: set[int] = set()
    for batch in in_batches(requests):
        to_send = [failed.isdisjoint(physical.requested_by) for physical in batch]
        sent = [physical.request for physical, send in zip(batch, to_send, strict=True) if send]
        replies = iter(
            cluster.execute(sent, validate_only=False, principal=principal, until_ms=until_ms)
            if sent
            else ()
        )
        for physical, send in zip(batch, to_send, strict=True):
            if send:
                answer = _accept_own_topic(cluster, physical.request, next(replies))
            else:
                answer = NOT_ATTEMPTED
            answers.append(answer)
            if not answer.ok:
                failed.update(physical.requested_by)
    return answers


def in_batches(requests: Sequence[PhysicalRequest]) -> Iterator[list[PhysicalRequest]]:
    """The requests in order, in batches that brokers accept: of one kind and of limited size."""
    for _, group in groupby(requests, key=lambda physical: _kind(physical.request)):
        batch = list(group)
        yield from (batch[i : i + _BATCH_SIZE] for i in range(0, len(batch), _BATCH_SIZE))


def _accept_own_topic(
    cluster: Cluster, request: req.Request, answer: RequestResult
) -> RequestResult:
    """Turn "already exists" into success for a topic whose name has a uuid of its own.

    An earlier attempt created it, and the answer was lost (VC-063).
    """
    if not isinstance(request, req.CreateTopicRequest) or generated_parts(request.topic) is None:
        return answer
    if answer.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
        return answer
    topic = cluster.read_state(frozenset({request.topic})).topics.get(request.topic)
    return answer if topic is None else RequestResult(topic_id=topic.topic_id)


def _kind(request: req.Request) -> tuple[type[req.Request], req.AlterStep | None]:
    return type(request), request.step if isinstance(request, req.AlterTopicRequest) else None
