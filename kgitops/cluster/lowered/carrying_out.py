"""Sends what a step takes to brokers, and stops for whom something failed."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from kgitops.cluster.port import Cluster
from kgitops.lowering.effects import PhysicalRequest
from kgitops.model.requests import AlterStep, AlterTopicRequest, CreateTopicRequest, Request
from kgitops.model.resources.virtual_clusters import generated_parts
from kgitops.model.results import ErrorCode, RequestResult

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
        wanted = [failed.isdisjoint(physical.askers) for physical in batch]
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
                failed.update(physical.askers)
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
