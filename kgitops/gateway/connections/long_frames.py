"""Frames whose rewriting takes long: in a thread, one after the other, tenants in turn."""

import asyncio
import gc
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

Work = Callable[[], Any]
Done = Callable[["asyncio.Future[Any]"], None]


class LongFrames:
    """A thread for all connections of a process; one tenant's frames wait for each other.

    One thread: more of them would take the interpreter from the event loop, and no frame is faster.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "long-frames")
        self._waiting: dict[str | None, deque[tuple[Work, Done]]] = {}

    def run(self, tenant: str | None, work: Work, done: Done) -> None:
        """Do the work in the thread, then call ``done`` in the event loop with its future."""
        queue = self._waiting.get(tenant)
        if queue is not None:
            queue.append((work, done))
            return
        self._waiting[tenant] = deque()
        self._start(tenant, work, done)

    def _start(self, tenant: str | None, work: Work, done: Done) -> None:
        future = asyncio.get_running_loop().run_in_executor(self._threads, _without_gc, work)
        future.add_done_callback(partial(self._ended, tenant, done))

    def _ended(self, tenant: str | None, done: Done, future: "asyncio.Future[Any]") -> None:
        queue = self._waiting[tenant]
        if queue:
            self._start(tenant, *queue.popleft())
        else:
            del self._waiting[tenant]
        done(future)


def _without_gc(work: Work) -> object:
    """Do the work without the garbage collector.

    Of a frame with many values it would look at all of them, again and again, and no thread runs
    meanwhile. The values have no cycles, so they go without it.
    """
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()
