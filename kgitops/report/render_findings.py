"""Findings as lines for a person and an editor, and as JSON."""

from collections.abc import Sequence

from kgitops.model.registry import Json
from kgitops.model.source import Finding
from kgitops.plan.plan_json import finding_to_json
from kgitops.report.ink import Line, ink
from kgitops.report.units import counted


def render_findings(findings: Sequence[Finding]) -> str:
    """``FILE:LINE:COLUMN: what is wrong; what to do``, one a line, and how many there are."""
    ordered = sorted(findings, key=lambda finding: finding.sort_key)
    lines: list[Line] = [[str(finding)] for finding in ordered]
    return ink([*lines, [f"{counted(len(ordered), 'finding')}."]], colour=False, ascii_only=False)


def findings_to_json(findings: Sequence[Finding]) -> list[dict[str, Json]]:
    """The findings in the order of their places."""
    ordered = sorted(findings, key=lambda finding: finding.sort_key)
    return [finding_to_json(finding) for finding in ordered]
