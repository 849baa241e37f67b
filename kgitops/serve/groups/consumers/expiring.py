"""Time alone: members whose sessions end, and those that do not give up partitions in time."""

from kgitops.serve.groups.consumers.group import ConsumerMember, ModernGroup, without_consumer


def next_consumer_deadline_ms(group: ModernGroup) -> int | None:
    """The next time at which something happens to the group by itself."""
    return min((time for item in group.members.values() for time in _deadlines(item)), default=None)


def without_late_consumers(group: ModernGroup, now_ms: int) -> ModernGroup:
    """The group without members whose time is up; the next heartbeat brings a new target."""
    for member in group.members.values():
        if any(time <= now_ms for time in _deadlines(member)):
            group = without_consumer(group, member.id)
    return group


def _deadlines(member: ConsumerMember) -> list[int]:
    return [time for time in (member.expires_ms, member.revoked_by_ms) if time is not None]
