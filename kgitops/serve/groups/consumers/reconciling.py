"""The way of a member to its target: it gives up, then reaches the epoch, then is given more.

Time alone removes members whose sessions end, and those that do not give up partitions in time.
As org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder.
"""

from msgspec.structs import replace

from kgitops.serve.groups.consumers.group import (
    NOTHING,
    ConsumerMember,
    ModernGroup,
    Partitions,
    ReconciledState,
    without_consumer,
)


def reconciled(
    group: ModernGroup, member: ConsumerMember, owned: Partitions | None, now_ms: int
) -> ConsumerMember:
    """The member one step on; ``owned`` are the partitions that it says it has, None if nothing."""
    match member.state:
        case ReconciledState.STABLE if member.epoch == group.target_epoch:
            return member
        case ReconciledState.UNREVOKED if owned is None or owned & member.revoking:
            return member
        case _:
            return _next(group, member, owned, now_ms)


def _next(
    group: ModernGroup, member: ConsumerMember, owned: Partitions | None, now_ms: int
) -> ConsumerMember:
    target = group.target.get(member.id, NOTHING)
    kept, given_up = member.assigned & target, member.assigned - target
    if given_up and (owned is None or owned & given_up):
        return replace(
            member,
            state=ReconciledState.UNREVOKED,
            assigned=kept,
            revoking=given_up,
            revoked_by_ms=now_ms + member.rebalance_timeout_ms,
        )
    taken = unreleased(group, replace(member, assigned=kept))
    return replace(
        member,
        state=ReconciledState.UNRELEASED if taken else ReconciledState.STABLE,
        assigned=target - taken,
        revoking=NOTHING,
        revoked_by_ms=None,
        previous_epoch=member.previous_epoch
        if member.epoch == group.target_epoch
        else member.epoch,
        epoch=group.target_epoch,
    )


def unreleased(group: ModernGroup, member: ConsumerMember) -> Partitions:
    """Partitions of the member's target that it lacks because other members still have them."""
    others = (item for item in group.members.values() if item.id != member.id)
    missing = group.target.get(member.id, NOTHING) - member.assigned
    return missing & NOTHING.union(*(item.held for item in others))


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
    times = [member.expires_ms, member.revoked_by_ms]
    if member.classic is not None:
        times += [member.classic.join_by_ms, member.classic.sync_by_ms]
    return [time for time in times if time is not None]
