"""Work that may take longer than anyone waits for it, such as resolving a name."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Attempt(Generic[T]):
    """``work`` in a thread of its own; what it brings after it was given up is discarded."""

    def __init__(
        self,
        work: Callable[[], T],
        discard: Callable[[T], None],
        done: "Callable[[Attempt[T]], None] | None" = None,
    ) -> None:
        self._discard = discard
        self._future: Future[T] = Future()
        if done is not None:
            self._future.add_done_callback(lambda _: done(self))

        def run() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 (it is raised where the result is read)
                self._future.set_exception(error)
            else:
                self._future.set_result(result)

        threading.Thread(target=run, name="kgitops-connect", daemon=True).start()

    def result(self, deadline: float) -> T:
        """What the work brought.

        Raises:
            TimeoutError: nothing by ``deadline``, in seconds of ``time.monotonic``.
        """
        try:
            return self._future.result(max(0.0, deadline - time.monotonic()))
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Nobody waits any more."""
        self._future.add_done_callback(self._drop)

    def _drop(self, future: Future[T]) -> None:
        if future.exception() is None:
            self._discard(future.result())
