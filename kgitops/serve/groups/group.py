"""A classic group and its members, as immutable values; and members of either protocol."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode

NO_MEMBER = ""
"""The member id of who is no member yet."""
NO_GENERATION = -1
Protocols = Sequence[tuple[str, bytes]]
"""The ways a member can be assigned in, its favourite first, each with the member's metadata."""


class AnyMember(Struct, frozen=True, kw_only=True):
    """A member; a static one has an instance id, and keeps its place while it is away."""

    id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""


M = TypeVar("M", bound=AnyMember)


def static_member(members: Mapping[str, M], instance_id: str | None) -> M | None:
    if instance_id is None:
        return None
    return next((item for item in members.values() if item.instance_id == instance_id), None)


def member_error(
    members: Mapping[str, AnyMember], member_id: str, instance_id: str | None
) -> ErrorCode:
    """The error of who is not, or no longer, this member; NONE for the member itself."""
    if instance_id is None:
        known = member_id in members
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_MEMBER_ID
    static = static_member(members, instance_id)
    if static is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    # Another process has taken the place of the static member.
    return ErrorCode.NONE if static.id == member_id else ErrorCode.FENCED_INSTANCE_ID


class ClassicMember(AnyMember, frozen=True, kw_only=True):
    """A member that speaks the classic protocol."""

    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    joins: int | None = None
    """The ticket of its JoinGroup that waits."""
    syncs: int | None = None
    """The ticket of its SyncGroup that waits."""
    is_new: bool = False
    """True until its first JoinGroup is answered: it can't send heartbeats before."""
    expires_ms: int
    """It is taken for dead then, unless one of its requests waits."""

    @property
    def waits(self) -> bool:
        """True while a request of it is parked, so that it needs no heartbeat."""
        return not self.is_new and (self.joins is not None or self.syncs is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """The bytes that it sent along with the protocol."""
        return dict(self.protocols).get(protocol or "", b"")


class JoinedMember(Struct, frozen=True, kw_only=True):
    """A member, as the leader is told of it."""

    id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(Struct, frozen=True, kw_only=True):
    """The answer to JoinGroup; only the leader is told the members."""

    error: ErrorCode = ErrorCode.NONE
    member_id: str = NO_MEMBER
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = NO_MEMBER
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


class SyncAnswer(Struct, frozen=True, kw_only=True):
    """The answer to SyncGroup."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


Answer = JoinAnswer | SyncAnswer


class Group(Struct, frozen=True, kw_only=True):
    """A classic group; times are milliseconds of one clock."""

    state: GroupState = GroupState.EMPTY
    begins: bool = False
    """It prepares its first generation: it waits for a while for more members."""
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: Mapping[str, ClassicMember] = field(default_factory=dict)
    pending: Mapping[str, int] = field(default_factory=dict)
    """Ids that were given out and not joined with yet, and when each expires."""
    unsynced: frozenset[str] = frozenset()
    """Members that have not fetched their assignment of this generation."""
    join_deadline_ms: int | None = None
    """The time when a rebalance goes on without those that have not joined."""
    more_delay_ms: int = 0
    """The time by which ``join_deadline_ms`` of the first rebalance may still be moved."""
    grew: bool = False
    """A member came since ``join_deadline_ms`` of the first rebalance was set."""
    sync_deadline_ms: int | None = None
    answers: tuple[tuple[int, Answer], ...] = ()
    """Answers by ticket that this step gave; the next step's group begins without."""

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest time that a member may take to join again."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_joined(self) -> bool:
        """True if a rebalance need wait for nobody."""
        joined = all(member.joins is not None for member in self.members.values())
        return joined and not self.pending

    def common_protocols(self) -> frozenset[str]:
        """Protocols that all members have."""
        counted = Counter(
            name for member in self.members.values() for name in dict(member.protocols)
        )
        return frozenset(name for name, count in counted.items() if count == len(self.members))

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return whether a member with these protocols can be in the group."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        return not self.common_protocols().isdisjoint(dict(protocols))

    def elected_protocol(self) -> str:
        """The common protocol that most members like best; of equals, the oldest members'."""
        common = self.common_protocols()
        votes = Counter(
            next(name for name, _ in member.protocols if name in common)
            for member in self.members.values()
        )
        return max(votes, key=votes.__getitem__)

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """The members with their metadata of the chosen protocol."""
        return tuple(
            JoinedMember(
                id=item.id, instance_id=item.instance_id, metadata=item.metadata(self.protocol)
            )
            for item in self.members.values()
        )


def with_member(group: Group, member: ClassicMember) -> Group:
    """The group with the member, at the end or where it was."""
    return replace(group, members={**group.members, member.id: member})


def answered(group: Group, ticket: int | None, answer: Answer) -> Group:
    """The group with one more answer to be sent; nothing without a ticket."""
    if ticket is None:
        return group
    return replace(group, answers=(*group.answers, (ticket, answer)))


def join_answered(group: Group, member_id: str, answer: JoinAnswer) -> Group:
    """The group after a member's waiting JoinGroup, if any, is answered."""
    member = group.members[member_id]
    group = answered(group, member.joins, answer)
    return with_member(group, replace(member, joins=None))


def sync_answered(group: Group, member_id: str, answer: SyncAnswer, now_ms: int) -> Group:
    """The group after a member's waiting SyncGroup, if any, is answered; its session continues."""
    member = group.members[member_id]
    if member.syncs is None:
        return group
    group = with_member(answered(group, member.syncs, answer), replace(member, syncs=None))
    return kept_alive(group, member_id, now_ms)


def kept_alive(group: Group, member_id: str, now_ms: int) -> Group:
    """The group after a sign of life of a member; unchanged if there is no such member."""
    member = group.members.get(member_id)
    if member is None:
        return group
    expires_ms = now_ms + member.session_timeout_ms
    return with_member(group, replace(member, expires_ms=expires_ms))
