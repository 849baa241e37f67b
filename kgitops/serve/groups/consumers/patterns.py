"""Clients' patterns of topic names and transactional ids: RE2, which Kafka's RE2J is a port of."""

from collections.abc import Iterable
from typing import Any

from kgitops.serve.patterns import InvalidPatternError, compile_pattern

_LONGEST = 1000
_LARGEST_PROGRAM = 2000


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
    if len(pattern) > _LONGEST:
        raise InvalidPatternError(f"SubscribedTopicRegex is longer than {_LONGEST} characters.")
    try:
        program = compile_pattern(pattern, capture=False)
    except InvalidPatternError as error:
        raise InvalidPatternError(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression."
        ) from error
    if program.programsize > _LARGEST_PROGRAM:
        raise InvalidPatternError(f"SubscribedTopicRegex `{pattern}` is too large.")
    return program
