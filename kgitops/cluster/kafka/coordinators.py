"""FindCoordinator: each group has one broker that keeps what it has committed."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kgitops.cluster.kafka.answers import LOOK_MS, NOT_ANSWERED, result_of, unreadable
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.results import ErrorCode, RequestResult

T = TypeVar("T")

_GROUP = 0  # the type of a coordinator's key
_MANY_KEYS = 4  # the version from which on one request asks for many
_PAUSE_S = 0.1
# Nothing was read or done: the group is on its way from one broker to another, or, when the first
# group ever is looked for, the internal topic of offsets is being made.
_ON_ITS_WAY = frozenset(
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
    """What ``ask`` has of each group from the broker that coordinates it, or why nothing.

    Raises:
        UnreachableError: a broker does not answer.
    """
    found: dict[str, T | RequestResult] = {}
    deadline = time.monotonic() + LOOK_MS / 1000
    left = sorted(set(groups))
    while left:
        by_broker: defaultdict[int, list[str]] = defaultdict(list)
        for group, broker in _find(wire, left).items():
            if isinstance(broker, RequestResult):
                found[group] = broker
            else:
                by_broker[broker].append(group)
        for broker, mine in sorted(by_broker.items()):
            found |= ask(broker, mine)
        left = [group for group in left if _is_on_its_way(found[group])]
        if time.monotonic() >= deadline:
            break
        if left:
            time.sleep(_PAUSE_S)
    return found


def _find(wire: Wire, groups: Sequence[str]) -> Mapping[str, int | RequestResult]:
    request = FindCoordinatorRequest(
        key_type=_GROUP, coordinator_keys=list(groups), min_version=_MANY_KEYS
    )
    return {
        row.key: result_of(row.error_code, row.error_message) if row.error_code else row.node_id
        for row in wire.send(request, timeout_ms=LOOK_MS).coordinators
    }


def _is_on_its_way(answer: object) -> bool:
    return isinstance(answer, RequestResult) and answer.code in _ON_ITS_WAY


_MANY_GROUPS, _BY_NAME = 8, 9  # the versions that take several groups, and topics by name
_NOTHING = -1


def read_group_offsets(wire: Wire, groups: Iterable[str]) -> Mapping[str, GroupOffsets]:
    """By group, (topic, partition) to the committed offset; a group without any is left out.

    A transaction that is still open has committed nothing yet. Offsets of topics that the principal
    may not describe are left out by the brokers, in silence.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    found = fetch_offsets(wire, groups)
    offsets: dict[str, GroupOffsets] = {}
    for group, answer in found.items():
        if not isinstance(answer, RequestResult):
            offsets[group] = answer
        elif answer.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            what = f"what the group {group!r} has committed"
            raise unreadable(answer.code, what, "Describe on the group", answer.message)
    return {group: committed for group, committed in offsets.items() if committed}


def fetch_offsets(wire: Wire, groups: Iterable[str]) -> Mapping[str, GroupOffsets | RequestResult]:
    """The same of every group, or what its broker answers instead.

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
