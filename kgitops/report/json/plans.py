"""A plan as JSON: what a saved plan holds, without the envelope where it has none."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from kgitops.apply.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Noted,
    RegistryUpgraded,
    StepDone,
    StepFailed,
    StepStarted,
    Waiting,
)
from kgitops.model.json.codec import to_json
from kgitops.model.registry import Json
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason, decide
from kgitops.plan.document.file import SealedPlan, to_text, unsealed_text
from kgitops.plan.document.plan import Plan


def render_json(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """The file's text, or the plan with its digest alone."""
    if sealed is not None:
        return to_text(sealed)
    return unsealed_text(plan)


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
        "clusters": {name: dict(objects) for name, objects in counts.items()},
        "left": dict(left),
        "findings": to_json(tuple(findings)),
        "verdict": to_json(decide(reasons, changes=False)),
    }


def event_to_json(event: Event) -> dict[str, Json]:
    """One object with a ``type``; new types and keys may be added, none is ever renamed."""
    match event:
        case ApplyStarted():
            return {
                "type": "apply_started",
                "run_id": event.run_id,
                "project": event.project,
                "planned": event.planned,
                "earlier": event.earlier,
                "resumed": event.resumed,
            }
        case StepStarted():
            return {"type": "step_started", **_step(event)}
        case StepDone():
            return {"type": "step_done", **_step(event)}
        case StepFailed():
            return {"type": "step_failed", **_step(event), "sentence": event.sentence}
        case Waiting():
            return {
                "type": "waiting",
                "reason": str(event.reason),
                "sentence": event.sentence,
                "steps": list(event.steps),
            }
        case Noted():
            return {
                "type": "note",
                "step": event.step,
                "address": event.address,
                "sentence": event.sentence,
            }
        case RegistryUpgraded():
            return {
                "type": "registry_upgraded",
                "before": event.before,
                "after": event.after,
                "sentence": event.sentence,
            }
        case ApplyFinished():
            return {
                "type": "apply_finished",
                "run_id": event.run_id,
                "done": event.done,
                "failed": event.failed,
                "not_attempted": event.not_attempted,
                "verdict": to_json(event.verdict),
            }
        case _:
            assert_never(event)


def _step(event: StepStarted | StepDone | StepFailed) -> dict[str, Json]:
    return {"step": event.step, "address": event.address, "api": event.api}
