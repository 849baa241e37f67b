"""Exceptions that policies raise, described as text, and told apart from a user's Ctrl-C."""

import signal

from kgitops.policy.importing import line_of

MOST_CHARACTERS = 4_000
"""A longer message is truncated."""


def describe_exception(error: BaseException) -> str:
    """Describe an exception as ``KeyError: 'x' at policies/naming.py line 7``."""
    name = type(error).__name__
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException:  # noqa: BLE001 (its __str__ is the policy's code, too)
        message = "(its message can't be read)"
    line = line_of(error)
    return truncate(f"{name}: {message}" if message else name) + (f" at {line}" if line else "")


def truncate(text: str) -> str:
    """The text, without its end where it is too long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS:,} more characters)"


def is_interrupt(error: BaseException) -> bool:
    """True if a person asks this process to stop, which is impossible where Ctrl-C is ignored."""
    return (
        isinstance(error, KeyboardInterrupt)
        and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )
