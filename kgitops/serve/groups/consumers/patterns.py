"""Clients' patterns of topic names and transactional ids: regular expressions of RE2's kind.

They are matched by the engine of CEL policies, in a time that no pattern can make long.
"""

from functools import lru_cache
from typing import cast

_FILTER = "names.filter(name, name.matches(pattern))"
_LONGEST = 1000


class InvalidPatternError(Exception):
    """It is no regular expression."""


@lru_cache(maxsize=64)
def matching(pattern: str, names: frozenset[str]) -> frozenset[str]:
    """The names that the whole pattern matches.

    Raises:
        InvalidPatternError: it is no regular expression, or too long a one.
    """
    from kgitops.policy.cel import engine  # noqa: PLC0415 (few clients need it)

    if len(pattern) > _LONGEST:
        raise InvalidPatternError(f"SubscribedTopicRegex is longer than {_LONGEST} characters.")
    variables = {"names": sorted(names) or [""], "pattern": f"^(?:{pattern})$"}
    try:
        found = engine.evaluate(engine.compile_expression(_FILTER), variables)
    except engine.EvaluationError as error:
        raise InvalidPatternError(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression."
        ) from error
    return names.intersection(cast(list[str], found))
