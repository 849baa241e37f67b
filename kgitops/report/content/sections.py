"""A plan's changes in the order a reviewer needs them: what can hurt first, then by action."""

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from msgspec import Struct

from kgitops.model.resources.addresses import object_name
from kgitops.model.resources.kinds import Kind
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.report.content.details import Detail, shared_details

SYMBOLS = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.DELETE: "-",
    Action.ADOPT: ">",
    Action.FORGET: ".",
}
_RISKY = {
    RiskLevel.DATA_LOSS: "DATA LOSS",
    RiskLevel.ACCESS_LOSS: "ACCESS LOSS",
    RiskLevel.DISRUPTIVE: "DISRUPTIVE",
}
_SAFE = (Action.DELETE, Action.UPDATE, Action.ADOPT, Action.FORGET, Action.CREATE)
_KINDS = tuple(Kind)
FOLD_ABOVE = 20
_ALIKE = 3
_PATTERNS = 12
_TOKENS = re.compile(r"[^._\-/ ]*[._\-/ ]?")


class Section(Struct, frozen=True, kw_only=True):
    """Changes under one heading; every change of a plan is in exactly one."""

    title: str
    level: RiskLevel
    changes: tuple[Change, ...]


def sections(plan: Plan) -> tuple[Section, ...]:
    """Data loss, access loss, disruption, then what is safe by action; empty ones are left out."""
    by_heading: dict[tuple[RiskLevel, str], list[Change]] = {
        **{(level, title): [] for level, title in _RISKY.items()},
        **{(RiskLevel.SAFE, str(action).upper()): [] for action in _SAFE},
    }
    for change in plan.changes:
        title = _RISKY.get(change.level) or str(main_action(change)).upper()
        by_heading[change.level, title].append(change)
    return tuple(
        Section(title=title, level=level, changes=tuple(sorted(changes, key=_order)))
        for (level, title), changes in by_heading.items()
        if changes
    )


def worst_level(plan: Plan) -> RiskLevel:
    """The level of the plan's worst change; SAFE without any change."""
    return min(
        (change.level for change in plan.changes), key=RISK_LEVELS.index, default=RiskLevel.SAFE
    )


def main_action(change: Change) -> Action:
    """The action that a change is filed under: an adopted object that also differs is updated."""
    return next(action for action in _SAFE if action in change.actions)


def symbol(change: Change) -> str:
    """``+``, ``~``, ``-``, ``>``, ``.``; ``>~`` for an adopted object that also differs."""
    return "".join(SYMBOLS[action] for action in change.actions)


def hurts(change: Change) -> bool:
    """True if the change loses something: it deletes, or data or access goes."""
    return (
        change.level in (RiskLevel.DATA_LOSS, RiskLevel.ACCESS_LOSS)
        or Action.DELETE in change.actions
    )


def never_folded(change: Change) -> bool:
    """True if every view must show the change on its own: it hurts, or a policy denies it."""
    return hurts(change) or change.denied


def _order(change: Change) -> tuple[bool, int, str]:
    kind = _KINDS.index(change.kind)
    return Action.DELETE not in change.actions, kind, object_name(change.address).name


def kind_word(changes: Iterable[Change]) -> str:
    """The kind's word for one of ``changes``, which are of one kind."""
    kinds = {object_name(change.address).kind for change in changes}
    return kinds.pop() if len(kinds) == 1 else "member"


class Block(Struct, frozen=True, kw_only=True):
    """Changes shown together.

    A single change is shown with its own details. Several that are alike share their details and
    are either listed by name or, where ``patterns`` says so, counted by prefix.
    """

    changes: tuple[Change, ...]
    shared: tuple[Detail, ...] = ()
    patterns: tuple[str, ...] = ()


class Grouping(Enum):
    """The ways to show changes: each alone, alike ones together, or many only counted."""

    ALONE = auto()
    ALIKE = auto()
    FOLDED = auto()


def blocks(section: Section, grouping: Grouping) -> tuple[Block, ...]:
    """A section's changes, each in exactly one block."""
    if grouping is Grouping.ALONE:
        return tuple(Block(changes=(change,)) for change in section.changes)
    many = grouping is Grouping.FOLDED and len(section.changes) > FOLD_ABOVE
    result: list[Block] = []
    rest: list[Change] = []
    for alike in _alike(section.changes):
        foldable = many and not any(map(never_folded, alike))
        shared = shared_details(alike[0])
        if len(alike) < _ALIKE or not (shared or foldable):
            single = [change for change in alike if not many or never_folded(change)]
            result += [Block(changes=(change,)) for change in single]
            rest += [change for change in alike if many and not never_folded(change)]
        elif alike[0].actions == (Action.CREATE,) and foldable:
            rest += alike
        else:
            patterns = name_patterns(alike) if foldable else ()
            result.append(Block(changes=tuple(alike), shared=shared, patterns=patterns))
    return (*result, *_folded(rest, section))


def name_patterns(changes: Sequence[Change]) -> tuple[str, ...]:
    """``team-0.events.* (77)`` for names that share a prefix, whole names where there are few."""
    names = sorted({object_name(change.address).name for change in changes})
    if len(names) <= _PATTERNS:
        return tuple(names)
    groups = _by_prefix(names)
    shown = [
        prefix_names[0] if len(prefix_names) == 1 else f"{prefix}* ({len(prefix_names):,})"
        for prefix, prefix_names in groups[:_PATTERNS]
    ]
    others = sum(len(prefix_names) for _, prefix_names in groups[_PATTERNS:])
    return (*shown, f"{others:,} others") if others else tuple(shown)


def _alike(changes: Sequence[Change]) -> list[list[Change]]:
    groups: dict[object, list[Change]] = {}
    for change in changes:
        groups.setdefault(_signature(change), []).append(change)
    return list(groups.values())


def _signature(change: Change) -> object:
    # The details leave out what is too long to show, so the fields themselves count as well.
    shown = shared_details(change)
    return change.kind, change.actions, change.risks, change.denied, change.fields, shown


def _folded(rest: Sequence[Change], section: Section) -> list[Block]:
    """Too many to list: creations by kind, anything else after the first few."""
    creates = section.title == str(Action.CREATE).upper()
    shown = () if creates else tuple(rest[:FOLD_ABOVE])
    result = [Block(changes=(change,)) for change in shown]
    kinds: dict[object, list[Change]] = {}
    for change in rest[len(shown) :]:
        kinds.setdefault((change.kind, symbol(change)), []).append(change)
    result += [
        Block(changes=tuple(group), patterns=name_patterns(group)) for group in kinds.values()
    ]
    return result


def _by_prefix(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Names by the longest prefix of whole tokens that leaves few enough groups, largest first."""
    tokens = [_TOKENS.findall(name) for name in names]
    best: dict[str, list[str]] = {}
    for depth in range(1, max(map(len, tokens)) + 1):
        groups: dict[str, list[str]] = {}
        for name, parts in zip(names, tokens, strict=True):
            groups.setdefault("".join(parts[:depth]), []).append(name)
        if best and len(groups) > _PATTERNS:
            break
        best = groups
    return sorted(best.items(), key=lambda item: (-len(item[1]), item[0]))
