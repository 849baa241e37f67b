"""Keeps the groups of KIP-848 and their timers; groups change in the event loop alone."""

import asyncio
from collections.abc import Callable, Sequence

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.classic_members import (
    classic_heartbeat,
    classic_join,
    classic_leave,
    classic_sync,
)
from kgitops.serve.groups.consumers.group import HeartbeatAnswer, ModernGroup
from kgitops.serve.groups.consumers.heartbeats import (
    ConsumerHeartbeat,
    FencedError,
    FindTopics,
    consumer_heartbeat,
)
from kgitops.serve.groups.consumers.reconciling import (
    next_consumer_deadline_ms,
    without_late_consumers,
)
from kgitops.serve.groups.expiring import Leaving
from kgitops.serve.groups.group import JoinAnswer, SyncAnswer
from kgitops.serve.groups.joining import Joining
from kgitops.serve.groups.settings import GroupSettings
from kgitops.serve.groups.syncing import Syncing


class ConsumerGroups:
    """The groups of KIP-848, by their physical ids."""

    def __init__(
        self,
        settings: GroupSettings,
        now_ms: Callable[[], int],
        downgrade: Callable[[str, ModernGroup, ModernGroup], bool],
    ) -> None:
        self._settings = settings
        self._now_ms = now_ms
        self._downgrade = downgrade
        """Makes a group, as it was before and is after a step, a classic one if it is to be one."""
        self._groups: dict[str, ModernGroup] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def group(self, group: str) -> ModernGroup | None:
        """The group of this physical id, if it is one of KIP-848."""
        return self._groups.get(group)

    def has_members(self, group: str) -> bool:
        """Return whether anyone is in the group."""
        held = self._groups.get(group)
        return held is not None and bool(held.members)

    def heartbeat(
        self,
        group: str,
        request: ConsumerHeartbeat,
        find: FindTopics,
        upgraded: ModernGroup | None = None,
    ) -> HeartbeatAnswer:
        """Answer a heartbeat; the first one of a group makes it, or takes over a classic group."""
        held = upgraded or self._groups.get(group)
        if held is None and request.epoch != 0:
            return HeartbeatAnswer(
                error=ErrorCode.GROUP_ID_NOT_FOUND, message=f"Group {group} not found."
            )
        try:
            held, answer = consumer_heartbeat(
                held or ModernGroup(), request, find, self._now_ms(), self._settings
            )
        except FencedError as error:
            return error.answer
        self._keep(group, held)
        return answer

    def join(self, group: str, request: Joining, find: FindTopics) -> JoinAnswer:
        """Answer JoinGroup in a group that has members."""
        changed, answer = classic_join(
            self._groups[group], request, find, self._now_ms(), self._settings
        )
        self._keep(group, changed)
        return answer

    def sync(self, group: str, request: Syncing) -> SyncAnswer:
        """Answer SyncGroup in a group that has members."""
        changed, answer = classic_sync(self._groups[group], request, self._now_ms())
        self._keep(group, changed)
        return answer

    def classic_heartbeat(
        self, group: str, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode:
        """Answer Heartbeat in a group that has members."""
        changed, error = classic_heartbeat(
            self._groups[group], member_id, instance_id, generation, self._now_ms()
        )
        self._keep(group, changed)
        return error

    def leave(self, group: str, members: Sequence[Leaving]) -> Sequence[ErrorCode]:
        """Answer LeaveGroup in a group that has members."""
        changed, errors = classic_leave(self._groups[group], members)
        self._keep(group, changed)
        return errors

    def check_commit(
        self, held: ModernGroup, member_id: str, epoch: int, *, transactional: bool = False
    ) -> ErrorCode:
        """The error of who may not commit offsets of the group now."""
        if epoch < 0 and (not held.members or (transactional and not member_id)):
            return ErrorCode.NONE
        return self.check_fetch(held, member_id, epoch)

    def check_fetch(self, held: ModernGroup, member_id: str | None, epoch: int) -> ErrorCode:
        """The error of who says that it is a member, and is not one of this epoch."""
        if member_id is None and epoch < 0:
            return ErrorCode.NONE
        member = held.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if member.epoch == epoch:
            return ErrorCode.NONE
        return ErrorCode.ILLEGAL_GENERATION if member.classic else ErrorCode.STALE_MEMBER_EPOCH

    def forget(self, group: str) -> None:
        """Forget a group without members: it was deleted, or becomes a classic one."""
        if group in self._groups and not self.has_members(group):
            del self._groups[group]

    def close(self) -> None:
        """Stop the timers."""
        for timer in self._timers.values():
            timer.cancel()

    def _keep(self, group: str, held: ModernGroup) -> None:
        before = self._groups.get(group)
        self._groups[group] = held
        timer = self._timers.pop(group, None)
        if timer is not None:
            timer.cancel()
        if before is not None and self._downgrade(group, before, held):
            del self._groups[group]
            return
        deadline_ms = next_consumer_deadline_ms(held)
        if deadline_ms is not None:
            loop = asyncio.get_running_loop()
            self._timers[group] = loop.call_at(deadline_ms / 1000, self._expire, group)

    def _expire(self, group: str) -> None:
        held = self._groups.get(group)
        if held is not None:
            self._keep(group, without_late_consumers(held, self._now_ms()))
