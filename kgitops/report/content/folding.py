"""Many changes in few lines: equal ones together, many of a kind by the prefix of their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from kgitops.model.resources.object_names import object_name
from kgitops.plan.document.plan import Action, Change
from kgitops.report.content.details import Detail, shared_details
from kgitops.report.content.sections import Section, never_folded, symbol

FOLD_ABOVE = 20
_ALIKE = 3
_PATTERNS = 12
_TOKENS = re.compile(r"[^._\-/ ]*[._\-/ ]?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Changes shown together.

    One change stands alone with its own details. Several that are alike share their details and
    are either listed by name or, where ``patterns`` says so, counted by prefix.
    """

    changes: tuple[Change, ...]
    shared: tuple[Detail, ...] = ()
    patterns: tuple[str, ...] = ()


class Grouping(Enum):
    """How far changes are put together: each alone, alike ones together, or many counted."""

    ALONE = auto()
    ALIKE = auto()
    FOLDED = auto()


def blocks(section: Section, grouping: Grouping) -> tuple[Block, ...]:
    """A section's changes, each in exactly one block."""
    if grouping is Grouping.ALONE:
        return tuple(Block(changes=(change,)) for change in section.changes)
    many = grouping is Grouping.FOLDED and len(section.changes) > FOLD_ABOVE
    found: list[Block] = []
    rest: list[Change] = []
    for alike in _alike(section.changes):
        foldable = many and not any(map(never_folded, alike))
        shared = shared_details(alike[0])
        if len(alike) < _ALIKE or not (shared or foldable):
            single = [change for change in alike if not many or never_folded(change)]
            found += [Block(changes=(change,)) for change in single]
            rest += [change for change in alike if many and not never_folded(change)]
        elif alike[0].actions == (Action.CREATE,) and foldable:
            rest += alike
        else:
            patterns = name_patterns(alike) if foldable else ()
            found.append(Block(changes=tuple(alike), shared=shared, patterns=patterns))
    return (*found, *_folded(rest, section))


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
    found = [Block(changes=(change,)) for change in shown]
    kinds: dict[object, list[Change]] = {}
    for change in rest[len(shown) :]:
        kinds.setdefault((change.kind, symbol(change)), []).append(change)
    found += [
        Block(changes=tuple(group), patterns=name_patterns(group)) for group in kinds.values()
    ]
    return found


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
