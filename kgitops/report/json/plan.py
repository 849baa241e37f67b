"""A plan as JSON: what a saved plan holds, without the envelope where it has none."""

from kgitops.model.json.layout import json_text
from kgitops.plan.document.file import SealedPlan, plan_digest, to_text
from kgitops.plan.document.plan import Plan
from kgitops.plan.document.to_json import plan_to_json


def render_json(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """The file's text, or the plan with its digest alone."""
    if sealed is not None:
        return to_text(sealed)
    return json_text({**plan_to_json(plan), "plan_digest": plan_digest(plan)})
