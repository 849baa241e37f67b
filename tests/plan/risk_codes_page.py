"""The page ``docs/reference/risk-codes.md``, made from the risks; run this file to write it."""

from pathlib import Path

from kgitops.plan.document.risks import RISK_LEVELS, Risk, RiskLevel, all_risks

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "risk-codes.md"
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
    return "\n".join(lines) + "\n"


def _row(risk: Risk) -> str:
    return f"| {risk.code} | {risk.name} | {risk.text} | {risk.safer} |"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
