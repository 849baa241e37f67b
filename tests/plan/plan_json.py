"""Plans from JSON that a test has changed."""

import json
from typing import Any

from kgitops.model.json.codec import decode
from kgitops.plan.document.documents import PlanDocument, read_plan_document
from kgitops.plan.document.file import SealedPlan, to_text
from kgitops.plan.document.plan import Plan


def plan_from_json(value: dict[str, Any]) -> Plan:
    """Read the plan that ``plan_to_json`` wrote."""
    return read_plan_document(decode(PlanDocument, json.dumps(value), "the plan"))


def sealed_to_json(sealed: SealedPlan) -> dict[str, Any]:
    """Return the whole file: the plan, its digest, the envelope."""
    document: dict[str, Any] = json.loads(to_text(sealed))
    return document
