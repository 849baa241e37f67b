"""Coordinators of groups and transactions: finding them, and the offsets that groups committed."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kgitops.cluster.kafka.answers import (
    LOOK_MS,
    NOT_ANSWERED,
    ask_each_broker,
    result_of,
    unreadable_error,
)
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.results import ErrorCode, RequestResult

T = TypeVar("T")

_GROUP, _TRANSACTION = 0, 1  # the types of a coordinator's key
_MANY_KEYS = 4  # the first version that asks for many groups at once
_PAUSE_S = 0.1
_BRIEF_PAUSE_S = 0.02
# Nothing was read or done: the group is moving from one broker to another, or, for the very first
# group, the internal topic of offsets is being created.
_IN_TRANSIT = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def ask_coordinators(
    wire: Wire,
    groups: Sequence[str],
    ask: Callable[[int, Sequence[str]], Mapping[str, T | RequestResult]],
) -> Mapping[str, T | RequestResult]:
    """Call ``ask`` on the coordinator of each group; return its answer or the error by group.

    Raises:
        UnreachableError: a broker does not answer.
    """
    results: dict[str, T | RequestResult] = {}
    deadline = time.monotonic() + LOOK_MS / 1000
    left = sorted(set(groups))
    while left:
        by_broker: defaultdict[int, list[str]] = defaultdict(list)
        for group, broker in _find(wire, left).items():
            if isinstance(broker, RequestResult):
                results[group] = broker
            else:
                by_broker[broker].append(group)
        for answered in ask_each_broker(wire, sorted(by_broker), _asking(ask, by_broker)):
            results |= answered
        left = [group for group in left if _is_in_transit(results[group])]
        if time.monotonic() >= deadline:
            break
        if left:
            time.sleep(_PAUSE_S)
    return results


def _asking(
    ask: Callable[[int, Sequence[str]], T], by_broker: Mapping[int, Sequence[str]]
) -> Callable[[int], T]:
    return lambda broker: ask(broker, by_broker[broker])


def is_transactional(wire: Wire, transactional_id: str) -> bool:
    """Return whether the coordinator of this id is there, or will not come by waiting.

    The first to ask has the brokers create their log of transactions, which takes them a second.

    Raises:
        UnreachableError: no broker answers.
    """
    found = _find(wire, [transactional_id], _TRANSACTION)
    return not _is_in_transit(found.get(transactional_id))


def await_transactional(wire: Wire, transactional_id: str, timeout_s: float) -> None:
    """Wait for the coordinator of this id, at most so long.

    Raises:
        UnreachableError: no broker answers.
    """
    deadline = time.monotonic() + timeout_s
    while not is_transactional(wire, transactional_id) and time.monotonic() < deadline:
        time.sleep(_BRIEF_PAUSE_S)


def _find(
    wire: Wire, keys: Sequence[str], key_type: int = _GROUP
) -> Mapping[str, int | RequestResult]:
    request = FindCoordinatorRequest(
        key_type=key_type, coordinator_keys=list(keys), min_version=_MANY_KEYS
    )
    found = {
        row.key: result_of(row.error_code, row.error_message) if row.error_code else row.node_id
        for row in wire.send(request, timeout_ms=LOOK_MS).coordinators
    }
    return {key: found.get(key, NOT_ANSWERED) for key in keys}


def _is_in_transit(answer: object) -> bool:
    return isinstance(answer, RequestResult) and answer.code in _IN_TRANSIT


_MANY_GROUPS, _BY_NAME = 8, 9  # the versions that take several groups, and topics by name
_NOTHING = -1


def read_group_offsets(wire: Wire, groups: Iterable[str]) -> Mapping[str, GroupOffsets]:
    """Return (topic, partition) to committed offset by group, without groups that have none.

    A transaction that is still open has committed nothing yet. Brokers silently leave out offsets
    of topics that the principal may not describe.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    answers = fetch_offsets(wire, groups)
    offsets: dict[str, GroupOffsets] = {}
    for group, answer in answers.items():
        if not isinstance(answer, RequestResult):
            offsets[group] = answer
        elif answer.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            what = f"what the group {group!r} has committed"
            raise unreadable_error(wire, "OffsetFetch", what, answer.code, answer.message)
    return {group: committed for group, committed in offsets.items() if committed}


def fetch_offsets(wire: Wire, groups: Iterable[str]) -> Mapping[str, GroupOffsets | RequestResult]:
    """Return the committed offsets of every group, or its broker's error.

    Raises:
        UnreachableError: a broker does not answer.
    """
    return ask_coordinators(
        wire, sorted(groups), lambda broker, mine: _of_broker(wire, broker, mine)
    )


def _of_broker(
    wire: Wire, broker: int, groups: Sequence[str]
) -> Mapping[str, GroupOffsets | RequestResult]:
    item = OffsetFetchRequest.OffsetFetchRequestGroup
    request = OffsetFetchRequest(
        groups=[item(group_id=group, topics=None) for group in groups],
        require_stable=False,
        min_version=_MANY_GROUPS,
        max_version=_BY_NAME,
    )
    rows = {row.group_id: row for row in wire.send(request, to=broker, timeout_ms=LOOK_MS).groups}
    return {group: _offsets(rows[group]) if group in rows else NOT_ANSWERED for group in groups}


def _offsets(group: Message) -> GroupOffsets | RequestResult:
    if group.error_code:
        return result_of(group.error_code, None)
    offsets: dict[tuple[str, int], int] = {}
    for topic in group.topics:
        for row in topic.partitions:
            if row.error_code:
                return result_of(row.error_code, None)
            if row.committed_offset != _NOTHING:
                offsets[topic.name, row.partition_index] = row.committed_offset
    return offsets
