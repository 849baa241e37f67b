"""Exceptions that policies raise, described as text, and told apart from a user's Ctrl-C."""

import signal

from kgitops.policy.importing import line_of

MOST_CHARACTERS = 4_000
"""A longer message is cut."""


def describe_exception(error: BaseException) -> str:
    """``KeyError: 'x' at policies/naming.py line 7``."""
    name = type(error).__name__
    try:
        words = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException:  # noqa: BLE001 (its __str__ is the policy's code, too)
        words = "(its message can't be read)"
    at = line_of(error)
    return truncate(f"{name}: {words}" if words else name) + (f" at {at}" if at else "")


def truncate(text: str) -> str:
    """The text, its end left out where it is too long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS:,} more characters)"


def is_interrupt(error: BaseException) -> bool:
    """Whether a person asks this process to stop; where Ctrl-C is ignored, nobody can have."""
    return (
        isinstance(error, KeyboardInterrupt)
        and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )
