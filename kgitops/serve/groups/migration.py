"""A classic group becomes one of KIP-848 while members are in it, and the other way round.

A group has committed offsets whatever its type: they are in the store, and a migration does not
touch them.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.group import (
    NOTHING,
    ClassicSession,
    ConsumerMember,
    ModernGroup,
    Partitions,
    ReadTopic,
)
from kgitops.serve.groups.consumers.heartbeats import FencedError, FindTopics
from kgitops.serve.groups.embedded_protocol import (
    CONSUMER,
    read_assignment,
    read_subscription,
    write_assignment,
)
from kgitops.serve.groups.group import ClassicMember, Group, JoinAnswer, SyncAnswer, answered
from kgitops.serve.groups.rebalancing import prepared
from kgitops.serve.groups.settings import GroupSettings
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import Message


def upgraded(
    group_id: str, group: Group, find: FindTopics, now_ms: int, settings: GroupSettings
) -> ModernGroup:
    """Return the classic group as one of KIP-848, in which all members have what they had.

    Raises:
        FencedError: the group can't be upgraded (69); the message is Kafka's.
    """
    problem = _upgrade_problem(group, settings)
    if problem:
        raise _refusal(group_id, problem)
    try:
        subscriptions = {key: _subscription(group, key) for key in group.members}
        assignments = {
            key: read_assignment(member.assignment) for key, member in group.members.items()
        }
    except MalformedError:
        raise _refusal(group_id, "the embedded consumer protocol is malformed.") from None
    if any(assignment.user_data for assignment in assignments.values()):
        raise _refusal(
            group_id,
            "an unsupported custom assignor is in use. Please refer to the documentation or "
            "switch to a default assignor before re-attempting the upgrade.",
        )
    names = {topic for item in subscriptions.values() for topic in item.topics}
    names |= {row.topic for item in assignments.values() for row in item.assigned_partitions}
    topics = find(frozenset(names))
    members = {
        key: replace(
            _modern_member(member, subscriptions[key], now_ms),
            epoch=group.generation,
            previous_epoch=group.generation,
            assigned=_partitions(assignments[key], topics),
        )
        for key, member in group.members.items()
    }
    return ModernGroup(
        epoch=group.generation,
        target_epoch=group.generation,
        target={key: member.assigned for key, member in members.items()},
        topics=topics,
        members=members,
    )


def told_to_join_again(group: Group) -> Group:
    """Return the classic group with an answer to each request that waits: a new rebalance began."""
    again = ErrorCode.REBALANCE_IN_PROGRESS
    for member in group.members.values():
        group = answered(group, member.joins, JoinAnswer(error=again, member_id=member.id))
        group = answered(group, member.syncs, SyncAnswer(error=again))
    return group


def may_be_downgraded(before: ModernGroup, after: ModernGroup, settings: GroupSettings) -> bool:
    """Return whether the last member of KIP-848 went, and the others may be a classic group."""
    return (
        not before.only_classic
        and after.only_classic
        and settings.migration_policy.downgrades
        and len(after.members) <= settings.max_size
    )


def downgraded(before: ModernGroup, after: ModernGroup, now_ms: int) -> Group:
    """Return the group of KIP-848 as a classic one, in the generation that its members know.

    It rebalances, so that the others share what the last member of KIP-848 had, unless a static
    member with the classic protocol took that one's place with all that it had.
    """
    members = {key: _classic_member(member, now_ms) for key, member in after.members.items()}
    group = Group(
        state=GroupState.STABLE,
        generation=before.epoch,
        protocol_type=CONSUMER,
        leader=next(iter(members)),
        members=members,
    )
    protocol = group.elected_protocol()
    names = after.topic_names
    assigned = {
        key: write_assignment(
            [
                (names[topic], item)
                for topic, item in after.target.get(key, NOTHING)
                if topic in names
            ],
            member.metadata(protocol),
        )
        for key, member in members.items()
    }
    group = replace(
        group,
        protocol=protocol,
        members={key: replace(member, assignment=assigned[key]) for key, member in members.items()},
    )
    current = all(member.epoch == before.epoch for member in after.members.values())
    replaced = len(after.members) == len(before.members)
    return group if current and replaced else prepared(group, now_ms)


def _upgrade_problem(group: Group, settings: GroupSettings) -> str | None:
    if not settings.migration_policy.upgrades:
        return "online upgrade is disabled."
    if group.protocol_type != CONSUMER:
        return "the group does not use the consumer embedded protocol."
    if len(group.members) > settings.consumer_max_size:
        return "the group size exceeds the consumer group maximum size."
    return None


def _refusal(group_id: str, problem: str) -> FencedError:
    return FencedError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group_id} to consumer group because {problem}",
    )


def _subscription(group: Group, member_id: str) -> Message:
    """A member's subscription by the group's protocol, or its favourite before there is one."""
    member = group.members[member_id]
    return read_subscription(member.metadata(group.protocol or member.protocols[0][0]))


def _partitions(assignment: Message, topics: Mapping[str, ReadTopic]) -> Partitions:
    return frozenset(
        (topics[row.topic].id, item)
        for row in assignment.assigned_partitions
        if row.topic in topics
        for item in row.partitions
    )


def _modern_member(member: ClassicMember, subscription: Message, now_ms: int) -> ConsumerMember:
    return ConsumerMember(
        id=member.id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        expires_ms=now_ms + member.session_timeout_ms,
        classic=ClassicSession(timeout_ms=member.session_timeout_ms, protocols=member.protocols),
    )


def _classic_member(member: ConsumerMember, now_ms: int) -> ClassicMember:
    session = member.classic
    if session is None:
        raise ValueError(f"{member.id} does not speak the classic protocol")
    return ClassicMember(
        id=member.id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=session.timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=session.protocols,
        expires_ms=now_ms + session.timeout_ms,
    )
