"""The rules of a SARIF log: each policy, each risk that occurs, and kgitops's own."""

from collections.abc import Iterable
from enum import StrEnum

from kgitops.model.registry import Json
from kgitops.model.wording import shortened
from kgitops.plan.document.plan import LoadedPolicy, Plan
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.policy.evaluate.bundle import Level
from kgitops.report.content.policy_rows import what_to_do
from kgitops.report.content.safe_text import code_span, terminal_text

LONGEST = 1_000
"""GitHub takes no longer description; longer messages are shortened to the same length."""


class SarifLevel(StrEnum):
    """SARIF's levels of results."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Own(StrEnum):
    """Rules of kgitops itself, for results of neither a policy nor a risk code."""

    FINDING = "kgitops/finding"
    REFUSAL = "kgitops/refusal"
    WARNING = "kgitops/warning"
    ACCESS = "kgitops/access-lost"
    DRIFT = "kgitops/drift"


_OWN = {
    Own.FINDING: (
        SarifLevel.ERROR,
        "What the manifests ask for can't be done",
        "Each finding says what is wrong and what to do; nothing is applied until it is gone.",
    ),
    Own.REFUSAL: (
        SarifLevel.ERROR,
        "A safety rule refuses the plan",
        "Each refusal says what to do; nothing is applied until it is gone.",
    ),
    Own.WARNING: (
        SarifLevel.WARNING,
        "Something in the manifests deserves a look",
        "Each warning says what to do; the plan can be applied.",
    ),
    Own.ACCESS: (
        SarifLevel.WARNING,
        "Somebody loses a right",
        "After this plan a principal can no longer do something; add the narrower Allow first.",
    ),
    Own.DRIFT: (
        SarifLevel.NOTE,
        "Something was changed outside of kgitops",
        "The cluster differs from what was last applied; kgitops drift shows it object by object.",
    ),
}
_OF_POLICY = {
    Level.HARD: SarifLevel.ERROR,
    Level.SOFT: SarifLevel.ERROR,
    Level.ADVISORY: SarifLevel.WARNING,
}
_PROBLEM = {
    SarifLevel.ERROR: "error",
    SarifLevel.WARNING: "warning",
    SarifLevel.NOTE: "recommendation",
}
# GitHub fails a check at 7.0: what is lost or opened must be looked at, and may well be meant.
_SECURITY = {RiskLevel.DATA_LOSS: "6.5"}
_OPENED = {"KG202": "6.0", "KG204": "6.0"}


def severity_of_policy(level: Level) -> SarifLevel:
    """Error for what denies, warning for advice, else a note."""
    return _OF_POLICY.get(level, SarifLevel.NOTE)


def severity_of_risk(risk: Risk) -> SarifLevel:
    """Never an error: a reviewer may want just this."""
    lost = risk.level in (RiskLevel.DATA_LOSS, RiskLevel.ACCESS_LOSS)
    return SarifLevel.WARNING if lost else SarifLevel.NOTE


def policy_rules(plan: Plan) -> dict[str, Json]:
    """One rule for each loaded policy, and for each that only results name."""
    rules = {policy.name: _of_policy(policy) for policy in plan.policies_loaded}
    for change in plan.changes:
        for result in change.policies:
            if result.policy not in rules:
                missing = LoadedPolicy(name=result.policy, level=result.level, digest="")
                rules[result.policy] = _of_policy(missing)
    return rules


def risk_rules(risks: Iterable[Risk]) -> dict[str, Json]:
    """One rule for each risk code."""
    return {risk.code: _of_risk(risk) for risk in risks}


def own_rules(used: Iterable[Own]) -> dict[str, Json]:
    """The rules of kgitops itself that occur."""
    return {
        str(own): _rule(
            own,
            severity=_OWN[own][0],
            short=_OWN[own][1],
            full=_OWN[own][2],
            todo="",
            tags=["kafka"],
            markdown=_OWN[own][2],
        )
        for own in used
    }


def shown(text: str) -> str:
    """``text`` made harmless, bounded, and never empty: GitHub takes no empty string.

    Where a reader would make a link or a placeholder of it, it is escaped (SARIF 2.1.0, 3.11.5
    and 3.11.6).
    """
    safe = shortened(terminal_text(text), LONGEST).strip() or "(empty)"
    if "](" in safe:
        safe = safe.replace("[", r"\[").replace("]", r"\]")
    return safe.replace("{", "{{").replace("}", "}}") if _has_placeholder(safe) else safe


def _of_policy(policy: LoadedPolicy) -> dict[str, Json]:
    description = policy.description or f"The {policy.level} policy {policy.name}."
    todo = what_to_do(policy.name, policy.remediation)
    why, what = (code_span(shortened(text, LONGEST)) for text in (description, todo))
    return _rule(
        policy.name,
        severity=severity_of_policy(policy.level),
        short=description.partition(". ")[0],
        full=description,
        todo=todo,
        # Text of others is shown as code, where nothing is a link, a mention or HTML.
        markdown=f"{why}\n\n**What to do:** {what}",
        tags=["kafka", "policy", f"policy-{policy.level}"],
    )


def _of_risk(risk: Risk) -> dict[str, Json]:
    security = _OPENED.get(risk.code) or _SECURITY.get(risk.level)
    full = f"{risk.text[:1].upper()}{risk.text[1:]}."
    safer = f"{risk.safer[:1].upper()}{risk.safer[1:]}."
    rule = _rule(
        risk.code,
        severity=severity_of_risk(risk),
        short=f"{risk.name}: {risk.text}",
        full=full,
        todo=safer,
        markdown=f"{full}\n\n**Safer:** {safer}",
        tags=["kafka", "risk", str(risk.level), *(["security"] if security else [])],
    )
    rule["name"] = risk.name
    if security:
        rule["properties"]["security-severity"] = security
    return rule


def _rule(
    id_: str,
    *,
    severity: SarifLevel,
    short: str,
    full: str,
    todo: str,
    markdown: str,
    tags: list[str],
) -> dict[str, Json]:
    advice = f" What to do: {todo}" if todo else ""
    return {
        "id": shown(id_),
        "shortDescription": {"text": shown(short)},
        "fullDescription": {"text": shown(full)},
        "help": {"text": shown(f"{full}{advice}"), "markdown": markdown},
        "defaultConfiguration": {"level": str(severity)},
        "properties": {
            "tags": tags,
            "precision": "very-high",
            "problem.severity": _PROBLEM[severity],
        },
    }


def _has_placeholder(text: str) -> bool:
    return any(f"{{{digit}" in text for digit in "0123456789")
