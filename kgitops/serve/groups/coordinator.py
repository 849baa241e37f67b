"""The coordinator of all groups: it keeps them, hands answers out, and sets their timers.

One for all brokers: a client finds its group at the broker that Kafka's rule names, and when that
one dies the next has the members at once, as after a load from ``__consumer_offsets``. Groups
change in the event loop alone. Other threads may look at them, as every group is a value.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.checks import commit_error, heartbeat
from kgitops.serve.groups.consumers.coordinator import ConsumerGroups
from kgitops.serve.groups.consumers.group import HeartbeatAnswer, ModernGroup
from kgitops.serve.groups.consumers.heartbeats import ConsumerHeartbeat, FencedError, FindTopics
from kgitops.serve.groups.expiring import Leaving, expired, leave, next_deadline_ms
from kgitops.serve.groups.group import (
    NO_GENERATION,
    NO_MEMBER,
    Answer,
    Group,
    JoinAnswer,
    SyncAnswer,
    kept_alive,
)
from kgitops.serve.groups.joining import Joining, join, subscribed_topics
from kgitops.serve.groups.migration import (
    downgraded,
    may_be_downgraded,
    told_to_join_again,
    upgraded,
)
from kgitops.serve.groups.settings import GroupSettings
from kgitops.serve.groups.share_groups import ShareError, ShareGroups
from kgitops.serve.groups.syncing import Syncing, sync

T = TypeVar("T")

_COMMITS_KEEP_ALIVE = frozenset({GroupState.STABLE, GroupState.PREPARING_REBALANCE})


class GroupCoordinator:
    """The groups of a served cluster, by their physical ids."""

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.consumers = ConsumerGroups(settings, self._now_ms, self._downgrade)
        """The groups of KIP-848. A group is of the kind of its first member, until a member of the
        other kind takes it over (migration.py)."""
        self.shares = ShareGroups(self._now_ms)
        """The groups of KIP-932. A share group stays one until it is deleted."""
        self._groups: dict[str, Group] = {}
        self._arriving: Counter[str] = Counter()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._tickets = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def group(self, group: str) -> Group | None:
        """The group of this physical id, if anyone has joined it since the start."""
        return self._groups.get(group)

    def has_members(self, group: str) -> bool:
        """Return whether anyone is in the group, or is about to be."""
        held = self._groups.get(group)
        classic = held is not None and held.state is not GroupState.EMPTY
        modern = self.consumers.has_members(group) or self.shares.has_members(group)
        return classic or self._arriving[group] > 0 or modern

    def subscribed_topics(self, group: str) -> frozenset[str] | None:
        """The topics that the group's members read, by their own names; None if they don't tell."""
        consumers = self.consumers.group(group)
        if consumers is not None:
            return consumers.subscribed
        held = self._groups.get(group)
        return subscribed_topics(held) if held else frozenset()

    def check_commit(
        self,
        group: str,
        member_id: str = NO_MEMBER,
        instance_id: str | None = None,
        generation: int = NO_GENERATION,
        *,
        transactional: bool = False,
    ) -> ErrorCode:
        """The error of who may not commit offsets of the group now; in any thread."""
        if self.shares.group(group) is not None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        consumers = self.consumers.group(group)
        if consumers is not None:
            return self.consumers.check_commit(
                consumers, member_id, generation, transactional=transactional
            )
        held = self._groups.get(group)
        return commit_error(held, member_id, instance_id, generation, transactional=transactional)

    def committed(self, group: str, member_id: str) -> None:
        """A commit is a sign of life, except while the assignment is awaited; in any thread."""
        held = self._groups.get(group)
        if held and member_id in held.members and held.state in _COMMITS_KEEP_ALIVE:
            self._soon(lambda: self._keep_alive(group, member_id))

    def forget(self, group: str) -> None:
        """Forget a group that was deleted; in any thread."""
        if group in self._groups or self.consumers.group(group) or self.shares.group(group):
            self._soon(lambda: self._forget(group))

    async def join(
        self,
        group: str,
        request: Joining,
        find: FindTopics,
        create: Callable[[], Awaitable[ErrorCode]],
    ) -> JoinAnswer:
        """Let a member join; ``create`` puts the group into the store."""
        known = request.member_id != NO_MEMBER
        if group not in self._groups and known and not self.consumers.has_members(group):
            return JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID, member_id=request.member_id)
        with self._arrival(group):
            held = self._groups.get(group)
            if held is None or held.state is GroupState.EMPTY:
                error = await create()
                if error is not ErrorCode.NONE:
                    return JoinAnswer(error=error, member_id=request.member_id)
            if self.shares.group(group) is not None:
                error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
                return JoinAnswer(error=error, member_id=request.member_id)
            if self.consumers.has_members(group):
                return self.consumers.join(group, request, find)
            self.consumers.forget(group)
            held = self._groups.get(group, Group())
            answer = self._waits_for(request.ticket)
            self._keep(group, join(held, request, self._now_ms(), self.settings))
        return cast(JoinAnswer, await self._given(request.ticket, answer))

    async def sync(self, group: str, request: Syncing) -> SyncAnswer:
        """Let a member fetch its assignment; the leader brings all."""
        if self.consumers.has_members(group):
            return self.consumers.sync(group, request)
        held = self._groups.get(group)
        if held is None:
            return SyncAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID)
        answer = self._waits_for(request.ticket)
        self._keep(group, sync(held, request, self._now_ms()))
        return cast(SyncAnswer, await self._given(request.ticket, answer))

    def heartbeat(
        self, group: str, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode:
        """Take a sign of life; the error tells a member of a rebalance."""
        if self.consumers.has_members(group):
            return self.consumers.classic_heartbeat(group, member_id, instance_id, generation)
        held = self._groups.get(group)
        if held is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        held, error = heartbeat(held, member_id, instance_id, generation, self._now_ms())
        self._keep(group, held)
        return error

    def leave(self, group: str, members: Sequence[Leaving]) -> Sequence[ErrorCode]:
        """Let members leave; an answer for each."""
        if self.consumers.has_members(group):
            return self.consumers.leave(group, members)
        held = self._groups.get(group)
        if held is None:
            return [ErrorCode.UNKNOWN_MEMBER_ID for _ in members]
        held, errors = leave(held, members, self._now_ms())
        self._keep(group, held)
        return errors

    async def consumer_heartbeat(
        self,
        group: str,
        request: ConsumerHeartbeat,
        find: FindTopics,
        create: Callable[[], Awaitable[ErrorCode]],
    ) -> HeartbeatAnswer:
        """Answer a heartbeat of KIP-848; ``create`` puts the group into the store."""
        with self._arrival(group):
            if request.epoch == 0 and not self.consumers.has_members(group):
                error = await create()
                if error is not ErrorCode.NONE:
                    return HeartbeatAnswer(error=error)
            self._loop = asyncio.get_running_loop()
            classic, share = self._groups.get(group), self.shares.group(group)
            if classic is None and share is None:
                return self.consumers.heartbeat(group, request, find)
            if classic is None or request.epoch != 0:
                message = f"Group {group} is not a consumer group."
                return HeartbeatAnswer(error=ErrorCode.GROUP_ID_NOT_FOUND, message=message)
            return self._take_over(group, classic, request, find)

    async def in_share_group(
        self, group: str, create: Callable[[], Awaitable[ErrorCode]], change: Callable[[], T]
    ) -> T:
        """Change a share group, which ``create`` puts into the store if there is none.

        Raises:
            ShareError: it can't be created, or the group is of another type (69).
        """
        with self._arrival(group):
            self._loop = asyncio.get_running_loop()
            if self.shares.group(group) is None:
                error = await create()
                if error is not ErrorCode.NONE:
                    raise ShareError(error)
                if group in self._groups or self.consumers.group(group) is not None:
                    raise ShareError(ErrorCode.GROUP_ID_NOT_FOUND)
                self.shares.create(group)
            return change()

    def close(self) -> None:
        """Stop the timers, and leave those that wait without an answer."""
        self.consumers.close()
        self.shares.close()
        for timer in self._timers.values():
            timer.cancel()
        for future in self._waiting.values():
            future.cancel()

    def new_ticket(self) -> int:
        """A number for the answer to a request that may wait."""
        self._tickets += 1
        return self._tickets

    def _take_over(
        self, group: str, classic: Group, request: ConsumerHeartbeat, find: FindTopics
    ) -> HeartbeatAnswer:
        """Let a member of KIP-848 join a classic group, which becomes one of its kind."""
        upgrade = None
        if classic.state is not GroupState.EMPTY:
            try:
                upgrade = upgraded(group, classic, find, self._now_ms(), self.settings)
            except FencedError as error:
                return error.answer
        answer = self.consumers.heartbeat(group, request, find, upgrade)
        if answer.error is ErrorCode.NONE:
            self._hand_out(told_to_join_again(classic))
            self._remove(group)
        return answer

    def _downgrade(self, group: str, before: ModernGroup, after: ModernGroup) -> bool:
        if not may_be_downgraded(before, after, self.settings):
            return False
        self._keep(group, downgraded(before, after, self._now_ms()))
        return True

    @contextmanager
    def _arrival(self, group: str) -> Iterator[None]:
        """Keep the group from being deleted while somebody is about to join it."""
        self._arriving[group] += 1
        try:
            yield
        finally:
            self._arriving[group] -= 1
            if not self._arriving[group]:
                del self._arriving[group]

    def _waits_for(self, ticket: int) -> asyncio.Future[Answer]:
        self._loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting[ticket] = future
        return future

    async def _given(self, ticket: int, answer: asyncio.Future[Answer]) -> Answer:
        try:
            return await answer
        finally:
            del self._waiting[ticket]

    def _hand_out(self, group: Group) -> None:
        for ticket, answer in group.answers:
            future = self._waiting.get(ticket)
            if future is not None and not future.done():
                future.set_result(answer)

    def _remove(self, group: str) -> None:
        del self._groups[group]
        timer = self._timers.pop(group, None)
        if timer is not None:
            timer.cancel()

    def _keep(self, group: str, held: Group) -> None:
        """Hand out the step's answers, and wake up when something is due."""
        self._hand_out(held)
        self._groups[group] = replace(held, answers=()) if held.answers else held
        timer = self._timers.pop(group, None)
        if timer is not None:
            timer.cancel()
        deadline_ms = next_deadline_ms(held)
        if deadline_ms is not None:
            loop = asyncio.get_running_loop()
            self._timers[group] = loop.call_at(deadline_ms / 1000, self._expire, group)

    def _expire(self, group: str) -> None:
        held = self._groups.get(group)
        if held is not None:
            self._keep(group, expired(held, self._now_ms(), self.settings))

    def _keep_alive(self, group: str, member_id: str) -> None:
        held = self._groups.get(group)
        if held is not None:
            self._keep(group, kept_alive(held, member_id, self._now_ms()))

    def _forget(self, group: str) -> None:
        held = self._groups.get(group)
        if held is not None and held.state is GroupState.EMPTY and not held.pending:
            self._remove(group)
        self.consumers.forget(group)
        self.shares.forget(group)

    def _soon(self, change: Callable[[], None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(change)

    def _now_ms(self) -> int:
        """Milliseconds of the event loop's clock, rounded up, so that no timer comes too early."""
        return -int(-asyncio.get_running_loop().time() * 1000 // 1)
