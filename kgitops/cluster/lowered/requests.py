"""Which requests are about virtual clusters, and which topics must be looked at to decide them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import assert_never

from kgitops.cluster.port import Cluster
from kgitops.lowering.acls.compile import is_logical
from kgitops.lowering.effects import PhysicalRequest
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.virtual_clusters import LocalName, generated_parts
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.virtual_clusters.well_formed import binding_problem, entity_problem, quota_problem


def concerns(request: Request, *, lowered: bool) -> bool:
    """Whether the request has to be lowered.

    Where something stands for virtual clusters already, ``lowered``, it may be what a request about
    a global object means as well: an ACL, a user's quota, or a topic that links lead to.
    """
    match request:
        case CreateAclRequest(binding=binding) | DeleteAclRequest(binding=binding):
            return lowered or is_logical(binding)
        case AlterClientQuotaRequest(entity=entity):
            return lowered or any(kind == VIRTUAL_CLUSTER for kind, _ in entity)
        case DeleteTopicRequest(local=local):
            return lowered or local is not None
        case CreateTopicRequest(local=local):
            return local is not None
        case (
            CreateVirtualClusterRequest()
            | AlterVirtualClusterRequest()
            | DeleteVirtualClusterRequest()
            | CopyGroupOffsetsRequest()
            | DeleteGroupRequest()
        ):
            return True
        case AlterTopicRequest() | DeleteRecordsRequest() | AlterBrokerRequest():
            return False  # whatever links lead to the topic, it is the same one
        case _:
            assert_never(request)


def topics_of(requests: Iterable[Request]) -> frozenset[str]:
    """The physical topics that these requests name."""
    names = set()
    for request in requests:
        match request:
            case AlterVirtualClusterRequest(topic=str(topic)):
                names.add(topic)
            case DeleteTopicRequest(topic=topic):
                names.add(topic)
            case _:
                pass
    return frozenset(names)


def links_of(requests: Iterable[Request]) -> frozenset[LocalName]:
    """The links, or topics that are being made in a virtual cluster, that these requests name."""
    names = set()
    for request in requests:
        match request:
            case AlterVirtualClusterRequest(target=LocalName() as target):
                names.add(target)
            case CreateTopicRequest(local=LocalName() as local):
                names.add(local)
            case _:
                pass
    return frozenset(names)


def refusal(request: Request) -> RequestResult | None:
    """Why brokers that know virtual clusters would refuse an ACL or a quota as such; None: no."""
    match request:
        case CreateAclRequest(binding=binding) if is_logical(binding):
            problem = binding_problem(binding)
        case AlterClientQuotaRequest(entity=entity) if entity and entity[0][0] == VIRTUAL_CLUSTER:
            found = (quota_problem(entity, key, value) for key, value in request.quotas.items())
            problem = entity_problem(entity) or next(filter(None, found), None)
        case _:
            problem = None
    return RequestResult(code=ErrorCode.INVALID_REQUEST, message=problem) if problem else None


# One logical request may take any number of physical ones, and controllers refuse more than 10,000
# records in one go; none of these takes more than a few.
AT_ONCE = 1_000
NOT_ATTEMPTED = RequestResult(
    code=ErrorCode.OPERATION_NOT_ATTEMPTED,
    message="What has to be there before it could not be made.",
)


def carry_out(
    cluster: Cluster,
    requests: Sequence[PhysicalRequest],
    *,
    principal: str,
    until_ms: int | None = None,
) -> Sequence[RequestResult]:
    """The answers, in order; requests of one kind that stand together go as one batch.

    What is removed comes last. Where something failed for one who needs it, the old way stays for
    all who do (VC-402). ``until_ms`` is the end of the lock's lease.

    Raises:
        LockedError: the lease has ended.
        UnreachableError: no answer; what happened is unknown.
    """
    answers: list[RequestResult] = []
    failed: set[int] = set()
    for batch in in_batches(requests):
        wanted = [failed.isdisjoint(physical.requested_by) for physical in batch]
        sent = [physical.request for physical, send in zip(batch, wanted, strict=True) if send]
        replies = iter(
            cluster.execute(sent, validate_only=False, principal=principal, until_ms=until_ms)
            if sent
            else ()
        )
        for physical, send in zip(batch, wanted, strict=True):
            answer = _own(cluster, physical.request, next(replies)) if send else NOT_ATTEMPTED
            answers.append(answer)
            if not answer.ok:
                failed.update(physical.requested_by)
    return answers


def in_batches(requests: Sequence[PhysicalRequest]) -> Iterator[list[PhysicalRequest]]:
    """The requests in order, in what brokers take in one go: of one kind, and not too many."""
    for _, group in groupby(requests, key=lambda physical: _kind(physical.request)):
        batch = list(group)
        yield from (batch[i : i + AT_ONCE] for i in range(0, len(batch), AT_ONCE))


def _own(cluster: Cluster, request: Request, answer: RequestResult) -> RequestResult:
    """A topic that is there already under a uuid that nobody else was given is the one asked for.

    It was made, and the answer was lost (VC-063).
    """
    if not isinstance(request, CreateTopicRequest) or generated_parts(request.topic) is None:
        return answer
    if answer.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
        return answer
    there = cluster.read_state(frozenset({request.topic})).topics.get(request.topic)
    return answer if there is None else RequestResult(topic_id=there.topic_id)


def _kind(request: Request) -> tuple[type[Request], AlterStep | None]:
    return type(request), request.step if isinstance(request, AlterTopicRequest) else None
