"""A plan's first line: what would be lost, counted and named, before anything else is said."""

from collections.abc import Callable

from kgitops.model.wording import counted
from kgitops.plan.document.losses import losses
from kgitops.plan.document.plan import Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.report.content.policy_rows import PolicyStatus, status_totals
from kgitops.report.content.safe_text import terminal_text


def first_words(plan: Plan, name: Callable[[str], str] = terminal_text) -> str:
    """The first line after the cluster's name: why the plan stops, and what it would lose.

    ``name`` makes a name safe in the format where the line stands.
    """
    found = [f"stops with exit {int(plan.verdict.exit)}"] if plan.verdict.stops else []
    denied = sum(change.denied for change in plan.changes)
    judged = {"denied": denied, "waived": status_totals(plan)[PolicyStatus.WAIVED]}
    found += [f"{word} ({count:,})" for word, count in judged.items() if count]
    lost = lost_words(plan, name)
    found += [lost] if lost else []
    return "; ".join(found) or ("nothing risky" if plan.changes else "no changes")


def lost_words(plan: Plan, name: Callable[[str], str] = terminal_text) -> str:
    """``3 topics are deleted: a, b, c; 4 rights are taken away: User:x``; empty without a risk.

    ``name`` makes a name safe in the format where the line stands.
    """
    felt = sum(change.level is RiskLevel.DISRUPTIVE for change in plan.changes)
    disruptive = f"{counted(felt, 'change')} {_is(felt)} disruptive" if felt else ""
    return "; ".join(filter(None, (losses(plan, name), disruptive)))


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
