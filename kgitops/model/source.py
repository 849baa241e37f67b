"""Places in the user's files, and the findings about them."""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Source(Struct, frozen=True, order=True):
    """The place of one scalar: ``line`` and ``column`` count from 1, as in editors."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Located(Protocol):
    """A declaration in a file that knows the place of each of its fields."""

    @property
    def source(self) -> Source:
        """The beginning of the declaration."""
        ...

    def at(self, *path: str | int) -> Source:
        """The place of the value under ``path``; the nearest parent's place if it is absent."""
        ...


class Severity(StrEnum):
    """The severity of a finding: an error stops the run."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Struct, frozen=True, kw_only=True):
    """One problem in one place, with advice on what to do about it."""

    source: Source | None
    problem: str
    advice: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        place = f"{self.source}: " if self.source else ""
        label = "warning: " if self.severity is Severity.WARNING else ""
        return f"{place}{label}{self.problem}; {self.advice}"

    @property
    def sort_key(self) -> tuple[str, int, int, str]:
        """File, line, column, problem: the order in which findings are shown."""
        source = self.source or Source("", 0, 0)
        return source.file, source.line, source.column, self.problem
