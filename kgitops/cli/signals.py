"""The first SIGINT or SIGTERM lets the request on its way finish; a second stops at once."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Remembers the first signal; callable as ``interrupted``."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> int | None:
        """The signal that asked the run to end, or None."""
        return self.signal

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Note the first; let a second one end the process, the journal stands either way."""
        del frame
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            return
        self.signal = number
        print(
            "kgitops: finishing the request on its way, then stopping; again to stop at once",
            file=sys.stderr,
        )


@contextmanager
def graceful() -> Iterator[Interrupts]:
    """Within this block signals are noted instead of raised."""
    interrupts = Interrupts()
    before = {
        number: signal.signal(number, interrupts.receive)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
