"""Telling a user's Ctrl-C from a policy that raises whatever it likes."""

import signal


def is_interrupt(error: BaseException) -> bool:
    """Whether a person asks this process to stop; where Ctrl-C is ignored, nobody can have."""
    return (
        isinstance(error, KeyboardInterrupt)
        and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )
