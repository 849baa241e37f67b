"""A plan's changes in the order a reviewer needs them: what can hurt first, then by action."""

from collections.abc import Iterable
from dataclasses import dataclass

from kgitops.model.resources.object_names import object_name
from kgitops.plan.document.plan import Action, Change, Kind, Plan
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel

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
_KINDS = (
    Kind.VIRTUAL_CLUSTER,
    Kind.TOPIC,
    Kind.LINK,
    Kind.GROUP,
    Kind.BINDING,
    Kind.ACL,
    Kind.QUOTA,
    Kind.BROKER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Changes under one heading; every change of a plan stands in exactly one."""

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
    """How bad the worst change of the plan is; SAFE where there is none."""
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
    """Whether something is lost by this change: it deletes, or data or access goes."""
    return (
        change.level in (RiskLevel.DATA_LOSS, RiskLevel.ACCESS_LOSS)
        or Action.DELETE in change.actions
    )


def never_folded(change: Change) -> bool:
    """Whether every view must show this change on its own: it hurts, or a policy denies it."""
    return hurts(change) or change.denied


def _order(change: Change) -> tuple[bool, int, str]:
    kind = _KINDS.index(change.kind)
    return Action.DELETE not in change.actions, kind, object_name(change.address).name


def kind_word(changes: Iterable[Change]) -> str:
    """The kind's word for one of ``changes``, which are of one kind."""
    words = {object_name(change.address).kind for change in changes}
    return words.pop() if len(words) == 1 else "member"
