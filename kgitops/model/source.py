"""Places in the user's files, and what is wrong there."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """One scalar's place: ``line`` and ``column`` count from 1, as editors do."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Located(Protocol):
    """Something declared in a file that can say where each of its fields stands."""

    @property
    def source(self) -> Source:
        """Where the declaration begins."""
        ...

    def at(self, *path: str | int) -> Source:
        """Where the value under ``path`` stands; the nearest parent's place where it is absent."""
        ...


class Severity(StrEnum):
    """Whether a finding stops the run."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to say about one place: what is wrong and what to do, once, in one sentence."""

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
        """File, line, column, words: the order in which findings are shown."""
        where = self.source or Source("", 0, 0)
        return where.file, where.line, where.column, self.problem
