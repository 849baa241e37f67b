"""Findings as lines for a person and an editor."""

from collections.abc import Sequence

from kgitops.model.source import Finding
from kgitops.model.wording import counted
from kgitops.report.content.ink import Line, ink


def render_findings(findings: Sequence[Finding]) -> str:
    """``FILE:LINE:COLUMN: what is wrong; what to do``, one a line, and how many there are."""
    ordered = sorted(findings, key=lambda finding: finding.sort_key)
    lines: list[Line] = [[str(finding)] for finding in ordered]
    return ink([*lines, [f"{counted(len(ordered), 'finding')}."]], colour=False, ascii_only=False)
