"""The records of a partition that a share group has in flight (KIP-932), as an immutable value.

Runs are neighbouring offsets in one state. They follow each other without gaps from ``start`` on,
so the first offset after the last run is the next one that no member has seen.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, IntEnum, auto

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.results import ErrorCode


class RecordState(Enum):
    """The states of a record in flight, by Kafka's names."""

    AVAILABLE = auto()
    ACQUIRED = auto()
    ACKNOWLEDGED = auto()
    ARCHIVED = auto()


class AckType(IntEnum):
    """The types of acknowledgements, by the protocol's numbers."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_COMPLETE = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
_COMPLETES = {
    AckType.GAP: RecordState.ARCHIVED,
    AckType.ACCEPT: RecordState.ACKNOWLEDGED,
    AckType.REJECT: RecordState.ARCHIVED,
}


class InFlightRecords(Struct, frozen=True):
    """Records with neighbouring offsets, both ends included, in one state."""

    first: int
    last: int
    state: RecordState
    deliveries: int = 0
    member: str = ""
    """The member that has acquired the records."""
    locked_until_ms: int = 0

    @property
    def count(self) -> int:
        """The number of offsets."""
        return self.last - self.first + 1


class ShareLimits(Struct, frozen=True, kw_only=True):
    """The configs of a group that its records depend on."""

    delivery_count: int = 5
    record_locks: int = 2000
    lock_ms: int = 30_000
    renews: bool = True


class AckBatch(Struct, frozen=True):
    """The acknowledgement of a range: one type for all its offsets, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class BatchBounds(Struct, frozen=True):
    """The first and the last offset of a record batch in the log."""

    first: int
    last: int


class AcknowledgeError(Exception):
    """An acknowledgement is refused, with Kafka's code and message; no record has changed."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SharePartition(Struct, frozen=True, kw_only=True):
    """The state of a partition for one share group; times are milliseconds of one clock."""

    start: int
    """The share-partition start offset (SPSO): all records before it are complete."""
    runs: tuple[InFlightRecords, ...] = ()

    @property
    def end(self) -> int:
        """The first offset that no member has acquired yet."""
        return self.runs[-1].last + 1 if self.runs else self.start

    @property
    def next_offset(self) -> int:
        """The first offset that can be acquired, once the log has it."""
        available = (run.first for run in self.runs if run.state is RecordState.AVAILABLE)
        return next(available, self.end)

    @property
    def complete(self) -> int:
        """The number of complete records behind one that is not."""
        return sum(run.count for run in self.runs if run.state in _COMPLETE)

    @property
    def deadline_ms(self) -> int | None:
        """The time at which the next acquisition lock ends."""
        acquired = (run for run in self.runs if run.state is RecordState.ACQUIRED)
        return min((run.locked_until_ms for run in acquired), default=None)

    def may_acquire(self, limits: ShareLimits) -> bool:
        """Return whether a lock is free, or a record in flight is available."""
        return self.next_offset < self.end or self.end - self.start < limits.record_locks


def acquire(
    partition: SharePartition,
    member: str,
    batches: Sequence[BatchBounds],
    most: int,
    limits: ShareLimits,
    now_ms: int,
    *,
    whole_batches: bool = True,
) -> tuple[SharePartition, Sequence[InFlightRecords]]:
    """Acquire available records of the log's batches, which begin at ``next_offset``.

    With ``whole_batches`` the batch in which ``most`` records are reached is acquired to its end,
    as brokers do unless the client asks for a strict limit (KIP-1206); all of it is in flight then.
    Free record locks are such a limit, too. Without any, only what is in flight is acquired again.
    Offsets that compaction has removed before the first batch are archived.
    """
    if not batches or most <= 0:
        return partition, ()
    first = partition.next_offset
    runs = list(partition.runs)
    if batches[0].first > first:
        first = _archive_removed(runs, first, batches[0].first)
    room = limits.record_locks - (runs[-1].last + 1 - partition.start if runs else 0)
    if room > 0:
        most = min(most, room)
    through = _extend(runs, first, batches, most, only_in_flight=room <= 0)
    acquired: list[InFlightRecords] = []

    def lock(run: InFlightRecords) -> InFlightRecords:
        if run.state is not RecordState.AVAILABLE:
            return run
        locked = replace(
            run,
            state=RecordState.ACQUIRED,
            deliveries=run.deliveries + 1,
            member=member,
            locked_until_ms=now_ms + limits.lock_ms,
        )
        acquired.append(locked)
        return locked

    if not whole_batches:
        through = _cut(runs, first, through, most)
    _change(runs, first, through, lock)
    return _settled(partition.start, runs), _joined(acquired)


def acknowledge(
    partition: SharePartition,
    member: str,
    batches: Sequence[AckBatch],
    limits: ShareLimits,
    now_ms: int,
) -> SharePartition:
    """Apply all acknowledgements of a member, or none; offsets before ``start`` are skipped.

    Raises:
        AcknowledgeError: a record is not acquired by the member.
    """
    runs = list(partition.runs)
    for batch in batches:
        if batch.last < partition.start:
            continue
        _check_range(partition, batch)
        for first, last, kind in _by_type(batch, partition.start):

            def settle(run: InFlightRecords, kind: int = kind) -> InFlightRecords:
                return _acknowledged(run, member, AckType(kind), limits, now_ms)

            _change(runs, first, last, settle)
    return _settled(partition.start, runs)


def release(partition: SharePartition, member: str, limits: ShareLimits) -> SharePartition:
    """Release the records that a member has acquired, as its session has ended."""

    def free(run: InFlightRecords) -> InFlightRecords:
        acquired = run.state is RecordState.ACQUIRED
        return _released(run, limits) if acquired and run.member == member else run

    return _settled(partition.start, map(free, partition.runs))


def expire(partition: SharePartition, limits: ShareLimits, now_ms: int) -> SharePartition:
    """Release the records whose acquisition locks have ended."""

    def free(run: InFlightRecords) -> InFlightRecords:
        acquired = run.state is RecordState.ACQUIRED
        return _released(run, limits) if acquired and run.locked_until_ms <= now_ms else run

    return _settled(partition.start, map(free, partition.runs))


def archive(partition: SharePartition, member: str, first: int, last: int) -> SharePartition:
    """Archive what a member has acquired in a range: records of an aborted transaction."""
    runs = list(partition.runs)

    def end(run: InFlightRecords) -> InFlightRecords:
        if run.state is not RecordState.ACQUIRED or run.member != member:
            return run
        return InFlightRecords(run.first, run.last, RecordState.ARCHIVED, run.deliveries)

    _change(runs, first, last, end)
    return _settled(partition.start, runs)


def move_start(partition: SharePartition, log_start: int) -> SharePartition:
    """Forget the records before the log's start, which are deleted."""
    if log_start <= partition.start:
        return partition
    rest = [
        run if run.first >= log_start else replace(run, first=log_start)
        for run in partition.runs
        if run.last >= log_start
    ]
    return _settled(log_start, rest)


def without(runs: Sequence[InFlightRecords], first: int, last: int) -> list[InFlightRecords]:
    """The runs without the offsets of a range."""
    rest: list[InFlightRecords] = []
    for run in runs:
        if run.last < first or run.first > last:
            rest.append(run)
            continue
        if run.first < first:
            rest.append(replace(run, last=first - 1))
        if run.last > last:
            rest.append(replace(run, first=last + 1))
    return rest


def _archive_removed(runs: list[InFlightRecords], first: int, base: int) -> int:
    """Archive available offsets up to the first batch of the log; that batch's first offset."""

    def end(run: InFlightRecords) -> InFlightRecords:
        available = run.state is RecordState.AVAILABLE
        return replace(run, state=RecordState.ARCHIVED) if available else run

    after = runs[-1].last + 1 if runs else first
    if base > after:
        runs.append(InFlightRecords(after, base - 1, RecordState.AVAILABLE))
    _change(runs, first, base - 1, end)
    return base


def _extend(
    runs: list[InFlightRecords],
    first: int,
    batches: Sequence[BatchBounds],
    most: int,
    *,
    only_in_flight: bool,
) -> int:
    """Add the batches that may be acquired to the runs; the last offset to acquire."""
    end = runs[-1].last + 1 if runs else first
    through, count = first - 1, 0
    for batch in batches:
        if count >= most:
            break
        last = min(batch.last, end - 1) if only_in_flight else batch.last
        if last >= end:
            runs.append(InFlightRecords(end, last, RecordState.AVAILABLE))
            end = last + 1
        if last > through:
            count += _available(runs, through + 1, last)
            through = last
    return through


def _cut(runs: Sequence[InFlightRecords], first: int, through: int, most: int) -> int:
    """The offset up to which a range has no more than ``most`` available records."""
    for run in _overlapping(runs, first, through):
        if run.state is not RecordState.AVAILABLE:
            continue
        if run.count >= most:
            return run.first + most - 1
        most -= run.count
    return through


def _available(runs: Sequence[InFlightRecords], first: int, last: int) -> int:
    overlapping = _overlapping(runs, first, last)
    return sum(run.count for run in overlapping if run.state is RecordState.AVAILABLE)


def _overlapping(
    runs: Sequence[InFlightRecords], first: int, last: int
) -> Iterator[InFlightRecords]:
    """The runs of a range, cut at its ends."""
    for index in range(_index_of(runs, first), len(runs)):
        run = runs[index]
        if run.first > last:
            return
        yield replace(run, first=max(run.first, first), last=min(run.last, last))


def _index_of(runs: Sequence[InFlightRecords], offset: int) -> int:
    return max(bisect_right(runs, offset, key=lambda run: run.first) - 1, 0)


def _change(
    runs: list[InFlightRecords],
    first: int,
    last: int,
    change: Callable[[InFlightRecords], InFlightRecords],
) -> None:
    """Change the runs of a range, which are split at its ends."""
    if last < first or not runs:
        return
    begin = end = _index_of(runs, first)
    changed: list[InFlightRecords] = []
    while end < len(runs) and runs[end].first <= last:
        run = runs[end]
        if run.last < first:
            changed.append(run)
        else:
            if run.first < first:
                changed.append(replace(run, last=first - 1))
            inner = replace(run, first=max(run.first, first), last=min(run.last, last))
            changed.append(change(inner))
            if run.last > last:
                changed.append(replace(run, first=last + 1))
        end += 1
    runs[begin:end] = changed


def _check_range(partition: SharePartition, batch: AckBatch) -> None:
    invalid = ErrorCode.INVALID_REQUEST
    if not partition.runs:
        raise AcknowledgeError(
            ErrorCode.INVALID_RECORD_STATE,
            "Batch record not found. The request batch offsets are not found in the cache.",
        )
    if batch.first >= partition.end:
        raise AcknowledgeError(
            invalid,
            "Batch record not found. The first offset in request is past acquired records.",
        )
    if batch.last >= partition.end:
        raise AcknowledgeError(
            invalid, "Batch record not found. The last offset in request is past acquired records."
        )


def _by_type(batch: AckBatch, start: int) -> Iterator[tuple[int, int, int]]:
    """The offsets from ``start`` on of each type, neighbours of one type together."""
    if len(batch.types) == 1:
        yield max(batch.first, start), batch.last, batch.types[0]
        return
    skipped = max(start - batch.first, 0)
    first = batch.first + skipped
    kind = batch.types[skipped]
    for offset, other in enumerate(batch.types[skipped:], batch.first + skipped):
        if other != kind:
            yield first, offset - 1, kind
            first, kind = offset, other
    yield first, batch.last, kind


def _acknowledged(
    run: InFlightRecords, member: str, kind: AckType, limits: ShareLimits, now_ms: int
) -> InFlightRecords:
    state_error = ErrorCode.INVALID_RECORD_STATE
    if run.state is not RecordState.ACQUIRED:
        text = "The offset cannot be acknowledged. The offset is not acquired."
        raise AcknowledgeError(state_error, text)
    if run.member != member:
        raise AcknowledgeError(state_error, "Member is not the owner of offset")
    if kind is AckType.RENEW:
        if not limits.renews:
            raise AcknowledgeError(
                state_error, "Renewing acknowledgements are disabled for the group."
            )
        return replace(run, locked_until_ms=now_ms + limits.lock_ms)
    if kind is AckType.RELEASE:
        return _released(run, limits)
    return InFlightRecords(run.first, run.last, _COMPLETES[kind], run.deliveries)


def _released(run: InFlightRecords, limits: ShareLimits) -> InFlightRecords:
    """The records for the next member, or archived after their last delivery."""
    last = run.deliveries >= limits.delivery_count
    state = RecordState.ARCHIVED if last else RecordState.AVAILABLE
    return InFlightRecords(run.first, run.last, state, run.deliveries)


def _settled(
    start: int, runs: Iterator[InFlightRecords] | Sequence[InFlightRecords]
) -> SharePartition:
    """The partition with these runs: complete ones at the beginning move its start."""
    rest = _joined(runs)
    done = 0
    while done < len(rest) and rest[done].state in _COMPLETE:
        start = rest[done].last + 1
        done += 1
    return SharePartition(start=start, runs=tuple(rest[done:]))


def _joined(runs: Iterator[InFlightRecords] | Sequence[InFlightRecords]) -> list[InFlightRecords]:
    """The runs with equal neighbours as one."""
    joined: list[InFlightRecords] = []
    for run in runs:
        neighbours = bool(joined) and joined[-1].last + 1 == run.first
        if neighbours and replace(joined[-1], first=run.first, last=run.last) == run:
            joined[-1] = replace(run, first=joined[-1].first)
        else:
            joined.append(run)
    return joined
