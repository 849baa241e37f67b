"""Clients' patterns of topic names and transactional ids: RE2, which Kafka's RE2J is a port of."""

from collections.abc import Iterable
from typing import Any

_LONGEST = 1000
_LARGEST_PROGRAM = 2000
_MEMORY_BYTES = 512 * 1024
"""Of one program and the states that it is run by."""


class InvalidPatternError(Exception):
    """It is no regular expression, or too large a one."""


class Re2Pattern:
    """A pattern that can be matched many times, each in a time that grows with the name alone.

    It is compiled as it is: put between other characters, it could end a group of these.
    """

    def __init__(self, pattern: str) -> None:
        """Compile it.

        Raises:
            InvalidPatternError: it is no regular expression, or too large a one.
        """
        self._program = _program(pattern)

    def matches(self, name: str | bytes) -> bool:
        """Tells if the whole pattern matches the whole name."""
        return self._program.fullmatch(name) is not None


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """The names that the whole pattern matches.

    Raises:
        InvalidPatternError: it is no regular expression, or too large a one.
    """
    return frozenset(filter(Re2Pattern(pattern).matches, names))


def _program(pattern: str) -> Any:  # noqa: ANN401 (the library has no types)
    import re2  # noqa: PLC0415 (few clients need it)

    if len(pattern) > _LONGEST:
        raise InvalidPatternError(f"SubscribedTopicRegex is longer than {_LONGEST} characters.")
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        program = re2.compile(pattern, options)
    except re2.error as error:
        raise InvalidPatternError(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression."
        ) from error
    finally:
        re2.purge()  # the library would keep the programs of all clients
    if program.programsize > _LARGEST_PROGRAM:
        raise InvalidPatternError(f"SubscribedTopicRegex `{pattern}` is too large.")
    return program
