"""Which groups of consumers read a topic now: they have members, and it is among what they read."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolType

from kgitops.cluster.kafka.answers import result_of
from kgitops.cluster.kafka.read.answers import ask_each
from kgitops.cluster.kafka.read.group_kinds import CLASSIC, GROUP_KINDS
from kgitops.cluster.kafka.transport.decoded import Decoded
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked
from kgitops.model.errors import UnreachableError

_IDLE = frozenset({"empty", "dead"})
_GONE = 69  # GROUP_ID_NOT_FOUND: it ended meanwhile
_PATIENCE_MS = 10_000


@dataclass(frozen=True, slots=True)
class ActiveGroups:
    """By topic who reads it; None where that could not be found out, and then why not."""

    by_topic: Mapping[str, tuple[str, ...]] | None = None
    not_checked: tuple[NotChecked, ...] = ()


class _UntoldError(Exception):
    """Some groups can't be looked into; says why."""


def read_active_groups(wire: Wire, brokers: Sequence[int], topics: Collection[str]) -> ActiveGroups:
    """The groups that read these topics: each broker knows those that it coordinates.

    One that can't be looked into may read any of the topics, so that nothing is known of all then.
    """
    found: dict[str, set[str]] = {name: set() for name in topics}
    try:
        for read in ask_each(brokers, lambda broker: _of_broker(wire, broker)):
            for group, names in read.items():
                for name in names & found.keys():
                    found[name].add(group)
    except (_UntoldError, UnreachableError) as error:
        return ActiveGroups(
            not_checked=(
                NotChecked(
                    problem=f"which consumer groups are active on the topics is not known: {error}",
                    advice="see that the principal may Describe all groups and that every broker "
                    "runs, and plan again to see it",
                ),
            )
        )
    return ActiveGroups({name: tuple(sorted(groups)) for name, groups in found.items()})


def _of_broker(wire: Wire, broker: int) -> Mapping[str, set[str]]:
    """Group to what it reads, for those that this broker coordinates and that have members."""
    listed = wire.send(ListGroupsRequest(), to=broker, timeout_ms=_PATIENCE_MS)
    if listed.error_code:
        raise _UntoldError(f"broker {broker} answered {result_of(listed.error_code, None)}")
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for group in listed.groups:
        kind = (group.group_type or CLASSIC).lower()
        # Others, such as the workers of Kafka Connect, share out things that are no topics.
        consumes = kind != CLASSIC or group.protocol_type == ConsumerProtocolType
        if consumes and group.group_state.lower() not in _IDLE:
            by_kind[kind].append(group.group_id)
    read: dict[str, set[str]] = {}
    for kind, groups in sorted(by_kind.items()):
        for group in _describe(wire, broker, kind, groups):
            read[group.group_id] = _topics(kind, group)
    return read


def _describe(wire: Wire, broker: int, kind: str, groups: Sequence[str]) -> list[Message]:
    if kind not in GROUP_KINDS:
        raise _UntoldError(f"{groups[0]} is of a kind that this kgitops does not know: {kind}")
    request = GROUP_KINDS[kind].request(groups)
    if not wire.supports(request, request.API_VERSION or 0):
        raise _UntoldError(f"the brokers can't tell what {groups[0]} reads: {request.name}")
    answer = wire.send(request, to=broker, timeout_ms=_PATIENCE_MS)
    described = answer.kept if isinstance(answer, Decoded) else answer
    return [group for group in described.groups if group.error_code != _GONE]


def _topics(kind: str, group: Message) -> set[str]:
    if group.error_code:
        answer = result_of(int(group.error_code), None)
        raise _UntoldError(f"the group {group.group_id} may not be described: {answer}")
    try:
        return {str(name) for name in GROUP_KINDS[kind].topics(group)}
    except ValueError as error:
        raise _UntoldError(f"the group {group.group_id} can't be looked into: {error}") from error
