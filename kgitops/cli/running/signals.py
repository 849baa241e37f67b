"""Signals that stop a run: at once before anything is sent, later after the request sent."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
_STDERR = 2
_STOPPING = b"kgitops: finishing the request on its way, then stopping; again to stop at once\n"


class InterruptedRunError(BaseException):
    """A signal came while no request was on its way.

    Like ``KeyboardInterrupt`` it is not an ``Exception``, so that nothing takes it for a failure.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop_on_signals() -> None:
    """Let signals raise :class:`InterruptedRunError`, except those that are ignored."""
    for number in handled_signals():
        signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise InterruptedRunError(number)


class Interrupts:
    """Remembers the first signal; callable as ``interrupted``."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> int | None:
        """The signal that asked the run to end, or None."""
        return self.signal

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal; a second one ends the process. The journal is complete anyway."""
        del frame
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            return
        self.signal = number
        # Not print(): a handler may run in the middle of one, and must not raise. Nor may it wait
        # for whoever reads stderr: that would be the end of the signal.
        with suppress(OSError):
            if select.select([], [_STDERR], [], 0)[1]:
                os.write(_STDERR, _STOPPING)


@contextmanager
def graceful() -> Iterator[Interrupts]:
    """Note signals instead of raising them, within a ``with`` block."""
    interrupts = Interrupts()
    before = {number: signal.signal(number, interrupts.receive) for number in handled_signals()}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def handled_signals() -> list[signal.Signals]:
    """The signals that are not ignored: a shell's background jobs ignore SIGINT, nohup SIGHUP."""
    return [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
