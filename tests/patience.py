"""One way to wait for threads, processes and brokers, as patient as the machine is busy.

A wait ends as soon as it can, so its patience costs nothing but where a test fails.
"""

import os
from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_S = 180
_MOST_TIMES = 10
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _GROWTH = 0.001, 0.05, 1.3
_MOST_SHOWN = 4000


def eventually(
    look: Callable[[], Found], holds: Callable[[Found], object] = bool, *, what: str
) -> Found:
    """Look again and again; return the first look that ``holds``.

    ``what`` is what is waited for. ``look`` may raise, to give up at once.

    Raises:
        AssertionError: patience has ended; with the last look.
    """
    __tracebackhide__ = True
    waiting = _Waiting(what)
    while not holds(found := look()):
        sleep(waiting.pause_s(found))
    return found


async def eventually_async(
    look: Callable[[], Found], holds: Callable[[Found], object] = bool, *, what: str
) -> Found:
    """Do the same in a loop of events, which goes on meanwhile."""
    import asyncio  # a paused apply waits without it, and starts in five sixths of the time

    __tracebackhide__ = True
    waiting = _Waiting(what)
    while not holds(found := look()):
        await asyncio.sleep(waiting.pause_s(found))
    return found


def patience_s() -> float:
    """Three minutes, and so many times more as there are processes for each core."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return PATIENCE_S * min(max(load, 1), _MOST_TIMES)


class _Waiting:
    """One wait: it looks often at first, then less often."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = monotonic()
        self._pause_s = _FIRST_PAUSE_S

    def pause_s(self, found: object) -> float:
        """How long to wait before the next look; the load may have grown since the first."""
        __tracebackhide__ = True
        if monotonic() - self._begun > (patience := patience_s()):
            shown = repr(found)
            if len(shown) > _MOST_SHOWN:
                begin, end = shown[: _MOST_SHOWN // 2], shown[-_MOST_SHOWN // 2 :]
                shown = f"{begin} … {end} ({len(shown)} characters)"
            raise AssertionError(f"not within {patience:.0f} s: {self._what}; last seen: {shown}")
        self._pause_s = min(self._pause_s * _GROWTH, _LONGEST_PAUSE_S)
        return self._pause_s
