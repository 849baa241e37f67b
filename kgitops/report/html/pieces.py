"""What the page is made of beside its rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgitops.plan.document.risks import RiskLevel
from kgitops.report.html.rows import Row
from kgitops.report.html.rulings import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A line of the plan's identity; ``code`` is to be copied."""

    label: str
    value: str
    more: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a bar: where it begins and how wide it is, in percent."""

    tone: str
    x: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many changes are of a level."""

    level: RiskLevel
    words: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A value that changes can be filtered by, and how many have it."""

    value: str
    words: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """Choices of one kind."""

    name: str
    legend: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A section's rows below its heading."""

    title: str
    level: RiskLevel
    open: bool
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyBar:
    """A policy's results in words and as a bar."""

    tally: Tally
    words: str
    segments: tuple[Segment, ...]


def segments(parts: Sequence[tuple[str, int]]) -> tuple[Segment, ...]:
    """Parts of a bar by their counts; what is very small is made wide enough to be seen."""
    least, gap = 2.0, 0.5
    room = 100 - gap * (len(parts) - 1) - least * len(parts)
    total, x, found = sum(count for _, count in parts), 0.0, []
    for tone, count in parts:
        width = least + room * count / total
        found.append(Segment(tone=tone, x=f"{x:.2f}", width=f"{width:.2f}"))
        x += width + gap
    return tuple(found)


def policy_bar(tally: Tally) -> PolicyBar:
    """The results of one policy."""
    found = [(str(each), count) for each, count in tally.counts if count]
    return PolicyBar(
        tally=tally,
        words=", ".join(f"{count:,} {each}" for each, count in found) or "nothing to judge",
        segments=segments(found),
    )
