"""OffsetFetch: what groups have committed, asked of the brokers that coordinate them."""

from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.consumer import OffsetFetchRequest

from kgitops.cluster.kafka.answers import LOOK_MS, NOT_ANSWERED, result_of
from kgitops.cluster.kafka.coordinators import ask_coordinators
from kgitops.cluster.kafka.read.answers import unreadable
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.results import ErrorCode, RequestResult

_MANY_AT_ONCE, _BY_NAME = 8, 9  # the versions that take several groups, and topics by name
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
        min_version=_MANY_AT_ONCE,
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
