"""The parts of the page other than its rows: lists, bars, filters and violations."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Generic, TypeVar

from msgspec import Struct

from kgitops.model.resources.addresses import object_name
from kgitops.plan.document.plan import Change, LoadedPolicy, Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    group_heading,
    policy_status,
    remedy,
    violation_groups,
    waiver_sentence,
)

_FIRST, _MOST = 15, 1_000

T = TypeVar("T")
NOT_JUDGED = "not judged"


class Fact(Struct, frozen=True, kw_only=True):
    """A line of the plan's identity; ``code`` is to be copied."""

    label: str
    value: str
    more: str = ""
    code: bool = False


class Segment(Struct, frozen=True, kw_only=True):
    """A part of a bar: where it begins and how wide it is, in percent."""

    tone: str
    x: str
    width: str


class Share(Struct, frozen=True, kw_only=True):
    """The number of changes of a level."""

    level: RiskLevel
    words: str
    count: int


class FacetChoice(Struct, frozen=True, kw_only=True):
    """A value that changes can be filtered by, and how many have it."""

    value: str
    words: str
    count: int


class Facet(Struct, frozen=True, kw_only=True):
    """Choices of one kind."""

    name: str
    legend: str
    choices: tuple[FacetChoice, ...]


class PolicyBar(Struct, frozen=True, kw_only=True):
    """A policy's results in words and as a bar."""

    policy: LoadedPolicy
    words: str
    segments: tuple[Segment, ...]


def segments(
    parts: Sequence[tuple[str, int]], *, whole: float = 100, least: float = 2, gap: float = 0.5
) -> tuple[Segment, ...]:
    """Parts of a bar, in percent, by their counts; each is ``least`` wide, so that it is seen."""
    room = whole - gap * (len(parts) - 1) - least * len(parts)
    total, x, drawn = sum(count for _, count in parts), 0.0, []
    for tone, count in parts:
        width = least + room * count / total
        drawn.append(Segment(tone=tone, x=f"{x:.2f}", width=f"{width:.2f}"))
        x += width + gap
    return tuple(drawn)


def policy_bars(plan: Plan) -> Iterator[PolicyBar]:
    """Every policy that was loaded, those that deny most first."""
    counts: dict[str, Counter[PolicyStatus]] = defaultdict(Counter)
    for change in plan.changes:
        for result in change.policies:
            counts[result.policy][policy_status(result)] += 1
    *worse, _ = PolicyStatus
    for policy in sorted(
        plan.policies_loaded, key=lambda policy: [-counts[policy.name][status] for status in worse]
    ):
        results = [(str(status), counts[policy.name][status]) for status in PolicyStatus]
        results = [(status, count) for status, count in results if count]
        yield PolicyBar(
            policy=policy,
            words=", ".join(f"{count:,} {status}" for status, count in results)
            or "nothing to judge",
            segments=segments(results),
        )


class Limited(Struct, Generic[T], frozen=True, kw_only=True):
    """The first of many things, those that open below them, and how many neither shows."""

    first: tuple[T, ...]
    rest: tuple[T, ...]
    left_out: int
    total: int


def limited(items: Sequence[T], *, first: int = _FIRST) -> Limited[T]:
    """``items`` as far as a page can hold them."""
    return Limited(
        first=tuple(items[:first]),
        rest=tuple(items[first:_MOST]),
        left_out=max(0, len(items) - _MOST),
        total=len(items),
    )


class ViolationItem(Struct, frozen=True, kw_only=True):
    """A violation of the change at ``anchor``; ``waiver`` is empty where none lifts it."""

    anchor: str
    name: str
    place: str
    message: str
    waiver: str


class ViolationList(Struct, frozen=True, kw_only=True):
    """The violations of one policy that mean the same to a reviewer."""

    status: PolicyStatus
    headline: str
    remedy: str
    items: Limited[ViolationItem]


def statuses_of(change: Change) -> tuple[str, ...]:
    """The statuses of a change's results, worst first; passed only without any other."""
    statuses = {policy_status(result) for result in change.policies}
    if len(statuses) > 1:
        statuses.discard(PolicyStatus.PASSED)
    return tuple(str(status) for status in PolicyStatus if status in statuses) or (NOT_JUDGED,)


def violations(
    plan: Plan, anchors: Mapping[int, str], today: date | None
) -> Iterator[ViolationList]:
    """All of them, worst first; ``anchors`` are the changes' places by ``id()``."""
    for group in violation_groups(plan):
        waived = group.status is PolicyStatus.WAIVED
        yield ViolationList(
            status=group.status,
            headline=group_heading(group),
            remedy="" if waived else remedy(group),
            items=limited(
                [
                    ViolationItem(
                        anchor=anchors[id(row.change)],
                        name=str(object_name(row.change.address)),
                        place=str(row.place or ""),
                        message=row.message,
                        waiver=waiver_sentence(use, today) if (use := row.result.waiver) else "",
                    )
                    for row in group.rows
                ]
            ),
        )
