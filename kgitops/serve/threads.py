"""Work in threads, of which nothing is kept once nobody waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def in_thread(thread: Executor, function: Callable[[T], U], data: T) -> U:
    """The value of a function of the data.

    A thread keeps what it is to do until its turn. Data of a client that has gone by then is let go
    of at once: a client that comes and goes could else fill the memory while a decision takes long.
    """
    held = [data]
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, lambda: function(held[0]))
    finally:
        held.clear()
