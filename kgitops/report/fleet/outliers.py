"""Units that are far from the rest of their fleet, measured against its median.

On most nights most clusters don't change. So the median is that of the units that have any of what
is measured, or every cluster that changes would stand out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_low

from kgitops.fleet.summary import UnitSummary
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.report.fleet.history import denied_count, drift_count

FEWEST_UNITS = 5
"""Fewer units are no fleet: their median says nothing."""
LEAST = 10
"""What counts as much, however little the others have."""
FEW = 10
"""Where fewer than one of this many have any, the median is that of all: nothing."""
TIMES = 5
"""How many times the median an outlier has at least."""

MEASURES: tuple[tuple[str, Callable[[UnitSummary], int]], ...] = (
    ("changes", lambda unit: unit.change_count),
    ("drifted", drift_count),
    ("denied", denied_count),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One measure of a unit, and what half of the fleet does not exceed."""

    measure: str
    count: int
    median: int

    @property
    def stands_out(self) -> bool:
        """Whether this is what makes the unit an outlier."""
        return self.count >= LEAST and self.count >= TIMES * self.median

    @property
    def times(self) -> float:
        """How far out it is; beside a median of nothing, as beside one."""
        return self.count / max(self.median, 1) if self.stands_out else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A unit with all of its measures; ``level`` is the worst of its changes, None without any."""

    unit: UnitSummary
    level: RiskLevel | None
    marks: tuple[Mark, ...]

    @property
    def loud(self) -> tuple[Mark, ...]:
        """The measures that stand out."""
        return tuple(mark for mark in self.marks if mark.stands_out)


def outliers(units: Sequence[UnitSummary]) -> tuple[Outlier, ...]:
    """Those that stand out in a measure, the farthest first; of equals the worse level first."""
    planned = [unit for unit in units if unit.planned]
    if len(planned) < FEWEST_UNITS:
        return ()
    medians = [_typical([count(unit) for unit in planned]) for _, count in MEASURES]
    found = [_outlier(unit, medians) for unit in planned]
    return tuple(sorted((each for each in found if each.loud), key=_order))


def worst_level(unit: UnitSummary) -> RiskLevel | None:
    """The worst level of the unit's changes."""
    return next((level for level in RISK_LEVELS if unit.levels.get(level)), None)


def _typical(counts: Sequence[int]) -> int:
    """The median of those that have any; where hardly any has, having some is not typical."""
    some = [count for count in counts if count]
    few = len(some) < FEWEST_UNITS or len(some) * FEW < len(counts)
    return median_low(counts if few else some)


def _outlier(unit: UnitSummary, medians: Sequence[int]) -> Outlier:
    return Outlier(
        unit=unit,
        level=worst_level(unit),
        marks=tuple(
            Mark(measure=name, count=count(unit), median=median)
            for (name, count), median in zip(MEASURES, medians, strict=True)
        ),
    )


def _order(found: Outlier) -> tuple[float, int, str]:
    level = len(RISK_LEVELS) if found.level is None else RISK_LEVELS.index(found.level)
    return -max(mark.times for mark in found.marks), level, found.unit.name
