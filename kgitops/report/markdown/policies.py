"""The policies' part of a comment: denials and waivers have a line at every depth."""

from collections.abc import Iterator
from datetime import date
from enum import IntEnum

from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    ViolationGroup,
    ViolationRow,
    group_heading,
    remedy,
    tally,
    today_of,
    waiver_sentence,
)
from kgitops.report.content.sections import FOLD_ABOVE, name_patterns

_KEPT = (PolicyStatus.DENIED, PolicyStatus.WAIVED)


class Depth(IntEnum):
    """The depths at which a piece of a comment can be shown."""

    FULL = 0
    ROWS = 1
    COUNT = 2


def policy_variants(
    plan: Plan, groups: tuple[ViolationGroup, ...], sealed: SealedPlan | None, *, tallied: bool
) -> dict[Depth, tuple[str, ...]]:
    """The lines of ``groups``, some of the plan's groups, at each depth; none where it is empty.

    Where ``tallied`` the last line is the tally of all policies of the plan.
    """
    today = today_of(sealed)
    if not groups:
        return dict.fromkeys(Depth, ())
    ending = (f"# {tally(plan, today)}",) if tallied else ()
    return {depth: (*_lines(groups, today, depth), *ending) for depth in Depth}


def _lines(groups: tuple[ViolationGroup, ...], today: date | None, depth: Depth) -> Iterator[str]:
    for group in groups:
        mark = "!" if group.status is PolicyStatus.DENIED else "#"
        yield f"{mark} {group_heading(group)}"
        few = depth is Depth.FULL and len(group.rows) <= FOLD_ABOVE
        if few or group.status in _KEPT:
            yield from _violations(group, mark, today)
        else:
            yield from _shortened(group, mark, depth)
        do = remedy(group)
        if do and group.status is not PolicyStatus.WAIVED and depth is not Depth.COUNT:
            yield f"      {do}"


def _violations(group: ViolationGroup, mark: str, today: date | None) -> Iterator[str]:
    for message, rows in group.by_message():
        if len(rows) == 1 or group.status is PolicyStatus.WAIVED:
            for row in rows:
                yield f"{mark}   {_placed(row)}: {message}"
                if row.result.waiver:
                    yield f"      {waiver_sentence(row.result.waiver, today)}"
            continue
        yield f"{mark}   {message}: {counted(len(rows), 'object')}"
        yield from (f"{mark}     {_placed(row)}" for row in rows)


def _shortened(group: ViolationGroup, mark: str, depth: Depth) -> Iterator[str]:
    """Advice gives way to what hurts: its objects by prefix, then none of them."""
    count = counted(len(group.rows), "object")
    if depth is Depth.COUNT:
        yield f"{mark}   {count}"
        return
    alike = list(group.by_message())
    for message, rows in alike[:FOLD_ABOVE]:
        names = ", ".join(name_patterns([row.change for row in rows]))
        yield f"{mark}   {message}: {names}"
    hidden = sum(len(rows) for _, rows in alike[FOLD_ABOVE:])
    if hidden:
        yield f"{mark}   and {hidden:,} more: kgitops show --full"


def _placed(row: ViolationRow) -> str:
    place = f" ({row.place})" if row.place else ""
    return f"{object_name(row.change.address)}{place}"
