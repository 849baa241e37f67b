"""Physical requests and registry records that a batch of logical requests is lowered to."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from msgspec import Struct, field

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.records import Record
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    encode,
    quota_address,
    user_address,
)
from kgitops.model.resources.quotas import quota_text
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.results import OK, RequestResult

RequestIndexes = tuple[int, ...]
"""Positions in a batch of the logical requests that an effect is for."""


class PhysicalRequest(Struct, frozen=True, kw_only=True):
    """A request to brokers, described by ``line``; if it fails, all of ``requested_by`` fail.

    ``CopyGroupOffsets`` and ``DeleteGroup`` keep the local group: the cluster adapter gets the
    physical one from :func:`kgitops.model.resources.virtual_clusters.physical_id`.
    """

    request: req.Request
    requested_by: RequestIndexes
    line: str


class FinalRecord(Struct, frozen=True, kw_only=True):
    """A record to write once all of ``requested_by`` have succeeded.

    With ``topic`` it is the record of a link, and its topic id is the one of the topic that this
    logical request created.
    """

    record: Record
    requested_by: RequestIndexes
    topic: int | None = None


class NotLowerable(Exception):  # noqa: N818 (an answer, not an error of this program)
    """A request that a Kafka without virtual clusters can't express; nothing of it is done."""


class Effects(Struct, kw_only=True):
    """Collects the effects of a batch: records before, physical requests, records after.

    ``marks`` are records that a logical request has begun; they are written only if it has physical
    requests.
    """

    before: list[Record] = field(default_factory=list)
    marks: list[tuple[int, Record]] = field(default_factory=list)
    creations: list[PhysicalRequest] = field(default_factory=list)
    deletions: list[PhysicalRequest] = field(default_factory=list)
    after: list[FinalRecord] = field(default_factory=list)

    def send(self, request: req.Request, request_index: int) -> None:
        """Add a physical request for the logical one at this position."""
        self.creations.append(
            PhysicalRequest(
                request=request, requested_by=(request_index,), line=describe_request(request)
            )
        )

    @property
    def physical(self) -> tuple[PhysicalRequest, ...]:
        """The physical requests: creations first, then deletions."""
        return (*self.creations, *self.deletions)

    @property
    def records_before(self) -> tuple[Record, ...]:
        """The records to write before any physical request."""
        begun = {
            request_index for physical in self.physical for request_index in physical.requested_by
        }
        return (
            *self.before,
            *(record for request_index, record in self.marks if request_index in begun),
        )


class BatchOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of a batch: one result per logical request, and the records to write."""

    results: tuple[RequestResult, ...]
    records: tuple[Record, ...]


class LoweredBatch(Struct, frozen=True, kw_only=True):
    """A decided batch of logical requests: refusals, and the effects of all other requests.

    ``results`` are the decisions: a refusal, or OK. To carry the batch out, write ``before`` in one
    append; then send ``physical`` in order, deletions last; then write the records of
    :meth:`finish`. A crash between any two of these leaves a state from which the same requests can
    continue. ``state`` is the logical state afterwards.
    """

    results: tuple[RequestResult, ...]
    state: ClusterState
    before: tuple[Record, ...] = ()
    physical: tuple[PhysicalRequest, ...] = ()
    after: tuple[FinalRecord, ...] = ()

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """For each logical request the lines of its physical requests (VC-411)."""
        lines: list[list[str]] = [[] for _ in self.results]
        for physical in self.physical:
            for request_index in physical.requested_by:
                lines[request_index].append(physical.line)
        return tuple(map(tuple, lines))

    def finish(self, answers: Sequence[RequestResult]) -> BatchOutcome:
        """The outcome, given the answers to ``physical``, one each and in order.

        A logical request fails with the first of its physical requests that failed; its final
        records are not written, so that the next plan finds it unfinished.
        """
        results = list(self.results)
        for physical, answer in zip(self.physical, answers, strict=True):
            for request_index in physical.requested_by:
                # A successful answer is kept too: it may have a topic id or a time to wait.
                if results[request_index].ok and (not answer.ok or results[request_index] == OK):
                    results[request_index] = answer
        return BatchOutcome(
            results=tuple(results),
            records=tuple(
                _with_topic_id(final, results)
                for final in self.after
                if all(results[request_index].ok for request_index in final.requested_by)
            ),
        )


def _with_topic_id(final: FinalRecord, results: Sequence[RequestResult]) -> Record:
    key, value = final.record
    if final.topic is None or value is None or results[final.topic].topic_id is None:
        return final.record
    return key, {**value, "topic_id": results[final.topic].topic_id}


def unique(requested_by: Iterable[int]) -> RequestIndexes:
    """The positions without duplicates, in order."""
    return tuple(sorted(set(requested_by)))


def describe_request(request: req.Request) -> str:
    """One line that describes a physical request."""
    match request:
        case req.CreateTopicRequest():
            return f"create topic/{_topic(request.topic)}"
        case req.AlterTopicRequest():
            return f"alter topic/{_topic(request.topic)} ({request.step})"
        case req.DeleteTopicRequest():
            return f"delete topic/{_topic(request.topic)}"
        case req.DeleteRecordsRequest():
            return f"delete records of topic/{_topic(request.topic)}"
        case req.CreateAclRequest():
            return f"create {acl_address(request.binding)}"
        case req.DeleteAclRequest():
            return f"delete {acl_address(request.binding)}"
        case req.AlterClientQuotaRequest():
            values = ", ".join(
                f"{key}={'none' if value is None else quota_text(value)}"
                for key, value in sorted(request.quotas.items())
            )
            return f"set {quota_address(request.entity)} {values}"
        case req.AlterBrokerRequest():
            return f"alter {broker_address(request.broker)}"
        case req.AlterUserScramCredentialsRequest():
            verb = "remove" if request.removes else "set"
            return f"{verb} {request.mechanism} of {user_address(request.user)}"
        case req.AlterConfigResourceRequest():
            return f"alter the configs of {req.request_address(request)}"
        case req.AlterConsumerGroupOffsetsRequest():
            return f"commit offsets of {req.request_address(request)}"
        case req.DeleteConsumerGroupRequest():
            return f"delete {req.request_address(request)}"
        case req.CopyGroupOffsetsRequest():
            group = physical_id(request.virtual_cluster, request.group)
            return f"copy the offsets of the group {request.source} to {group}"
        case req.DeleteGroupRequest():
            return f"delete the group {physical_id(request.virtual_cluster, request.group)}"
        case (
            req.CreateVirtualClusterRequest()
            | req.AlterVirtualClusterRequest()
            | req.DeleteVirtualClusterRequest()
        ):
            raise ValueError(f"brokers are never asked for {type(request).__name__}")
        case _:
            assert_never(request)


def _topic(name: str) -> str:
    # The placeholder for a new uuid is shown as in the rest of a plan.
    return name if name.startswith(req.NEW_UUID) else encode(name)
