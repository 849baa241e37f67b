"""Patterns of names as policies write them: ``*`` stands for any text, ``?`` for one character."""

import re
from collections.abc import Iterable


class Patterns:
    """A set of patterns; ``"orders" in patterns`` where one matches the whole name."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.texts = tuple(patterns)
        self._all = "*" in self.texts
        self._regex = re.compile("|".join(map(_regex, self.texts)) or "(?!)", re.DOTALL)

    def __contains__(self, name: str) -> bool:
        return self._all or self._regex.fullmatch(name) is not None

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __str__(self) -> str:
        return ", ".join(self.texts)


def _regex(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
