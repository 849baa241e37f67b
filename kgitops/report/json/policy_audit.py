"""An audit of policies as JSON."""

from typing import TYPE_CHECKING

from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.policy.evaluate.ruling import Ruling
from kgitops.workflow.policy_audit import AuditedObject, PolicyAudit

if TYPE_CHECKING:
    from kgitops.fleet.auditing import FleetAudit


def policy_audit_to_json(audit: PolicyAudit) -> str:
    """The audit as JSON text; keys may be added, none is ever renamed."""
    return json_text({"format_version": "1.0", "kind": "kgitops.policy_audit", **_audit(audit)})


def fleet_audit_to_json(audit: "FleetAudit") -> str:
    """The audits of a fleet as JSON text; ``reason`` says why a unit has none."""
    return json_text(
        {
            "format_version": "1.0",
            "kind": "kgitops.fleet_policy_audit",
            "units": [
                {
                    "project": unit.project,
                    "reason": unit.reason,
                    **({"cluster": unit.cluster} if unit.audit is None else _audit(unit.audit)),
                }
                for unit in audit.units
            ],
            "findings": [str(finding) for finding in audit.findings],
        }
    )


def _audit(audit: PolicyAudit) -> dict[str, Json]:
    return {
        "cluster": audit.cluster,
        "policies": audit.policies,
        "judged": audit.judged,
        "objects": [_object(item) for item in audit.objects],
    }


def _object(item: AuditedObject) -> Json:
    source = item.source
    return {
        "address": item.address,
        "owner": item.owner,
        "source": None
        if source is None
        else {"file": source.file, "line": source.line, "column": source.column},
        "policies": [_ruling(ruling) for ruling in item.rulings],
    }


def _ruling(ruling: Ruling) -> Json:
    return {
        "policy": ruling.policy,
        "level": ruling.level.value,
        "outcome": ruling.outcome.value,
        "message": ruling.message,
        "field": ruling.field,
    }
