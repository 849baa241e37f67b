"""Writes a plan as JSON (contract §6); the same plan gives the same JSON everywhere.

Derived values (summary, verdict, ``reason``, ``api``) are written for readers and never read back:
kgitops derives them again when it reads a plan, and compares them with those in the file.
"""

from collections.abc import Callable, Sequence

from orjson import Fragment

from kgitops import __version__
from kgitops.model.json.canonical import canonical_json, plain_json
from kgitops.model.json.objects import owner_to_json, source_to_json
from kgitops.model.json.requests import request_to_json
from kgitops.model.lowered import LoweringLine
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import api_name
from kgitops.model.source import Finding
from kgitops.model.verdict import reason_to_json, verdict_to_json
from kgitops.plan.document.plan import Action, Base, Change, Plan, PlannedRequest, Precondition
from kgitops.plan.document.policies_json import loaded_to_json, result_to_json

FORMAT_VERSION = "1.0"
PLAN_KIND = "kgitops.plan"
KEYS = (
    "format_version",
    "kind",
    "tool",
    "target",
    "desired",
    "base",
    "principal",
    "policies_loaded",
    "changes",
    "access_losses",
    "drift",
    "kept",
    "lowering",
    "warnings",
    "findings",
    "refusals",
    "partial",
    "allow_deletes",
    "managed_counts",
    "summary",
    "verdict",
)
"""The keys of a plan in their order; a file adds digest and envelope."""


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """Write the plan without digests and envelope, with its keys in the contract's order."""
    return {
        "format_version": FORMAT_VERSION,
        "kind": PLAN_KIND,
        "tool": {"version": __version__},
        "target": {
            "name": plan.target.name,
            "backend": plan.target.backend,
            "cluster_id": plan.target.cluster_id,
        },
        "desired": {
            "project": plan.desired.project,
            "identity": plan.desired.identity,
            "digest": plan.desired.digest,
            "git_sha": plan.desired.git_sha,
            "dirty": plan.desired.dirty,
        },
        "base": {"digest": plan.base.digest, "registry": _registry_to_json(plan.base)},
        "principal": plan.principal,
        "policies_loaded": [loaded_to_json(policy) for policy in plan.policies_loaded],
        "changes": [change_to_json(change) for change in plan.changes],
        "access_losses": [
            {
                "principal": loss.principal,
                "operation": loss.operation,
                "resource": loss.resource,
                "requester": loss.requester,
            }
            for loss in plan.access_losses
        ],
        "drift": [
            {
                "address": drift.address,
                "path": drift.path,
                "last_applied": drift.last_applied,
                "found": drift.found,
                "rule": drift.rule,
                **({} if drift.by is None else {"by": drift.by, "at": drift.at}),
            }
            for drift in plan.drift
        ],
        "kept": [{"address": kept.address, "rule": kept.rule} for kept in plan.kept],
        "lowering": [_line_to_json(line) for line in plan.lowering],
        "warnings": [finding_to_json(finding) for finding in plan.warnings],
        "findings": [finding_to_json(finding) for finding in plan.findings],
        "refusals": [reason_to_json(reason) for reason in plan.refusals],
        "partial": plan.partial,
        "allow_deletes": plain_json(plan.allow_deletes),
        "managed_counts": plain_json(plan.managed_counts),
        "summary": summary(plan),
        "verdict": verdict_to_json(plan.verdict),
    }


def summary(plan: Plan) -> dict[str, int]:
    """Count the changes, for the summary sentence, the JSON and the comment."""
    return {
        **{str(action): plan.count(action) for action in Action},
        "kept": len(plan.kept),
        "drift": len(plan.drift),
        "denied": sum(change.denied for change in plan.changes),
    }


def finding_to_json(finding: Finding) -> dict[str, Json]:
    """Write a finding, as plans and reports show it."""
    return {
        "source": source_to_json(finding.source),
        "problem": finding.problem,
        "advice": finding.advice,
        "severity": str(finding.severity),
    }


def change_to_json(change: Change) -> dict[str, Json]:
    """Write one change, as plans show it; the result shares nothing with the change.

    Raises:
        ValueError: it holds what canonical JSON can't carry exactly.
    """
    bodies = [request_to_json(planned.request) for planned in change.requests]
    return _change_to_json(change, plain_json, bodies)


def _as_it_is(value: Json) -> Json:
    return value


def _change_to_json(
    change: Change, plain: Callable[[Json], Json], bodies: Sequence[Json]
) -> dict[str, Json]:
    return {
        "address": change.address,
        "kind": str(change.kind),
        "actions": [str(action) for action in change.actions],
        **({"derived_from": list(change.derived_from)} if change.derived_from else {}),
        **({"labels": plain_json(change.labels)} if change.labels else {}),
        "reason": {
            "code": change.risk.code,
            "level": str(change.level),
            "because": change.because,
        },
        "risks": [risk.code for risk in change.risks],
        "source": source_to_json(change.source),
        "before": plain(change.before),
        "after": plain(change.after),
        "fields": [
            {
                "path": field.path,
                "before": field.before,
                "after": field.after,
                "code": field.risk.code if field.risk else None,
                "note": field.note,
            }
            for field in change.fields
        ],
        "impact": plain(change.impact),
        "ownership": {
            "before": _owner_to_json(change.owner_before, plain),
            "after": _owner_to_json(change.owner_after, plain),
        },
        "preconditions": [_precondition_to_json(item) for item in change.preconditions],
        "requests": list(map(_planned_request_to_json, change.requests, bodies)),
        "policies": [result_to_json(result) for result in change.policies],
    }


def bodies_of(change: Change) -> list[bytes]:
    """Return the canonical JSON of each request's body."""
    return [canonical_json(request_to_json(planned.request)) for planned in change.requests]


def change_bytes(change: Change, bodies: Sequence[bytes]) -> bytes:
    """Return the canonical JSON of one change, for a plan that is written in parts.

    ``bodies`` are those of its requests, so that they are serialized only once.

    Raises:
        ValueError: it holds what canonical JSON can't carry exactly.
    """
    return canonical_json(_change_to_json(change, _as_it_is, list(map(Fragment, bodies))))


def _line_to_json(line: LoweringLine) -> dict[str, Json]:
    return {
        "code": line.code,
        "grade": None if line.grade is None else str(line.grade),
        "virtual_cluster": line.virtual_cluster,
        "subject": line.subject,
        "reason": line.reason,
        "remedy": line.remedy,
    }


def _registry_to_json(base: Base) -> dict[str, Json] | None:
    if base.registry_topic_id is None or base.registry_offset is None:
        return None
    return {"topic_id": base.registry_topic_id, "offset": str(base.registry_offset)}


def _owner_to_json(owner: Owner | None, plain: Callable[[Json], Json]) -> dict[str, Json] | None:
    if owner is None:
        return None
    return {**owner_to_json(owner), "last_applied": plain(owner.last_applied)}


def _precondition_to_json(precondition: Precondition) -> dict[str, Json]:
    return {
        "object": precondition.object,
        "exists": precondition.exists,
        "topic_id": precondition.topic_id,
        "owner": precondition.owner,
        "fields": {key: precondition.fields[key] for key in sorted(precondition.fields)},
    }


def _planned_request_to_json(planned: PlannedRequest, body: Json) -> dict[str, Json]:
    return {
        "id": planned.id,
        "api": api_name(planned.request),
        "depends_on": list(planned.depends_on),
        "undoes": planned.undoes,
        "body": body,
        **({"physical": list(planned.physical)} if planned.physical else {}),
        "expects": _precondition_to_json(planned.expects),
        "validated": str(planned.validated),
    }
