"""The states of a share group's records in a partition, without sockets or a clock (KIP-932)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.share_partition import (
    AckBatch,
    AcknowledgeError,
    AckType,
    BatchBounds,
    InFlightRecords,
    RecordState,
    ShareLimits,
    SharePartition,
    acknowledge,
    acquire,
    archive,
    expire,
    move_start,
    release,
)

LIMITS = ShareLimits(delivery_count=3, record_locks=10, lock_ms=100)
EMPTY = SharePartition(start=0)


def batches(*ends: int, start: int = 0) -> list[BatchBounds]:
    """Batches that end at these offsets, one behind the other."""
    bounds = []
    for end in ends:
        bounds.append(BatchBounds(start, end))
        start = end + 1
    return bounds


def take(
    partition: SharePartition,
    log: Sequence[BatchBounds],
    member: str = "a",
    most: int = 100,
    now_ms: int = 0,
    *,
    whole_batches: bool = True,
) -> tuple[SharePartition, list[tuple[int, int, int]]]:
    """Acquire; first offset, last offset and deliveries of what was."""
    rest = [batch for batch in log if batch.last >= partition.next_offset]
    partition, acquired = acquire(
        partition, member, rest, most, LIMITS, now_ms, whole_batches=whole_batches
    )
    return partition, [(run.first, run.last, run.deliveries) for run in acquired]


def ack(
    partition: SharePartition,
    first: int,
    last: int,
    *types: AckType,
    member: str = "a",
    now_ms: int = 0,
) -> SharePartition:
    """Acknowledge one range."""
    return acknowledge(partition, member, [AckBatch(first, last, types)], LIMITS, now_ms)


def refusal(partition: SharePartition, first: int, last: int, **how: str) -> ErrorCode:
    """The code that an acknowledgement is refused with."""
    with pytest.raises(AcknowledgeError) as refused:
        ack(partition, first, last, AckType.ACCEPT, **how)
    return refused.value.code


def test_accepted_records_move_the_start() -> None:
    """Those behind a record that is not complete wait for it."""
    partition, acquired = take(EMPTY, batches(4))
    assert acquired == [(0, 4, 1)]
    partition = ack(partition, 3, 4, AckType.ACCEPT)
    assert (partition.start, partition.complete, partition.next_offset) == (0, 2, 5)
    partition = ack(partition, 0, 2, AckType.ACCEPT)
    assert partition == SharePartition(start=5)


def test_each_type_of_acknowledgement() -> None:
    """A gap and a rejected record are archived; a released one is available again."""
    partition, _ = take(EMPTY, batches(4))
    types = AckType.GAP, AckType.ACCEPT, AckType.RELEASE, AckType.REJECT, AckType.RENEW
    partition = ack(partition, 0, 4, *types, now_ms=50)
    assert partition.start == 2
    assert [(run.first, run.state, run.locked_until_ms) for run in partition.runs] == [
        (2, RecordState.AVAILABLE, 0),
        (3, RecordState.ARCHIVED, 0),
        (4, RecordState.ACQUIRED, 150),
    ]
    assert take(partition, batches(4), "b")[1] == [(2, 2, 2)]


def test_renewing_can_be_disabled() -> None:
    """``share.renew.acknowledge.enable``."""
    partition, _ = take(EMPTY, batches(0))
    limits = ShareLimits(renews=False)
    with pytest.raises(AcknowledgeError) as refused:
        acknowledge(partition, "a", [AckBatch(0, 0, [AckType.RENEW])], limits, 0)
    assert refused.value.code is ErrorCode.INVALID_RECORD_STATE


def test_refused_acknowledgements_change_nothing() -> None:
    """Of another's records, of those that are not acquired, and of those that nobody has seen."""
    assert refusal(EMPTY, 0, 0) is ErrorCode.INVALID_RECORD_STATE
    partition, _ = take(EMPTY, batches(1))
    partition, _ = take(partition, batches(1, 3), "b")
    assert refusal(partition, 0, 3) is ErrorCode.INVALID_RECORD_STATE
    assert refusal(partition, 0, 4) is ErrorCode.INVALID_REQUEST
    assert refusal(partition, 4, 4) is ErrorCode.INVALID_REQUEST
    good, bad = AckBatch(0, 1, [AckType.ACCEPT]), AckBatch(2, 3, [AckType.ACCEPT])
    with pytest.raises(AcknowledgeError):
        acknowledge(partition, "a", [good, bad], LIMITS, 0)
    partition = ack(partition, 0, 0, AckType.RELEASE)
    assert refusal(partition, 0, 0) is ErrorCode.INVALID_RECORD_STATE
    partition = ack(partition, 1, 1, AckType.ACCEPT)
    assert refusal(partition, 1, 1) is ErrorCode.INVALID_RECORD_STATE


def test_offsets_before_the_start_are_skipped() -> None:
    """A member may acknowledge what was complete already."""
    partition, _ = take(EMPTY, batches(4))
    partition = ack(partition, 0, 1, AckType.ACCEPT)
    assert ack(partition, 0, 1, AckType.ACCEPT) == partition
    types = (AckType.REJECT,) * 2 + (AckType.RELEASE,) * 3
    partition = ack(partition, 0, 4, *types)
    assert take(partition, batches(4))[1] == [(2, 4, 2)]


def test_the_last_delivery() -> None:
    """Released or expired after it, a record is archived (``group.share.delivery.count.limit``)."""
    log = batches(0)
    partition = EMPTY
    for delivery in (1, 2, 3):
        partition, acquired = take(partition, log)
        assert acquired == [(0, 0, delivery)]
        before = partition
        partition = ack(partition, 0, 0, AckType.RELEASE)
    assert partition == SharePartition(start=1)
    assert expire(before, LIMITS, 100) == SharePartition(start=1)


def test_locks_end() -> None:
    """The records are for another member then, and no longer the first one's."""
    partition, _ = take(EMPTY, batches(1), now_ms=5)
    assert partition.deadline_ms == 105
    assert expire(partition, LIMITS, 104) == partition
    partition = expire(partition, LIMITS, 105)
    assert partition.deadline_ms is None
    partition, acquired = take(partition, batches(1), "b", now_ms=105)
    assert acquired == [(0, 1, 2)]
    assert refusal(partition, 0, 1) is ErrorCode.INVALID_RECORD_STATE


def test_a_session_that_ends_releases_its_records() -> None:
    """Those of its member; the delivery counts."""
    partition, _ = take(EMPTY, batches(1))
    partition, _ = take(partition, batches(1, 2), "b")
    partition = release(partition, "a", LIMITS)
    assert take(partition, batches(1, 2), "c")[1] == [(0, 1, 2)]
    assert ack(partition, 2, 2, AckType.ACCEPT, member="b").complete == 1
    last = ShareLimits(delivery_count=1)
    assert release(take(EMPTY, batches(1))[0], "a", last) == SharePartition(start=2)


def test_whole_batches_or_a_strict_limit() -> None:
    """The batch that reaches the limit is acquired to its end, unless the limit is strict."""
    log = batches(2, 5, 8)
    assert take(EMPTY, log, most=4)[1] == [(0, 5, 1)]
    partition, acquired = take(EMPTY, log, most=4, whole_batches=False)
    assert acquired == [(0, 3, 1)]
    assert partition.next_offset == 4
    partition, acquired = take(partition, log, "b", most=1, whole_batches=False)
    assert acquired == [(4, 4, 1)]
    assert (partition.next_offset, partition.end) == (5, 6)
    partition = ack(partition, 0, 3, AckType.RELEASE)
    assert take(partition, log, most=2, whole_batches=False)[1] == [(0, 1, 2)]


def test_the_limit_of_record_locks() -> None:
    """Only records that are in flight are acquired once it is reached."""
    log = batches(7, 12, 14)
    partition, acquired = take(EMPTY, log, most=8)
    assert acquired == [(0, 7, 1)]
    partition, acquired = take(partition, log, "b")
    assert acquired == [(8, 12, 1)]
    assert not partition.may_acquire(LIMITS)
    assert take(partition, log, "b") == (partition, [])
    partition = ack(partition, 0, 3, AckType.RELEASE)
    assert partition.may_acquire(LIMITS)
    assert take(partition, log, "b")[1] == [(0, 3, 2)]
    partition, _ = take(EMPTY, batches(3, 6, 20), most=7)
    partition = ack(partition, 0, 6, AckType.RELEASE)
    # Three locks are free, and limit what is acquired again.
    assert take(partition, batches(3, 6, 20))[1] == [(0, 3, 2)]


def test_compacted_offsets_are_no_records() -> None:
    """What was available and is removed since is archived."""
    partition, _ = take(EMPTY, batches(4))
    partition = ack(partition, 0, 4, AckType.RELEASE)
    partition, acquired = take(partition, [BatchBounds(7, 8)], "b")
    assert acquired == [(7, 8, 1)]
    assert partition.start == 7


def test_deleted_and_aborted_records() -> None:
    """DeleteRecords moves the start; an aborted transaction's records are archived."""
    partition, _ = take(EMPTY, batches(5))
    partition = archive(partition, "a", 2, 3)
    assert partition.complete == 2
    assert move_start(partition, 2).start == 4
    assert move_start(partition, 9) == SharePartition(start=9)
    assert move_start(partition, 0) is partition


def test_types_of_many_offsets() -> None:
    """One type for each offset, however they alternate."""
    partition, _ = acquire(EMPTY, "a", batches(999), 1000, ShareLimits(), 0)
    types = [AckType.ACCEPT, AckType.RELEASE] * 500
    partition = acknowledge(partition, "a", [AckBatch(0, 999, types)], LIMITS, 0)
    assert (partition.start, len(partition.runs), partition.complete) == (1, 999, 499)


MEMBERS = st.sampled_from("ab")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), MEMBERS, st.integers(1, 6), st.booleans()),
        st.tuples(st.just("ack"), MEMBERS, st.integers(0, 29), st.sampled_from(list(AckType))),
        st.tuples(st.just("release"), MEMBERS),
        st.tuples(st.just("wait"), st.integers(1, 80)),
    ),
    max_size=40,
)


@given(STEPS)
def test_runs_are_neighbours_and_records_have_one_owner(steps: Sequence[tuple]) -> None:
    """Whatever members do: no gaps, no complete first record, no more deliveries than allowed."""
    log = batches(*range(2, 30, 3))
    partition, now_ms = EMPTY, 0
    owners: dict[int, str] = {}
    for name, *rest in steps:
        start = partition.start
        if name == "take":
            member, most, whole = rest
            ready = partition.next_offset
            partition, acquired = take(partition, log, member, most, now_ms, whole_batches=whole)
            for first, last, _ in acquired:
                assert first >= ready
                for offset in range(first, last + 1):
                    assert offset not in owners
                    owners[offset] = member
        elif name == "ack":
            member, offset, kind = rest
            if offset < partition.start:
                continue
            try:
                partition = ack(partition, offset, offset, kind, member=member, now_ms=now_ms)
            except AcknowledgeError:
                assert owners.get(offset) != member
            else:
                assert owners[offset] == member
        elif name == "release":
            partition = release(partition, rest[0], LIMITS)
        else:
            now_ms += rest[0]
            partition = expire(partition, LIMITS, now_ms)
        owners = _owners(partition)
        assert partition.start >= start
        _check(partition.start, partition.runs)


def _owners(partition: SharePartition) -> dict[int, str]:
    return {
        offset: run.member
        for run in partition.runs
        if run.state is RecordState.ACQUIRED
        for offset in range(run.first, run.last + 1)
    }


def _check(start: int, runs: Sequence[InFlightRecords]) -> None:
    if runs:
        assert runs[0].state in {RecordState.AVAILABLE, RecordState.ACQUIRED}
    for run in runs:
        assert run.first == start
        assert run.last >= run.first
        assert 0 <= run.deliveries <= LIMITS.delivery_count
        assert bool(run.member) == (run.state is RecordState.ACQUIRED)
        start = run.last + 1
