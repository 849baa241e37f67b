"""What the policies say of a change and of the whole plan, for the page's lists and bars."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from kgitops.model.resources.object_names import object_name
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.document.policies import LoadedPolicy
from kgitops.report.content.policy_rows import (
    Standing,
    groups,
    headline,
    remedy,
    standing,
    waiver_sentence,
)
from kgitops.report.html.limits import Limited, limited

NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """A policy with how many of its results have each standing."""

    policy: LoadedPolicy
    counts: tuple[tuple[Standing, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A violation of the change at ``anchor``; ``waiver`` is empty where none lifts it."""

    anchor: str
    name: str
    place: str
    message: str
    waiver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """The violations of one policy that mean the same to a reviewer."""

    standing: Standing
    headline: str
    remedy: str
    items: Limited[Violation]


def standings_of(change: Change) -> tuple[str, ...]:
    """All that the change has, worst first; passed only where nothing else is."""
    found = {standing(result) for result in change.policies}
    if len(found) > 1:
        found.discard(Standing.PASSED)
    return tuple(str(each) for each in Standing if each in found) or (NOT_JUDGED,)


def tallies(plan: Plan) -> tuple[Tally, ...]:
    """Every policy that was loaded, those that deny most first."""
    counts: dict[str, Counter[Standing]] = {
        policy.name: Counter() for policy in plan.policies_loaded
    }
    for change in plan.changes:
        for result in change.policies:
            counts.setdefault(result.policy, Counter())[standing(result)] += 1
    found = [
        Tally(
            policy=policy,
            counts=tuple((each, counts[policy.name][each]) for each in Standing),
        )
        for policy in plan.policies_loaded
    ]
    return tuple(sorted(found, key=lambda tally: [-count for _, count in tally.counts[:-1]]))


def violations(plan: Plan, anchors: Mapping[int, str], today: date | None) -> Iterator[Violations]:
    """All of them, worst first; ``anchors`` are the changes' places by ``id()``."""
    for group in groups(plan):
        waived = group.standing is Standing.WAIVED
        yield Violations(
            standing=group.standing,
            headline=headline(group),
            remedy="" if waived else remedy(group),
            items=limited(
                [
                    Violation(
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
