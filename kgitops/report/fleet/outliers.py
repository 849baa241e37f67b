"""Units that are far from the rest of their fleet, measured against its median.

In most runs most clusters don't change. So the median is that of the units with a count above zero;
otherwise every cluster that changes would stand out.
"""

from collections.abc import Callable, Sequence
from statistics import median_low

from msgspec import Struct

from kgitops.fleet.summary import UnitSummary
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.report.fleet.history import denied_count, drift_count

FEWEST_UNITS = 5
"""The fewest units with a meaningful median."""
LEAST = 10
"""The least count of an outlier, however little the others have."""
FEW = 10
"""If fewer than one in this many units has any, the median of all units counts: zero."""
TIMES = 5
"""The least multiple of the median that an outlier has."""

MEASURES: tuple[tuple[str, Callable[[UnitSummary], int]], ...] = (
    ("changes", lambda unit: unit.change_count),
    ("drifted", drift_count),
    ("denied", denied_count),
)


class Measurement(Struct, frozen=True, kw_only=True):
    """One measure of a unit, and what half of the fleet does not exceed."""

    measure: str
    count: int
    median: int

    @property
    def stands_out(self) -> bool:
        """True if this measure makes the unit an outlier."""
        return self.count >= LEAST and self.count >= TIMES * self.median

    @property
    def times(self) -> float:
        """The multiple of the median; a median of zero counts as one."""
        return self.count / max(self.median, 1) if self.stands_out else 0.0


class Outlier(Struct, frozen=True, kw_only=True):
    """A unit with all of its measures; ``level`` is the worst of its changes, None without any."""

    unit: UnitSummary
    level: RiskLevel | None
    measurements: tuple[Measurement, ...]

    @property
    def outstanding(self) -> tuple[Measurement, ...]:
        """The measures that stand out."""
        return tuple(measurement for measurement in self.measurements if measurement.stands_out)


def outliers(units: Sequence[UnitSummary]) -> tuple[Outlier, ...]:
    """Those that stand out in a measure, the farthest first; of equals the worse level first."""
    planned = [unit for unit in units if unit.planned]
    if len(planned) < FEWEST_UNITS:
        return ()
    medians = [_typical([count(unit) for unit in planned]) for _, count in MEASURES]
    candidates = [_outlier(unit, medians) for unit in planned]
    return tuple(sorted((each for each in candidates if each.outstanding), key=_order))


def worst_level(unit: UnitSummary) -> RiskLevel | None:
    """The worst level of the unit's changes."""
    return next((level for level in RISK_LEVELS if unit.levels.get(level)), None)


def _typical(counts: Sequence[int]) -> int:
    """The median of the counts above zero; of all counts if few are above zero."""
    some = [count for count in counts if count]
    few = len(some) < FEWEST_UNITS or len(some) * FEW < len(counts)
    return median_low(counts if few else some)


def _outlier(unit: UnitSummary, medians: Sequence[int]) -> Outlier:
    return Outlier(
        unit=unit,
        level=worst_level(unit),
        measurements=tuple(
            Measurement(measure=name, count=count(unit), median=median)
            for (name, count), median in zip(MEASURES, medians, strict=True)
        ),
    )


def _order(outlier: Outlier) -> tuple[float, int, str]:
    level = len(RISK_LEVELS) if outlier.level is None else RISK_LEVELS.index(outlier.level)
    return -max(measurement.times for measurement in outlier.measurements), level, outlier.unit.name
