"""Single consumer groups: their offsets, members and configs; and offsets by time."""

from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.admin import ListGroupsRequest

from kgitops.cluster.kafka.answers import LOOK_MS, ask_each_broker, result_of, unreadable_error
from kgitops.cluster.kafka.coordinators import ask_coordinators, read_group_offsets
from kgitops.cluster.kafka.read.config_resources import list_resources, read_own_configs
from kgitops.cluster.kafka.read.rounds import list_topics
from kgitops.cluster.kafka.read.usage import NO_LEADER, offsets_request, partitions_by_leader
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.refusals import read_all
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.results import RequestResult

_WITHOUT_MEMBERS = frozenset({"empty", "dead"})
_NO_OFFSET = -1


def read_groups(wire: Wire, names: Iterable[str]) -> Sequence[FoundGroup]:
    """Return those of these groups of which there is anything.

    It takes a request to each of their coordinators for what they committed, one for their
    members, and one for their configs.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    groups = sorted(set(names))
    offsets, states, configs = read_all(
        lambda: read_group_offsets(wire, groups),
        lambda: _states(wire, groups),
        lambda: read_own_configs(wire, ConfigResourceType.GROUP, groups),
    )
    found = (
        FoundGroup(
            name=group,
            known=group in states,
            active=states.get(group, "dead") not in _WITHOUT_MEMBERS,
            offsets=offsets.get(group, {}),
            configs=configs.get(group, {}),
        )
        for group in groups
    )
    return [group for group in found if group.exists]


_BATCH = 500
"""The groups whose configs are asked for in one request."""


def list_configured(wire: Wire, kind: ConfigResourceType) -> frozenset[str]:
    """List the resources that have configs.

    Brokers before 4.1 don't list such groups: the configs of each group that they list are read.
    Of brokers those that are alive are listed, and what holds for all.

    Raises:
        UnreachableError: they can't be listed, or the principal may not.
    """
    if kind is ConfigResourceType.BROKER:
        return frozenset({ALL_BROKERS, *map(str, wire.broker_ids())})
    listed = list_resources(wire, kind)
    if listed is not None:
        return listed
    match kind:
        case ConfigResourceType.CLIENT_METRICS:
            return frozenset()  # brokers before 3.7 have none
        case ConfigResourceType.GROUP:
            groups = _every_group(wire)
            batches = [groups[at : at + _BATCH] for at in range(0, len(groups), _BATCH)]
            read = (read_own_configs(wire, kind, batch) for batch in batches)
            return frozenset(name for own in read for name, configs in own.items() if configs)


def _every_group(wire: Wire) -> Sequence[str]:
    found: set[str] = set()

    def ask(broker: int) -> Message:
        return wire.send(ListGroupsRequest(), to=broker, timeout_ms=LOOK_MS)

    for answer in ask_each_broker(wire, wire.broker_ids(), ask):
        if answer.error_code:
            raise unreadable_error(wire, "ListGroups", "the groups", answer.error_code)
        found |= {row.group_id for row in answer.groups}
    return sorted(found)


def _states(wire: Wire, groups: Sequence[str]) -> Mapping[str, str]:
    """Return the state of each group that its coordinator has, in lower case."""

    def ask(broker: int, mine: Sequence[str]) -> Mapping[str, str | RequestResult]:
        listed = wire.send(ListGroupsRequest(), to=broker, timeout_ms=LOOK_MS)
        if listed.error_code:
            return dict.fromkeys(mine, result_of(listed.error_code, None))
        states = {row.group_id: (row.group_state or "").lower() for row in listed.groups}
        return {group: states.get(group, "") for group in mine}

    found: dict[str, str] = {}
    for group, answer in ask_coordinators(wire, groups, ask).items():
        if isinstance(answer, RequestResult):
            what = f"whether the group {group!r} has members"
            raise unreadable_error(wire, "ListGroups", what, answer.code, answer.message)
        if answer:
            found[group] = answer
    return found


def read_offsets_since(wire: Wire, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
    """Return the first offset of that time or later of each partition, if it has one.

    Raises:
        UnreachableError: they can't be read, or the principal may not.
    """
    led = partitions_by_leader(list_topics(wire, sorted(topics)))
    if leaderless := led.get(NO_LEADER):
        raise UnreachableError(
            f"a partition of {', '.join(sorted(leaderless))} has no leader now, so its offsets "
            "can't be looked up; try again when it has one"
        )

    def ask(leader: int) -> Mapping[tuple[str, int], Message]:
        asked = {(name, partition) for name, ids in led[leader].items() for partition in ids}

        def rows(answer: Message) -> Mapping[tuple[str, int], Message]:
            found = {
                (t.name, row.partition_index): row for t in answer.topics for row in t.partitions
            }
            if found.keys() != asked:
                raise OddAnswerError("its partitions are not those that were asked for")
            return found

        (found,) = wire.send_all([offsets_request(led[leader], timestamp_ms)], rows, to=leader)
        return found

    offsets: dict[tuple[str, int], int] = {}
    for answer in ask_each_broker(wire, sorted(led), ask):
        for (topic, partition), row in answer.items():
            if row.error_code:
                what = f"the offsets of {topic!r} by time"
                raise unreadable_error(wire, "ListOffsets", what, row.error_code)
            if row.offset != _NO_OFFSET:
                offsets[topic, partition] = row.offset
    return offsets
