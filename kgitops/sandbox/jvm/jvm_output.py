"""What a JVM said, on one line."""

import re

_LINES = 3


def first_words(said: str) -> str:
    """The first lines of what a tool printed: it names its error before it explains itself."""
    return _joined(_told(said)[:_LINES])


def last_words(log: str) -> str:
    """The last lines of a log."""
    return _joined(_told(log)[-_LINES:])


def _told(said: str) -> list[str]:
    """The lines that are no stack trace."""
    lines = (line.strip() for line in said.splitlines())
    return [line for line in lines if line and not re.match(r"at .*\(|\.\.\. \d+ more", line)]


def _joined(lines: list[str]) -> str:
    return " / ".join(lines) or "it said nothing"
