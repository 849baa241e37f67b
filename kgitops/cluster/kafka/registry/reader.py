"""Reading the registry's topic to its end: all committed entries in order, or an error.

The end is the high watermark, which may at first be too low on a new leader. ListOffsets is refused
until it is right (KIP-207), so each leader is asked that once. From then on every Fetch has the
leader's epoch, so that another leader refuses it (KIP-320).
"""

import time
from collections.abc import Sequence

from kafka.consumer.fetcher import Fetcher, IsolationLevel
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.record.memory_records import MemoryRecords
from kafka.structs import TopicPartition
from msgspec import Struct

from kgitops.cluster.kafka.registry.topic import (
    POLL_S,
    TIMEOUT_S,
    RegistryTopic,
    check_authorized,
    error_text,
    find_topic,
)
from kgitops.cluster.kafka.transport.pending import UnusableAnswerError
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import read_entry, without_unreadable
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.registry import META_KEY
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.results import ErrorCode

_PARTITION = TopicPartition(REGISTRY_TOPIC, 0)
_FETCH_BYTES = 16 << 20
_LATEST = -1
_UNCOMMITTED, _COMMITTED = 0, 1
_LONG_POLL_MS = 100
_LEADER_MS = 15_000
_ELECTION_S = 12.0
"""Time after which brokers have another leader, if the one that can't be reached is dead: they
notice that after `broker.session.timeout.ms` (9 s)."""


class LeaderMovedError(Exception):
    """The partition's leader is not, or not yet, the broker that was asked."""


class _Position(Struct):
    """The next offset to read, and the end to reach."""

    offset: int
    end: int


class RegistryReader:
    """Reads the registry's topic; ``topic`` is its last known place, None before."""

    def __init__(self, wire: Wire, timeout_s: float = TIMEOUT_S) -> None:
        self.topic: RegistryTopic | None = None
        self._wire = wire
        self._timeout_s = timeout_s
        self._checked_leader: RegistryTopic | None = None

    def find(self) -> RegistryTopic | None:
        """Look up the topic; None when there is none."""
        self._checked_leader = None
        self.topic = find_topic(self._wire, self._timeout_s)
        return self.topic

    def read(self, since: int, until: int = 0) -> Sequence[RegistryEntry] | None:
        """As ``scan``, but every entry that still counts must be readable.

        Raises:
            SafetyError: one is not, there is no meta record, or as for ``scan``.
            UnreachableError: the cluster can't be reached or refuses.
        """
        entries = self.scan(since, until)
        if entries is None:
            return None
        entries = without_unreadable(entries)
        if since == 0 and all(entry.key != META_KEY for entry in entries):
            raise SafetyError(
                f"the registry {REGISTRY_TOPIC} has no meta record, so it can't be trusted to know "
                "who owns what; see what is lost with kgitops registry check, or delete the topic "
                "to start without ownership"
            )
        return entries

    def scan(self, since: int, until: int = 0) -> Sequence[RegistryEntry] | None:
        """Read every committed entry from ``since`` to the end, which is at least ``until``.

        Raises:
            SafetyError: it can't be read to its end, or is no longer a registry.
            UnreachableError: the cluster can't be reached or refuses.
        """
        deadline = time.monotonic() + self._timeout_s
        before = self.topic
        lost_leader, lost_at = None, 0.0
        while True:
            topic = self.topic or self.find()
            if topic is None:
                return None
            if since and before and topic.topic_id != before.topic_id:
                raise SafetyError(
                    f"the registry {REGISTRY_TOPIC} was deleted and made again meanwhile, so who "
                    "owns what is lost; find out who did that, then make a new plan"
                )
            try:
                return self._read(topic, since, until, deadline)
            except LeaderMovedError as error:
                self.topic = None
                if isinstance(error.__cause__, UnreachableError):
                    if topic.leader != lost_leader:
                        lost_leader, lost_at = topic.leader, time.monotonic()
                    elif time.monotonic() >= lost_at + _ELECTION_S:
                        raise error.__cause__ from error
                if time.monotonic() >= deadline:
                    raise SafetyError(
                        f"the registry {REGISTRY_TOPIC} can't be read to its end: {error}; see "
                        "that its brokers run, then try again"
                    ) from error
            time.sleep(POLL_S)

    def _read(
        self, topic: RegistryTopic, since: int, until: int, deadline: float
    ) -> Sequence[RegistryEntry] | None:
        at = _Position(offset=since, end=max(until, self._known_end(topic)))
        entries: list[RegistryEntry] = []
        first = True
        while first or at.offset < at.end:
            part = self._fetch(topic, at.offset, wait_ms=0 if first else _LONG_POLL_MS)
            if first:
                first = False
                at.end = max(at.end, part.high_watermark)
                if since == 0 and part.log_start_offset > 0:
                    raise _records_gone()
                if since == at.end == 0 and topic.leader_epoch == 0:
                    # Its creator died before writing the first record. No other leader was ever
                    # elected, so no record can have been lost: the registry counts as absent.
                    return None
            entries += _entries(part, at)
            if at.offset < at.end and time.monotonic() >= deadline:
                raise SafetyError(
                    f"the registry {REGISTRY_TOPIC} has an unfinished write at offset {at.offset} "
                    "that does not end; Kafka ends what a dead kgitops left within 30 s, so try "
                    "again, and see that the brokers run"
                )
        return entries

    def _known_end(self, topic: RegistryTopic) -> int:
        """Ask each leader once for the end; later Fetches from the same leader return it."""
        if self._checked_leader == topic:
            return 0
        partition = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
            partition_index=0,
            current_leader_epoch=topic.leader_epoch,
            timestamp=_LATEST,
            max_num_offsets=1,
        )
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=_UNCOMMITTED,
            topics=[
                ListOffsetsRequest.ListOffsetsTopic(name=REGISTRY_TOPIC, partitions=[partition])
            ],
            timeout_ms=int(self._timeout_s * 1000),
        )
        answer = self._ask(topic, request).topics[0].partitions[0]
        self._check(answer.error_code)
        if answer.offset < 0:
            raise UnreachableError(
                f"broker {topic.leader} answers ListOffsets with the offset {answer.offset}, where "
                f"the registry {REGISTRY_TOPIC} should end; see that the address leads to brokers "
                "of Kafka"
            )
        self._checked_leader = topic
        return int(answer.offset)

    def _fetch(self, topic: RegistryTopic, offset: int, *, wait_ms: int) -> Message:
        partition = FetchRequest.FetchTopic.FetchPartition(
            partition=0,
            current_leader_epoch=topic.leader_epoch,
            fetch_offset=offset,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=_FETCH_BYTES,
        )
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=wait_ms,
            min_bytes=1 if wait_ms else 0,
            max_bytes=_FETCH_BYTES,
            isolation_level=_COMMITTED,
            session_id=0,
            session_epoch=-1,
            topics=[
                FetchRequest.FetchTopic(
                    topic=REGISTRY_TOPIC, topic_id=topic.topic_id, partitions=[partition]
                )
            ],
            forgotten_topics_data=[],
            rack_id="",
        )
        answer = self._ask(topic, request)
        self._check(answer.error_code)
        if not answer.responses:
            # While the client is above its quota, Kafka answers a Fetch without any partition.
            raise LeaderMovedError("a client quota throttles this principal or client id")
        part = answer.responses[0].partitions[0]
        self._check(part.error_code)
        return part

    def _check(self, code: int) -> None:
        """Raise our error for a partition's error code."""
        if code == ErrorCode.NONE:
            return
        check_authorized(self._wire.principal, code, "Fetch")
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise _records_gone()
        raise LeaderMovedError(error_text(code))

    def _ask(self, topic: RegistryTopic, request: Message) -> Message:
        self._wire.reach([topic.leader], again=True)
        try:
            return self._wire.send(
                request, to=topic.leader, timeout_ms=_LEADER_MS, may_repeat=False
            )
        except UnusableAnswerError:
            raise
        except UnreachableError as error:
            # Other brokers may know another leader by now; if they don't answer, that is reported.
            raise LeaderMovedError(str(error)) from error


def _records_gone() -> SafetyError:
    return SafetyError(
        f"records of the registry {REGISTRY_TOPIC} were deleted, or lost with a broker's disk, so "
        "who owns what can't be known; restore the registry before planning"
    )


def _damaged(offset: int, problem: object) -> SafetyError:
    return SafetyError(
        f"the registry {REGISTRY_TOPIC} holds a damaged record from offset {offset} on "
        f"({problem}), so who owns what can't be known; restore the registry before planning"
    )


def _entries(part: Message, at: _Position) -> list[RegistryEntry]:
    """Decode the entries of one Fetch, without aborted transactions; advances ``at``."""
    records = Fetcher.PartitionRecords(
        at.offset,
        _PARTITION,
        MemoryRecords(part.records or b""),
        isolation_level=IsolationLevel.READ_COMMITTED,
        aborted_transactions=part.aborted_transactions,
    )
    entries: list[RegistryEntry] = []
    # An error of one record is raised only when more records are requested.
    while records:
        try:
            taken = records.take()
        except Exception as error:
            raise _damaged(at.offset, error) from error
        entries += [
            read_entry(record.offset, record.key, record.value, record.timestamp)
            for record in taken
        ]
    if part.records and records.next_fetch_offset <= at.offset:
        raise _damaged(at.offset, "no batch is whole")
    at.offset = max(at.offset, records.next_fetch_offset)
    return entries
