"""Replicas and bytes per broker before and after, of the topics that a plan touches."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from kgitops.model.registry import Json
from kgitops.model.resources.kinds import Kind
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Change, Plan
from kgitops.report.content.units import size

_MOST_BARS = 16
_MOST_ROWS = 500

Replicas = Sequence[Sequence[int]]


class Bar(Struct, frozen=True, kw_only=True):
    """A broker's two numbers as text, and as shares of the largest in percent."""

    broker: int
    before: str
    after: str
    change: str
    before_percent: str
    after_percent: str


class BrokerChart(Struct, frozen=True, kw_only=True):
    """``bars`` are those that change most where there are many; ``rows`` are all of them."""

    caption: str
    bars: tuple[Bar, ...]
    rows: tuple[Bar, ...]
    left_out: int


def replica_chart(plan: Plan) -> BrokerChart | None:
    """Replicas per broker; None where no replica comes, goes or moves."""
    topics = _topics(plan)
    if all(before == after for _, before, after in topics):
        return None
    before = _count(replicas for _, replicas, _ in topics)
    after = _count(replicas for _, _, replicas in topics)
    caption = (
        f"Replicas of the {counted(len(topics), 'topic')} that this plan touches, before and "
        "after it. What else the brokers hold is not part of a plan."
    )
    return _chart(before, after, caption, "{:,}".format)


def byte_chart(plan: Plan) -> BrokerChart | None:
    """Bytes per broker as far as the plan knows them; None where it knows none."""
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    measured = 0
    existing = [item for item in _topics(plan) if item[1]]
    for change, old, new in existing:
        held = _whole_number(change.impact.get("bytes"))
        if held is None:
            continue
        measured += 1
        share = held // len(old)
        # New partitions begin empty, so only those that were there hold bytes.
        for counter, replicas in ((before, old), (after, new[: len(old)])):
            for row in replicas:
                for broker in row:
                    counter[broker] += share
    if not any(before.values()):
        return None
    caption = (
        f"Bytes of {measured:,} of the {counted(len(existing), 'topic')} that exist and that this "
        "plan touches: only what may be hurt is measured. An estimate: a topic's bytes are taken "
        "to lie evenly on its partitions, and a shorter retention is not counted."
    )
    return _chart(before, after, caption, size)


def _topics(plan: Plan) -> list[tuple[Change, Replicas, Replicas]]:
    return [
        (change, _replicas(change.before), _replicas(change.after))
        for change in plan.changes
        if change.kind is Kind.TOPIC
    ]


def _replicas(view: Mapping[str, Json] | None) -> Replicas:
    """The assignment in a topic's view; nothing where it is not of its shape."""
    rows = (view or {}).get("assignments")
    if not isinstance(rows, list | tuple):
        return ()
    brokers = (broker for row in rows if isinstance(row, list | tuple) for broker in row)
    whole = all(isinstance(row, list | tuple) for row in rows)
    return rows if whole and all(type(broker) is int for broker in brokers) else ()


def _count(assignments: Iterable[Replicas]) -> Counter[int]:
    return Counter(broker for replicas in assignments for row in replicas for broker in row)


def _chart(
    before: Counter[int], after: Counter[int], caption: str, format_number: Callable[[int], str]
) -> BrokerChart:
    brokers = sorted(before.keys() | after.keys())
    most = max((*before.values(), *after.values()), default=0) or 1
    rows = {
        broker: _bar(broker, before[broker], after[broker], most, format_number)
        for broker in brokers
    }
    by_change = sorted(brokers, key=lambda broker: (-abs(after[broker] - before[broker]), broker))
    shown = sorted(by_change[:_MOST_BARS])
    if len(brokers) > len(shown):
        caption += f" Drawn are the {len(shown)} of {len(brokers):,} brokers that change most."
    return BrokerChart(
        caption=caption,
        bars=tuple(rows[broker] for broker in shown),
        rows=tuple(rows[broker] for broker in brokers[:_MOST_ROWS]),
        left_out=max(0, len(brokers) - _MOST_ROWS),
    )


def _bar(
    broker: int, before: int, after: int, most: int, format_number: Callable[[int], str]
) -> Bar:
    change = after - before
    sign = "+" if change > 0 else "-" if change < 0 else "±"
    return Bar(
        broker=broker,
        before=format_number(before),
        after=format_number(after),
        change=f"{sign}{format_number(abs(change))}",
        before_percent=f"{100 * before / most:.2f}",
        after_percent=f"{100 * after / most:.2f}",
    )


def _whole_number(value: Json) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
