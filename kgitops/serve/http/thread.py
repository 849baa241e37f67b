"""A listener in a thread of its own, for what has no event loop."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from kgitops.serve.http.listener import HttpListener

_ENDING_S = 10.0


@contextmanager
def in_thread(listener: HttpListener, name: str) -> Iterator[HttpListener]:
    """Let the listener answer while the ``with`` statement lasts.

    Raises:
        UnreachableError: it can't listen.
    """
    started: Future[asyncio.AbstractEventLoop] = Future()
    ended = asyncio.Event()

    async def run() -> None:
        try:
            await listener.start()
        except BaseException as error:  # noqa: BLE001 (it is raised where it is waited for)
            started.set_exception(error)
            return
        started.set_result(asyncio.get_running_loop())
        try:
            await ended.wait()
        finally:
            await listener.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name=name, daemon=True)
    thread.start()
    loop = started.result()
    try:
        yield listener
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(_ENDING_S)
