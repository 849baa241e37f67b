"""Share groups (KIP-932): members and their partitions, share sessions, acquisition locks.

All of it is in memory and changes in the event loop alone. Members need no hand-over as those of
consumer groups do: several may read one partition, whose records ``share_partition.py`` hands out.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.store.batches import PartitionKey
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.group import (
    LEAVES,
    NOTHING,
    ConsumerGroupState,
    Partition,
    Partitions,
    ReadTopic,
)
from kgitops.serve.groups.share_partition import ShareLimits, SharePartition, expire, release
from kgitops.wire.messages import Message

ASSIGNOR = "simple"
NEW_SESSION, LAST_REQUEST = 0, -1
"""Epochs of share sessions: the request opens one, or closes it."""
_LARGEST_EPOCH = 2**31 - 1
_LONGEST_MEMBER_ID = 36
FindTopics = Callable[[Collection[str]], Mapping[str, ReadTopic]]
"""Finds the topics of these names that exist."""


class ShareError(Exception):
    """A request about a share group is refused, with Kafka's code and message."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ShareMember(Struct, frozen=True, kw_only=True):
    """A member, its subscription, and the partitions that it reads."""

    id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    epoch: int = 0
    previous_epoch: int = -1
    assigned: Partitions = NOTHING
    expires_ms: int = 0


class ShareGroup(Struct, frozen=True, kw_only=True):
    """A share group; times are milliseconds of one clock."""

    epoch: int = 1
    """A new share group of Kafka begins with 1, before a member joins."""
    topics: Mapping[str, ReadTopic] = field(default_factory=dict)
    """The subscribed topics as they were when partitions were assigned."""
    target: Mapping[str, Partitions] = field(default_factory=dict)
    """The partitions of each member, which it gets with its next heartbeat."""
    members: Mapping[str, ShareMember] = field(default_factory=dict)
    known: Partitions = NOTHING
    """The partitions that members have had, or whose offsets have been altered."""

    @property
    def state(self) -> ConsumerGroupState:
        """Stable as long as it has members."""
        return ConsumerGroupState.STABLE if self.members else ConsumerGroupState.EMPTY

    def with_partitions(self, partitions: Iterable[Partition]) -> "ShareGroup":
        """The group that knows these partitions, too."""
        return replace(self, known=self.known.union(partitions))

    def without_partitions(self, partitions: Iterable[Partition]) -> "ShareGroup":
        """The group that knows no more of these partitions."""
        return replace(self, known=self.known.difference(partitions))


class MemberSettings(Struct, frozen=True, kw_only=True):
    """The configs of a group that its members depend on."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = 200


def check_member_id(member_id: str | None) -> str:
    """Refuse a member id that no client makes.

    Raises:
        ShareError: it is none (42).
    """
    if not member_id or len(member_id) > _LONGEST_MEMBER_ID:
        raise ShareError(ErrorCode.INVALID_REQUEST)
    return member_id


def check_heartbeat(request: Message) -> None:
    """Refuse a ShareGroupHeartbeat that no member may send, in Kafka's words.

    Raises:
        ShareError: it is such a request (42).
    """
    check_member_id(request.member_id)
    problems = [
        (not request.group_id, "GroupId can't be empty."),
        (request.rack_id == "", "RackId can't be empty."),
        (
            request.member_epoch == 0 and not request.subscribed_topic_names,
            "SubscribedTopicNames must be set in first request.",
        ),
        (request.member_epoch < LEAVES, "MemberEpoch is invalid."),
    ]
    for wrong, message in problems:
        if wrong:
            raise ShareError(ErrorCode.INVALID_REQUEST, message)


def heartbeat(
    group: ShareGroup,
    request: Message,
    client: tuple[str, str],
    find: FindTopics,
    now_ms: int,
    settings: MemberSettings,
) -> ShareGroup:
    """The group after a member's heartbeat; ``client`` is its client id and host.

    Raises:
        ShareError: the member is not, or no longer, in the group, or the group is full.
    """
    member_id: str = request.member_id
    if request.member_epoch == LEAVES:
        return without_members(group, [_known(group, request).id])
    member = _member(group, request, settings.max_size)
    names = request.subscribed_topic_names
    updated = replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=client[0],
        client_host=client[1],
        topics=member.topics if names is None else frozenset(names),
        expires_ms=now_ms + settings.session_timeout_ms,
    )
    members = {**group.members, member_id: updated}
    topics = find(frozenset[str]().union(*(item.topics for item in members.values())))
    known = group.members.get(member_id)
    changed = known is None or known.topics != updated.topics or topics != group.topics
    group = replace(group, members=members)
    if changed:
        group = _assigned(replace(group, epoch=group.epoch + 1, topics=topics))
    if updated.epoch != group.epoch:
        updated = replace(updated, epoch=group.epoch, previous_epoch=updated.epoch)
    updated = replace(updated, assigned=group.target.get(member_id, NOTHING))
    return replace(group, members={**group.members, member_id: updated})


def without_members(group: ShareGroup, gone: Collection[str]) -> ShareGroup:
    """The group after members have left it: the others share their partitions."""
    members = {key: item for key, item in group.members.items() if key not in gone}
    return _assigned(replace(group, members=members, epoch=group.epoch + 1))


def _member(group: ShareGroup, request: Message, max_size: int) -> ShareMember:
    """The member as it was; a new one if it joins."""
    if request.member_epoch == 0:
        known = group.members.get(request.member_id)
        if known is None and len(group.members) >= max_size:
            raise ShareError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {max_size} members.",
            )
        return known or ShareMember(id=request.member_id)
    member = _known(group, request)
    if request.member_epoch not in {member.epoch, member.previous_epoch}:
        size = "greater" if request.member_epoch > member.epoch else "smaller"
        raise ShareError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a {size} member epoch ({request.member_epoch}) than the "
            f"one known by the group coordinator ({member.epoch}). The member must abandon all its "
            "partitions and rejoin.",
        )
    return member


def _known(group: ShareGroup, request: Message) -> ShareMember:
    member = group.members.get(request.member_id)
    if member is None:
        raise ShareError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {request.member_id} is not a member of group {request.group_id}.",
        )
    return member


def _assigned(group: ShareGroup) -> ShareGroup:
    """The group with a new target assignment (``SimpleAssignor``).

    Neighbouring topics with the same readers are spread as one, which is more even.
    """
    readers: dict[str, list[str]] = {name: [] for name in group.topics}
    for member in group.members.values():
        for name in member.topics & readers.keys():
            readers[name].append(member.id)
    pools: list[tuple[list[Partition], list[str]]] = []
    for name, topic in group.topics.items():
        pool = [(topic.id, partition) for partition in range(topic.partitions)]
        if pools and pools[-1][1] == readers[name]:
            pools[-1][0].extend(pool)
        else:
            pools.append((pool, readers[name]))
    target: dict[str, frozenset[Partition]] = dict.fromkeys(group.members, NOTHING)
    for pool, members in pools:
        for member_id, partitions in _spread(pool, members, group.target).items():
            target[member_id] |= partitions
    known = group.known.union(*(pool for pool, _ in pools))
    return replace(group, target=target, known=known)


def _spread(
    pool: Sequence[Partition], members: Sequence[str], before: Mapping[str, Partitions]
) -> Mapping[str, set[Partition]]:
    """Spread partitions evenly over members; who has one keeps it where that is even."""
    spread: dict[str, set[Partition]] = {member: set() for member in members}
    if not pool or not members:
        return spread
    readers_each = -(-len(members) // len(pool))
    slots = readers_each * len(pool)
    shares = [-(-index * slots // len(members)) for index in range(len(members) + 1)]
    wanted = {member: shares[index + 1] - shares[index] for index, member in enumerate(members)}
    load: Counter[Partition] = Counter()
    inside = frozenset(pool)
    for member, mine in spread.items():
        for partition in sorted(before.get(member, NOTHING) & inside):
            if len(mine) < wanted[member] and load[partition] < readers_each:
                mine.add(partition)
                load[partition] += 1
    free = deque(
        partition
        for turn in range(readers_each)
        for partition in pool
        if load[partition] + turn < readers_each
    )
    for member, mine in spread.items():
        passed: list[Partition] = []
        while free and len(mine) < wanted[member]:
            partition = free.popleft()
            if partition in mine:
                passed.append(partition)
            else:
                mine.add(partition)
        free.extendleft(reversed(passed))
    return spread


class ShareSession:
    """The partitions that a member reads at one broker (a share session of KIP-932)."""

    def __init__(self) -> None:
        self.epoch = 1
        """The epoch of the next request."""
        self.partitions: dict[PartitionKey, bool] = {}
        """True for a partition that must be in the next response, even without records."""

    def update(self, added: Iterable[PartitionKey], forgotten: Iterable[PartitionKey]) -> None:
        """Add the partitions of a request, and remove those that it forgets."""
        for partition in added:
            self.partitions.setdefault(partition, True)
        for partition in forgotten:
            self.partitions.pop(partition, None)

    def advance(self) -> None:
        """Expect the next epoch."""
        self.epoch = 1 if self.epoch == _LARGEST_EPOCH else self.epoch + 1


SessionKey = tuple[int, str, str]
"""A broker, a group's physical id, and a member."""


class ShareGroups:
    """The share groups by their physical ids, with their partitions and sessions."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self.wake: Callable[[Collection[PartitionKey]], None] = lambda _: None
        """Wakes who waits for records of a partition."""
        self._groups: dict[str, ShareGroup] = {}
        self._partitions: dict[str, dict[PartitionKey, SharePartition]] = {}
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._timers: dict[object, asyncio.TimerHandle] = {}
        self._closed = False

    def group(self, group: str) -> ShareGroup | None:
        """The share group of this physical id; in any thread."""
        return self._groups.get(group)

    def has_members(self, group: str) -> bool:
        """Return whether anyone is in the group; in any thread."""
        known = self._groups.get(group)
        return known is not None and bool(known.members)

    def create(self, group: str) -> ShareGroup:
        """The share group of this physical id, which is made if there is none."""
        return self._groups.setdefault(group, ShareGroup())

    def keep(self, group: str, changed: ShareGroup) -> None:
        """Keep a group after a change, and remove its members when their sessions end."""
        self._groups[group] = changed
        deadlines = (member.expires_ms for member in changed.members.values())
        self._call_at(group, min(deadlines, default=None), lambda: self._end_sessions(group))

    def forget(self, group: str) -> None:
        """Forget a group without members: it was deleted."""
        if self.has_members(group) or self._groups.pop(group, None) is None:
            return
        for key in self._partitions.pop(group, {}):
            self._call_at((group, key), None, lambda: None)
        for session in [key for key in self._sessions if key[1] == group]:
            del self._sessions[session]

    def partitions(self, group: str) -> Mapping[PartitionKey, SharePartition]:
        """The partitions of a group that members have fetched."""
        return self._partitions.get(group, {})

    def keep_partition(
        self, group: str, key: PartitionKey, changed: SharePartition, limits: ShareLimits
    ) -> None:
        """Keep a partition after a change, and release its records when their locks end."""
        partitions = self._partitions.setdefault(group, {})
        before = partitions.get(key)
        partitions[key] = changed
        self._call_at(
            (group, key), changed.deadline_ms, lambda: self._end_locks(group, key, limits)
        )
        if before is not None and (before.start, before.next_offset) != (
            changed.start,
            changed.next_offset,
        ):
            self.wake([key])

    def forget_partitions(self, group: str, keys: Collection[PartitionKey]) -> None:
        """Forget partitions of a group and the records in flight."""
        partitions = self._partitions.get(group, {})
        for key in keys:
            partitions.pop(key, None)
            self._call_at((group, key), None, lambda: None)

    def open_session(self, key: SessionKey, most: int) -> ShareSession:
        """Open a session in the place of the member's last one; a broker has ``most`` of them.

        Raises:
            ShareError: there are that many already (133).
        """
        self._sessions.pop(key, None)
        if sum(other[0] == key[0] for other in self._sessions) >= most:
            raise ShareError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession()
        return session

    def session(self, key: SessionKey, epoch: int) -> ShareSession:
        """The member's session at a request of this epoch.

        Raises:
            ShareError: there is none (122), or it expects another epoch (123).
        """
        if epoch == NEW_SESSION:
            raise ShareError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = self._sessions.get(key)
        if session is None:
            raise ShareError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch not in {session.epoch, LAST_REQUEST}:
            raise ShareError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        return session

    def has_session(self, key: SessionKey, session: ShareSession) -> bool:
        """Return whether the session is still the member's."""
        return self._sessions.get(key) is session

    def close_session(self, key: SessionKey, limits: ShareLimits, session: ShareSession) -> None:
        """Close a session unless another took its place, and release what it has acquired."""
        if not self.has_session(key, session):
            return
        del self._sessions[key]
        _, group, member = key
        partitions = self.partitions(group)
        for read in session.partitions.keys() & partitions.keys():
            released = release(partitions[read], member, limits)
            if released != partitions[read]:
                self.keep_partition(group, read, released, limits)

    def close(self) -> None:
        """Stop the timers."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()

    def _end_sessions(self, group: str) -> None:
        known = self._groups.get(group)
        if known is None:
            return
        now_ms = self.now_ms()
        gone = [member.id for member in known.members.values() if member.expires_ms <= now_ms]
        self.keep(group, without_members(known, gone) if gone else known)

    def _end_locks(self, group: str, key: PartitionKey, limits: ShareLimits) -> None:
        partition = self.partitions(group).get(key)
        if partition is not None:
            self.keep_partition(group, key, expire(partition, limits, self.now_ms()), limits)

    def _call_at(self, key: object, deadline_ms: int | None, callback: Callable[[], None]) -> None:
        """Call back at a time instead of the last one that was given for the key."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if deadline_ms is not None and not self._closed:
            loop = asyncio.get_running_loop()
            self._timers[key] = loop.call_at(deadline_ms / 1000, callback)
