"""Memory of large frames under way, which all connections of a process share."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

LARGE_BYTES = 1024 * 1024
"""Frames up to this size take none, so that no large one ever holds up what is small."""
WAITING = 16
"""The reason not to read a socket that waits for memory, beside those of ``PauseReason``."""

_KEPT_PART = 4
"""The part of ``--max-memory`` for what is kept beside frames: a fourth."""
_TENANTS_PART = 4
"""The part of that for one tenant: a fourth."""

Admission = Callable[[int], bool]
"""Tells of a frame with so many bytes if it may be read now; else its side is stopped until then.
"""


class PausableSocket(Protocol):
    """A side that may be told to wait."""

    def pause_reading(self, reason: int) -> None:
        """Read no more, for this reason."""
        ...

    def resume_reading(self, reason: int) -> None:
        """This reason is gone."""
        ...


class FrameMemory:
    """The memory, and who waits for it, first come, first served."""

    def __init__(self, most: int) -> None:
        self.most = most
        """Bytes; 0: any."""
        self.used = 0
        self._waiting: deque[SideMemory] = deque()

    def take(self, side: "SideMemory", size: int) -> bool:
        """Set bytes aside for a frame; False if the side has to wait for them.

        A frame that is larger than all of it gets it alone.
        """
        waiting = self._waiting
        if (waiting and waiting[0] is not side) or (self.used and self.used + size > self.most):
            if side not in waiting:
                waiting.append(side)
            return False
        self.used += size
        if waiting:
            waiting.popleft()
            self._wake()
        return True

    def give_back(self, size: int) -> None:
        """Bytes are free again."""
        self.used -= size
        self._wake()

    def leave(self, side: "SideMemory") -> None:
        """A side waits no more."""
        if side in self._waiting:
            self._waiting.remove(side)
            self._wake()

    def _wake(self) -> None:
        if self._waiting:
            self._waiting[0].wake()


class KeptMemory:
    """The memory for what is kept while connections are open, a share of it for each tenant.

    It is apart from that of frames, which would wait forever for what no tenant gives back.
    """

    def __init__(self, most: int) -> None:
        self._most = most // _KEPT_PART
        self._used = 0
        self._by_tenant: dict[str, int] = {}

    @property
    def used(self) -> int:
        """The bytes that are kept now."""
        return self._used

    def change(self, tenant: str, size: int) -> bool:
        """Take bytes for a tenant, or give them back; False if there is no room for more."""
        of_tenant = self._by_tenant.get(tenant, 0) + size
        if size > 0 and (self._used + size > self._most or of_tenant > self._most // _TENANTS_PART):
            return False
        self._used += size
        if of_tenant:
            self._by_tenant[tenant] = of_tenant
        else:
            self._by_tenant.pop(tenant, None)
        return True


class SideMemory:
    """The memory of the large frame that one side has under way, if it has one."""

    __slots__ = ("_memory", "_side", "held")

    def __init__(self, memory: FrameMemory, side: PausableSocket) -> None:
        self._memory = memory
        self._side = side
        self.held = 0

    def admit(self, size: int) -> bool:
        """True if a frame of this size may be read now; else the side is stopped until it may."""
        if size <= LARGE_BYTES:
            return True
        if self._memory.take(self, size):
            self.held = size
            return True
        self._side.pause_reading(WAITING)
        return False

    def wake(self) -> None:
        """Ask again."""
        self._side.resume_reading(WAITING)

    def release(self) -> None:
        """The frame was handed on."""
        held, self.held = self.held, 0
        if held:
            self._memory.give_back(held)

    def close(self) -> None:
        """The side is gone."""
        self.release()
        self._memory.leave(self)


class ConnectionMemory:
    """The memory of both sides of a connection; of none if it is not limited."""

    __slots__ = ("_memory", "_sides")

    def __init__(self, memory: FrameMemory | None) -> None:
        self._memory = memory
        self._sides: dict[object, SideMemory] | None = None if memory is None else {}

    def of(self, side: PausableSocket) -> Admission | None:
        """The question whether the side may read a frame of a size; None if it always may."""
        if self._memory is None or self._sides is None:
            return None
        self._sides[side] = found = SideMemory(self._memory, side)
        return found.admit

    def release(self, side: object) -> None:
        """A frame of this side was handed on."""
        if self._sides is not None and side in self._sides:
            self._sides[side].release()

    def close(self) -> None:
        """The connection is gone."""
        for side in self._sides.values() if self._sides else ():
            side.close()
