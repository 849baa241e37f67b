"""The page ``docs/reference/risk-codes.md``, made from the risks; run this file to write it."""

from pathlib import Path

from kgitops.plan.document.risks import RISK_LEVELS, Risk, RiskLevel, all_risks
from kgitops.plan.topics.hazards import HAZARDS, Hazard

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "risk-codes.md"
_HAZARDS = (
    "A new topic with such a value has the risk KG135, and so has a change to one, unless the"
    " change has a worse risk. A change away from the harm is safe."
)
_MEANING = {
    RiskLevel.DATA_LOSS: "Records are lost, or may be. Nothing brings them back.",
    RiskLevel.ACCESS_LOSS: "Someone can no longer do what they could.",
    RiskLevel.DISRUPTIVE: "Clients or brokers notice; it can be undone.",
    RiskLevel.SAFE: "Nothing is lost and nobody is disturbed.",
}


def render_page() -> str:
    """Every code by level, worst first."""
    lines = [
        "# Risk codes",
        "",
        "Every change in a plan carries a code; with several, the worst leads. They are stable:",
        "policies, waivers and scripts may rely on them. This page is made from",
        "`kgitops/plan/document/risks.py` by `uv run python tests/plan/risk_codes_page.py`.",
    ]
    for level in RISK_LEVELS:
        lines += ["", f"## {level}", "", _MEANING[level], ""]
        lines += ["| code | name | what it means | safer |", "| --- | --- | --- | --- |"]
        lines += [_row(risk) for risk in all_risks() if risk.level is level]
    lines += ["", "## Values of topic configs that hurt", "", _HAZARDS, ""]
    lines += ["| config | KG135 for |", "| --- | --- |"]
    lines += [f"| `{key}` | {_decision(rated)} |" for key, rated in HAZARDS.items()]
    return "\n".join(lines) + "\n"


def _decision(rated: tuple[Hazard, ...] | str) -> str:
    if isinstance(rated, str):
        return f"no value: {rated}"
    texts = []
    for each in rated:
        start = f"`{each.equals}`: " if each.equals is not None else ""
        texts.append(start + each.because + ("" if each.where is None else _where(*each.where)))
    return "; ".join(texts)


def _where(key: str, word: str) -> str:
    return f" (where `{key}` has `{word}`)"


def _row(risk: Risk) -> str:
    return f"| {risk.code} | {risk.name} | {risk.text} | {risk.safer} |"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
