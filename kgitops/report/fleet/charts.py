"""The numbers behind a fleet's pictures, as shares of what is drawn."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from kgitops.fleet.summary import RunSummary
from kgitops.model import clock
from kgitops.model.resources.kinds import Kind
from kgitops.model.wording import counted
from kgitops.report.fleet.highlights import PolicyViolations
from kgitops.report.fleet.history import RunTotals
from kgitops.report.html.pieces import Segment, segments

MOST_CLUSTERS = 20
MOST_POLICIES = 12
_HEIGHT = 120
_EDGE = 8
_SIDE = 2.0
_CROWD = 40
_LEAST = 0.6
_OTHER = "other"
_TENANTS = "in virtual clusters"
_FAMILIES = {
    Kind.TOPIC: "topics",
    Kind.ACL: "ACLs",
    Kind.QUOTA: "quotas",
    Kind.USER: "users",
    Kind.VIRTUAL_CLUSTER: _TENANTS,
    Kind.LINK: _TENANTS,
    Kind.BINDING: _TENANTS,
    Kind.GROUP: _TENANTS,
}
"""Kinds as the picture tells them apart; what belongs to a virtual cluster is drawn as one."""

FAMILIES = {
    "topics": "topics",
    "ACLs": "acls",
    "quotas": "quotas",
    "users": "others",
    _TENANTS: "tenants",
    _OTHER: "others",
}
"""The name of a family, and its tone."""


class StackedBar(Struct, frozen=True, kw_only=True):
    """A name with its numbers as text and as parts of a bar, in percent of the longest."""

    name: str
    total: int
    text: str
    segments: tuple[Segment, ...]


class ClusterChart(Struct, frozen=True, kw_only=True):
    """Changes by cluster and kind; ``rest`` are the clusters without a bar."""

    bars: tuple[StackedBar, ...]
    tones: tuple[tuple[str, str], ...]
    rest: StackedBar | None
    rest_count: int


class Point(Struct, frozen=True, kw_only=True):
    """A run on a line: ``x`` in percent, ``y`` in pixels. ``whole``: every plan was made."""

    x: str
    y: str
    text: str
    whole: bool


class LineChart(Struct, frozen=True, kw_only=True):
    """One number over time."""

    name: str
    title: str
    summary: str
    points: tuple[Point, ...]
    ticks: tuple[str, ...]
    lines: tuple[str, ...]
    first: str
    last: str
    height: int
    radius: str
    holes: bool


def cluster_chart(run: RunSummary) -> ClusterChart | None:
    """The clusters with most changes; None where nothing changes."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for unit in run.units:
        for kind, count in unit.changes.items():
            counts[unit.cluster][_family(kind)] += count
    changed = {cluster: families for cluster, families in counts.items() if families.total()}
    if not changed:
        return None
    order = sorted(changed, key=lambda cluster: (-changed[cluster].total(), cluster))
    top, rest = order[:MOST_CLUSTERS], order[MOST_CLUSTERS:]
    longest = changed[top[0]].total()
    others = sum((changed[cluster] for cluster in rest), Counter[str]())
    used = {family for families in changed.values() for family in families}
    return ClusterChart(
        bars=tuple(_stacked(cluster, changed[cluster], longest) for cluster in top),
        tones=tuple((family, tone) for family, tone in FAMILIES.items() if family in used),
        rest=_stacked(counted(len(rest), "other cluster"), others, 0) if rest else None,
        rest_count=len(rest),
    )


def violation_bars(violations: Sequence[PolicyViolations]) -> tuple[StackedBar, ...]:
    """A bar for each policy, level and standing, the longest being the most violations."""
    longest = max((rule.count for rule in violations), default=0)
    return tuple(
        StackedBar(
            name=f"{rule.policy} ({rule.level})",
            total=rule.count,
            text=rule.text,
            segments=_parts([(str(rule.standing), rule.count)], longest),
        )
        for rule in violations[:MOST_POLICIES]
    )


def line_charts(runs: Sequence[RunTotals]) -> tuple[LineChart, ...]:
    """Drift, changes and denials over time; nothing where there is one run only."""
    if len(runs) < 2:
        return ()
    return (
        _line("drift", "Drift over time", runs, lambda run: run.drift),
        _line("change", "Changes over time", runs, lambda run: run.changes),
        _line("denial", "Denials over time", runs, lambda run: run.denied),
    )


def _family(kind: str) -> str:
    return next((family for name, family in _FAMILIES.items() if name == kind), _OTHER)


def _stacked(name: str, families: Mapping[str, int], longest: int) -> StackedBar:
    parts = [(family, families[family]) for family in FAMILIES if families.get(family)]
    return StackedBar(
        name=name,
        total=sum(families.values()),
        text=", ".join(_counted(count, family) for family, count in parts),
        segments=_parts([(FAMILIES[family], count) for family, count in parts], longest),
    )


def _counted(count: int, family: str) -> str:
    one = count == 1 and family != _TENANTS
    return f"{count:,} {family.removesuffix('s') if one else family}"


def _parts(parts: Sequence[tuple[str, int]], longest: int) -> tuple[Segment, ...]:
    """Parts one after the other; the smallest are made as wide as can be seen."""
    total = sum(count for _, count in parts)
    if not longest or not total:
        return ()
    whole = max(100 * total / longest, _LEAST * len(parts))
    return segments(parts, whole=whole, least=_LEAST, gap=0)


def _line(
    noun: str, title: str, runs: Sequence[RunTotals], count: Callable[[RunTotals], int]
) -> LineChart:
    counts = [count(run) for run in runs]
    top = _round_up(max(counts))
    times = [clock.from_text(run.created) for run in runs]
    points = tuple(
        Point(
            x=f"{_share(time, times):.2f}",
            y=f"{_y(number, top):.1f}",
            text=f"{_minute(run.created)}: {number:,}{_hole(run)}",
            whole=not run.failed,
        )
        for run, time, number in zip(runs, times, counts, strict=True)
    )
    return LineChart(
        name=noun,
        title=title,
        summary=f"{counts[-1]:,} in the latest of {len(runs):,} runs, {counts[0]:,} in the first, "
        f"between {min(counts):,} and {max(counts):,}.",
        points=points,
        ticks=(f"{top:,}", f"{top // 2:,}", "0"),
        lines=tuple(f"{_y(tick, top):.1f}" for tick in (top, top // 2, 0)),
        first=runs[0].created[:10],
        last=runs[-1].created[:10],
        height=_HEIGHT,
        radius="1.5" if len(runs) > _CROWD else "3",
        holes=any(run.failed for run in runs),
    )


def _share(time: datetime, times: Sequence[datetime]) -> float:
    """A moment's place between the first and the last, in percent, with room for its mark."""
    span = (times[-1] - times[0]).total_seconds()
    share = (time - times[0]).total_seconds() / span if span > 0 else 0.5
    return _SIDE + (100 - 2 * _SIDE) * share


def _y(count: int, top: int) -> float:
    return _EDGE + (_HEIGHT - 2 * _EDGE) * (1 - count / top)


def _round_up(most: int) -> int:
    """An even number with one digit that is not zero, or two: 2, 10, 80, 1,200."""
    if most <= 2:
        return 2
    step = max(2, int(f"1{'0' * (len(str(most)) - 1)}") // 5)
    return -(-most // step) * step


def _minute(created: str) -> str:
    return created[:16].replace("T", " ")


def _hole(run: RunTotals) -> str:
    return f", without {counted(run.failed, 'plan')}" if run.failed else ""
