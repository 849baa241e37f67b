"""The numbers behind a fleet's pictures, as shares of what is drawn."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kgitops.fleet.summary import RunSummary
from kgitops.model import clock
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Kind
from kgitops.report.fleet.highlights import Rule
from kgitops.report.fleet.history import Night
from kgitops.report.html.pieces import Segment

MOST_CLUSTERS = 20
MOST_RULES = 12
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
    _TENANTS: "tenants",
    _OTHER: "others",
}
"""The words of a family, and its tone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackedBar:
    """A name with its numbers in words and as parts of a bar, in percent of the longest."""

    name: str
    total: int
    words: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChart:
    """Changes by cluster and kind; ``rest`` are the clusters without a bar."""

    bars: tuple[StackedBar, ...]
    tones: tuple[tuple[str, str], ...]
    rest: StackedBar | None
    rest_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A run on a line: ``x`` in percent, ``y`` in pixels. ``whole``: every plan was made."""

    x: str
    y: str
    words: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """One number over time."""

    name: str
    title: str
    told: str
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
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for unit in run.units:
        for kind, count in unit.changes.items():
            found[unit.cluster][_family(kind)] += count
    changed = {cluster: families for cluster, families in found.items() if families.total()}
    if not changed:
        return None
    order = sorted(changed, key=lambda cluster: (-changed[cluster].total(), cluster))
    top, rest = order[:MOST_CLUSTERS], order[MOST_CLUSTERS:]
    longest = changed[top[0]].total()
    beside = sum((changed[cluster] for cluster in rest), Counter[str]())
    used = {family for families in changed.values() for family in families}
    return ClusterChart(
        bars=tuple(_stacked(cluster, changed[cluster], longest) for cluster in top),
        tones=tuple((words, tone) for words, tone in FAMILIES.items() if words in used),
        rest=_stacked(counted(len(rest), "other cluster"), beside, 0) if rest else None,
        rest_count=len(rest),
    )


def rule_bars(found: Sequence[Rule]) -> tuple[StackedBar, ...]:
    """A bar for each policy, level and standing, the longest being the most violations."""
    longest = max((rule.count for rule in found), default=0)
    return tuple(
        StackedBar(
            name=f"{rule.policy} ({rule.level})",
            total=rule.count,
            words=rule.words,
            segments=_parts([(str(rule.standing), rule.count)], longest),
        )
        for rule in found[:MOST_RULES]
    )


def line_charts(found: Sequence[Night]) -> tuple[LineChart, ...]:
    """Drift, changes and denials over time; nothing where there is one run only."""
    if len(found) < 2:
        return ()
    return (
        _line("drift", "Drift over time", found, lambda night: night.drift),
        _line("change", "Changes over time", found, lambda night: night.changes),
        _line("denial", "Denials over time", found, lambda night: night.denied),
    )


def _family(kind: str) -> str:
    return next((words for known, words in _FAMILIES.items() if known == kind), _OTHER)


def _stacked(name: str, families: Mapping[str, int], longest: int) -> StackedBar:
    parts = [(words, families[words]) for words in FAMILIES if families.get(words)]
    return StackedBar(
        name=name,
        total=sum(families.values()),
        words=", ".join(_counted(count, words) for words, count in parts),
        segments=_parts([(FAMILIES[words], count) for words, count in parts], longest),
    )


def _counted(count: int, words: str) -> str:
    one = count == 1 and words != _TENANTS
    return f"{count:,} {words.removesuffix('s') if one else words}"


def _parts(parts: Sequence[tuple[str, int]], longest: int) -> tuple[Segment, ...]:
    """Parts one after the other; the smallest are made as wide as can be seen."""
    total = sum(count for _, count in parts)
    if not longest or not total:
        return ()
    whole = max(100 * total / longest, _LEAST * len(parts))
    room = whole - _LEAST * len(parts)
    found, x = [], 0.0
    for tone, count in parts:
        width = _LEAST + room * count / total
        found.append(Segment(tone=tone, x=f"{x:.2f}", width=f"{width:.2f}"))
        x += width
    return tuple(found)


def _line(
    noun: str, title: str, found: Sequence[Night], count: Callable[[Night], int]
) -> LineChart:
    counts = [count(night) for night in found]
    top = _round_up(max(counts))
    times = [clock.from_text(night.created) for night in found]
    points = tuple(
        Point(
            x=f"{_share(time, times):.2f}",
            y=f"{_y(number, top):.1f}",
            words=f"{_minute(night.created)}: {number:,}{_hole(night)}",
            whole=not night.failed,
        )
        for night, time, number in zip(found, times, counts, strict=True)
    )
    return LineChart(
        name=noun,
        title=title,
        told=f"{counts[-1]:,} in the latest of {len(found):,} runs, {counts[0]:,} in the first, "
        f"between {min(counts):,} and {max(counts):,}.",
        points=points,
        ticks=(f"{top:,}", f"{top // 2:,}", "0"),
        lines=tuple(f"{_y(tick, top):.1f}" for tick in (top, top // 2, 0)),
        first=found[0].created[:10],
        last=found[-1].created[:10],
        height=_HEIGHT,
        radius="1.5" if len(found) > _CROWD else "3",
        holes=any(night.failed for night in found),
    )


def _share(time: datetime, times: Sequence[datetime]) -> float:
    """Where a moment stands between the first and the last, in percent, with room for its mark."""
    span = (times[-1] - times[0]).total_seconds()
    share = (time - times[0]).total_seconds() / span if span > 0 else 0.5
    return _SIDE + (100 - 2 * _SIDE) * share


def _y(count: int, top: int) -> float:
    return _EDGE + (_HEIGHT - 2 * _EDGE) * (1 - count / top)


def _round_up(most: int) -> int:
    """An even number with one digit that is no zero, or two: 2, 10, 80, 1,200."""
    if most <= 2:
        return 2
    step = max(2, int(f"1{'0' * (len(str(most)) - 1)}") // 5)
    return -(-most // step) * step


def _minute(created: str) -> str:
    return created[:16].replace("T", " ")


def _hole(night: Night) -> str:
    return f", without {counted(night.failed, 'plan')}" if night.failed else ""
