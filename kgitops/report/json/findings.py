"""Findings about manifests, as JSON."""

from collections.abc import Mapping, Sequence

from kgitops.model.registry import Json
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason, decide, verdict_to_json
from kgitops.plan.document.to_json import finding_to_json


def findings_json(
    findings: Sequence[Finding],
    counts: Mapping[str, Mapping[str, int]],
    left: Mapping[str, str],
) -> dict[str, Json]:
    """``counts`` by cluster of what is declared where nothing is wrong; ``left`` says why not."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    reasons = [Reason(exit=ExitCode.ERROR, sentence=str(finding)) for finding in errors]
    return {
        "kind": "kgitops.validation",
        "valid": not errors,
        "clusters": {name: dict(found) for name, found in counts.items()},
        "left": dict(left),
        "findings": [finding_to_json(finding) for finding in findings],
        "verdict": verdict_to_json(decide(reasons, changes=False)),
    }
