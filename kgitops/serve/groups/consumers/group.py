"""A consumer group of KIP-848 and its members, as immutable values.

Partitions are (topic id, partition). The group's epoch rises with each change of who reads what;
the target assignment is made for that epoch, and every member reaches it in its own time.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.group import AnyMember

Partition = tuple[bytes, int]
Partitions = frozenset[Partition]
NOTHING: Partitions = frozenset()
LEAVES, LEAVES_FOR_A_WHILE = -1, -2
"""Epochs by which a member says that it leaves; a static one comes back after the second."""


class ReadTopic(Struct, frozen=True):
    """A topic as members are assigned to it."""

    id: bytes
    partitions: int


class ConsumerGroupState(StrEnum):
    """The state of a group, by Kafka's names."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ReconciledState(StrEnum):
    """The state of a member on the way to its target assignment."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    """It still reads partitions that others are to have."""
    UNRELEASED = "unreleased"
    """Others still read partitions that it is to have."""


class ClassicSession(Struct, frozen=True, kw_only=True):
    """A member's side of the classic protocol: JoinGroup, SyncGroup and Heartbeat."""

    timeout_ms: int
    protocols: Sequence[tuple[str, bytes]]
    """The member's assignors, its favourite first, each with the bytes of its subscription."""
    join_by_ms: int | None = None
    """The time by which a member that was told of a rebalance must have joined again."""
    sync_by_ms: int | None = None
    """The time by which a member that joined must have fetched its assignment."""


class ConsumerMember(AnyMember, frozen=True, kw_only=True):
    """A member, what it reads, and the partitions it has."""

    rack_id: str | None = None
    rebalance_timeout_ms: int = 0
    topics: frozenset[str] = frozenset()
    """Topics that it has subscribed to by the names that it has for them."""
    pattern: str = ""
    matched: frozenset[str] = frozenset()
    """Topics whose names match the pattern that it has subscribed to."""
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: ReconciledState = ReconciledState.STABLE
    assigned: Partitions = NOTHING
    revoking: Partitions = NOTHING
    """Partitions that it was told to give up and may still read."""
    expires_ms: int | None = None
    """The end of its session."""
    revoked_by_ms: int | None = None
    """The time by which it must have given up what it is told to."""
    classic: ClassicSession | None = None
    """None for a member that speaks KIP-848."""

    @property
    def reads(self) -> frozenset[str]:
        """The names of all topics that it reads."""
        return self.topics | self.matched

    @property
    def held(self) -> Partitions:
        """The partitions that nobody else may have now."""
        return self.assigned | self.revoking


class ModernGroup(Struct, frozen=True, kw_only=True):
    """A consumer group; times are milliseconds of one clock."""

    epoch: int = 0
    target_epoch: int = 0
    target: Mapping[str, Partitions] = field(default_factory=dict)
    """The partitions that each member is to have."""
    assignor: str = "uniform"
    topics: Mapping[str, ReadTopic] = field(default_factory=dict)
    """The topics that members read, as they were when the target was made."""
    members: Mapping[str, ConsumerMember] = field(default_factory=dict)

    @property
    def state(self) -> ConsumerGroupState:
        """Stable once every member has what it is to have."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.target_epoch < self.epoch:
            return ConsumerGroupState.ASSIGNING
        reached = all(
            member.state is ReconciledState.STABLE and member.epoch == self.target_epoch
            for member in self.members.values()
        )
        return ConsumerGroupState.STABLE if reached else ConsumerGroupState.RECONCILING

    @property
    def only_classic(self) -> bool:
        """True if the group has members, and none of them speaks KIP-848."""
        return bool(self.members) and all(item.classic for item in self.members.values())

    @property
    def topic_names(self) -> Mapping[bytes, str]:
        """The members' names of the topics, by id."""
        return {topic.id: name for name, topic in self.topics.items()}

    @property
    def subscribed(self) -> frozenset[str]:
        """The names of all topics that members read."""
        return frozenset[str]().union(*(member.reads for member in self.members.values()))


class HeartbeatAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a heartbeat; without an assignment the member continues with what it has."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    epoch: int = 0
    assigned: Partitions | None = None


def with_consumer(group: ModernGroup, member: ConsumerMember) -> ModernGroup:
    """The group with the member, at the end or where it was."""
    return replace(group, members={**group.members, member.id: member})


def without_consumer(group: ModernGroup, member_id: str) -> ModernGroup:
    """The group after a member is gone: the others are to share what it had."""
    members = {key: item for key, item in group.members.items() if key != member_id}
    target = {key: item for key, item in group.target.items() if key != member_id}
    return replace(group, members=members, target=target, epoch=group.epoch + 1)
