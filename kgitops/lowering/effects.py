"""What a batch of logical requests comes down to on a Kafka without virtual clusters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kgitops.lowering.records import Record
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import (
    NEW_UUID,
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.resources.addresses import acl_address, broker_address, encode, quota_address
from kgitops.model.resources.quotas import quota_text
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.results import OK, RequestResult

Askers = tuple[int, ...]
"""By their place in the batch: the logical requests for which something is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalRequest:
    """A request to brokers: ``line`` says it in words. It fails for all of ``askers``.

    ``CopyGroupOffsets`` and ``DeleteGroup`` stay as they are: whoever carries them out takes the
    physical group of a local one from :func:`kgitops.model.resources.virtual_clusters.physical_id`.
    """

    request: Request
    askers: Askers
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalRecord:
    """A record that becomes true once all of its askers have succeeded.

    With ``topic`` it is the record of a link, and the topic id in it is the one that this asker's
    topic was given.
    """

    record: Record
    askers: Askers
    topic: int | None = None


class NotLowerable(Exception):  # noqa: N818 (an answer, not an error of this program)
    """What a Kafka without virtual clusters can't keep, so that it is not even begun."""


@dataclass(slots=True, kw_only=True)
class Effects:
    """What is to be done, still being collected: before, then physically, then after.

    ``marks`` are records that say that an asker has begun: they are only written if it has anything
    done physically.
    """

    before: list[Record] = field(default_factory=list)
    marks: list[tuple[int, Record]] = field(default_factory=list)
    creations: list[PhysicalRequest] = field(default_factory=list)
    deletions: list[PhysicalRequest] = field(default_factory=list)
    after: list[FinalRecord] = field(default_factory=list)

    @property
    def physical(self) -> tuple[PhysicalRequest, ...]:
        """What is made, then what is removed."""
        return (*self.creations, *self.deletions)

    @property
    def first(self) -> tuple[Record, ...]:
        """What is written before anything physical."""
        begun = {asker for physical in self.physical for asker in physical.askers}
        return (*self.before, *(record for asker, record in self.marks if asker in begun))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What became of a step: one result for each logical request, and the records to write."""

    results: tuple[RequestResult, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A batch of logical requests, decided: what is refused, and what carrying out the rest takes.

    ``results`` are those that are known already: OK for what is not refused. First ``before`` is
    written, in one append; then ``physical`` is carried out in its order, the old way being
    removed last; then what :meth:`finish` makes of the answers. A crash between any two of these
    leaves a state from which the same request goes on. ``state`` is the logical state afterwards.
    """

    results: tuple[RequestResult, ...]
    state: ClusterState
    before: tuple[Record, ...] = ()
    physical: tuple[PhysicalRequest, ...] = ()
    after: tuple[FinalRecord, ...] = ()

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """For each logical request what is done physically, a line each (VC-411)."""
        lines: list[list[str]] = [[] for _ in self.results]
        for physical in self.physical:
            for asker in physical.askers:
                lines[asker].append(physical.line)
        return tuple(map(tuple, lines))

    def finish(self, answers: Sequence[RequestResult]) -> Finished:
        """What the answers to ``physical``, one each and in order, come down to.

        A logical request that any of its physical ones failed for fails alike; its final records
        are not written, so that the next plan finds it unfinished.
        """
        results = list(self.results)
        for physical, answer in zip(self.physical, answers, strict=True):
            for asker in physical.askers:
                # The topic id of what was made, or how long to wait, is part of the answer.
                if results[asker].ok and (not answer.ok or results[asker] == OK):
                    results[asker] = answer
        return Finished(
            results=tuple(results),
            records=tuple(
                _with_topic_id(final, results)
                for final in self.after
                if all(results[asker].ok for asker in final.askers)
            ),
        )


def _with_topic_id(final: FinalRecord, results: Sequence[RequestResult]) -> Record:
    key, value = final.record
    if final.topic is None or value is None or results[final.topic].topic_id is None:
        return final.record
    return key, {**value, "topic_id": results[final.topic].topic_id}


def once(askers: Iterable[int]) -> Askers:
    """Each once, in order."""
    return tuple(sorted(set(askers)))


def wording(request: Request) -> str:
    """What brokers are asked for."""
    match request:
        case CreateTopicRequest():
            return f"create topic/{_topic(request.topic)}"
        case AlterTopicRequest():
            return f"alter topic/{_topic(request.topic)} ({request.step})"
        case DeleteTopicRequest():
            return f"delete topic/{_topic(request.topic)}"
        case DeleteRecordsRequest():
            return f"delete records of topic/{_topic(request.topic)}"
        case CreateAclRequest():
            return f"create {acl_address(request.binding)}"
        case DeleteAclRequest():
            return f"delete {acl_address(request.binding)}"
        case AlterClientQuotaRequest():
            values = ", ".join(
                f"{key}={'none' if value is None else quota_text(value)}"
                for key, value in sorted(request.quotas.items())
            )
            return f"set {quota_address(request.entity)} {values}"
        case AlterBrokerRequest():
            return f"alter {broker_address(request.broker)}"
        case CopyGroupOffsetsRequest():
            group = physical_id(request.virtual_cluster, request.group)
            return f"copy the offsets of the group {request.source} to {group}"
        case DeleteGroupRequest():
            return f"delete the group {physical_id(request.virtual_cluster, request.group)}"
        case _:
            raise ValueError(f"brokers are never asked for {type(request).__name__}")


def _topic(name: str) -> str:
    # The uuid that is still to be minted stands there as in the rest of a plan.
    return name if name.startswith(NEW_UUID) else encode(name)
