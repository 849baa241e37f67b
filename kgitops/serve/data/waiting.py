"""Fetches that wait for records, and the writes that wake them."""

import asyncio
from collections.abc import Iterable

from kgitops.cluster.embedded.store.batches import PartitionKey


class WaitingFetches:
    """Wakes those who wait in the event loop, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[PartitionKey, set[asyncio.Event]] = {}

    async def wait(self, keys: Iterable[PartitionKey], seconds: float) -> None:
        """Wait until one of the partitions changes, or the time is up."""
        self._loop = asyncio.get_running_loop()
        keys = tuple(keys)
        event = asyncio.Event()
        for key in keys:
            self._waiting.setdefault(key, set()).add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            for key in keys:
                events = self._waiting.get(key, set())
                events.discard(event)
                if not events:
                    self._waiting.pop(key, None)

    def wake(self, keys: Iterable[PartitionKey]) -> None:
        """Tell that these partitions have changed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, tuple(keys))

    def _wake(self, keys: tuple[PartitionKey, ...]) -> None:
        for key in keys:
            for event in self._waiting.get(key, ()):
                event.set()
