"""A plan as JSON (contract §6), and back; the same plan gives the same JSON everywhere.

What is derived (summary, verdict, ``reason``, ``api``) is written for readers and never read back:
whoever reads a plan compares what it derives itself with what is written.
"""

from collections.abc import Mapping
from functools import cache

from kgitops import __version__
from kgitops.model.canonical_json import plain_json
from kgitops.model.capabilities import Validation
from kgitops.model.registry import Json, Owner
from kgitops.model.request_json import request_from_json, request_to_json
from kgitops.model.requests import api_name
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.strict_json import (
    ShapeError,
    array,
    boolean,
    choice,
    integer,
    integer_text,
    mapping,
    members,
    text,
    text_or_none,
)
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.plan import (
    AccessLoss,
    Action,
    Base,
    Change,
    Desired,
    Drift,
    FieldChange,
    Kept,
    Kind,
    Plan,
    PlannedRequest,
    Precondition,
    Target,
)
from kgitops.plan.risks import Risk, all_risks

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
"""The members of a plan, in the order they are written; a file adds digest and envelope."""

_CHANGE_KEYS = (
    "address",
    "kind",
    "actions",
    "reason",
    "risks",
    "source",
    "before",
    "after",
    "fields",
    "impact",
    "ownership",
    "preconditions",
    "requests",
    "policies",
)
_REQUEST_KEYS = ("id", "api", "depends_on", "body", "expects", "validated")


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """The plan without digests and envelope, its keys in the contract's order."""
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
        "policies_loaded": [],
        "changes": [_change_to_json(change) for change in plan.changes],
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
            }
            for drift in plan.drift
        ],
        "kept": [{"address": kept.address, "rule": kept.rule} for kept in plan.kept],
        "lowering": [],
        "warnings": [finding_to_json(finding) for finding in plan.warnings],
        "findings": [finding_to_json(finding) for finding in plan.findings],
        "refusals": [_reason_to_json(reason) for reason in plan.refusals],
        "partial": plan.partial,
        "allow_deletes": plain_json(plan.allow_deletes),
        "managed_counts": plain_json(plan.managed_counts),
        "summary": summary(plan),
        "verdict": {
            "exit": int(plan.verdict.exit),
            "reasons": [_reason_to_json(reason) for reason in plan.verdict.reasons],
        },
    }


def plan_from_json(value: Json) -> Plan:
    """The plan that ``plan_to_json`` wrote.

    Raises:
        ValueError: a key is missing or unknown, or a value is not of its type.
    """
    given = members(value, "the plan", KEYS)
    target = members(given["target"], "target", ("name", "backend", "cluster_id"))
    return Plan(
        target=Target(
            name=text(target["name"], "target.name"),
            backend=text(target["backend"], "target.backend"),
            cluster_id=text(target["cluster_id"], "target.cluster_id"),
        ),
        desired=_desired(given["desired"]),
        base=_base(given["base"]),
        principal=text(given["principal"], "principal"),
        changes=array(given["changes"], "changes", _change),
        access_losses=array(given["access_losses"], "access_losses", _access_loss),
        drift=array(given["drift"], "drift", _drift),
        kept=array(given["kept"], "kept", _kept),
        warnings=array(given["warnings"], "warnings", _finding),
        findings=array(given["findings"], "findings", _finding),
        refusals=array(given["refusals"], "refusals", _reason),
        partial=boolean(given["partial"], "partial"),
        allow_deletes=_counts(given["allow_deletes"], "allow_deletes"),
        managed_counts=_counts(given["managed_counts"], "managed_counts"),
    )


def summary(plan: Plan) -> dict[str, int]:
    """The counts that the summary sentence, the JSON and the comment all show."""
    return {
        **{str(action): plan.count(action) for action in Action},
        "kept": len(plan.kept),
        "drift": len(plan.drift),
        "denied": 0,
    }


def finding_to_json(finding: Finding) -> dict[str, Json]:
    """A finding, as plans and reports show it."""
    return {
        "source": _source_to_json(finding.source),
        "problem": finding.problem,
        "advice": finding.advice,
        "severity": str(finding.severity),
    }


def _registry_to_json(base: Base) -> dict[str, Json] | None:
    if base.registry_topic_id is None or base.registry_offset is None:
        return None
    return {"topic_id": base.registry_topic_id, "offset": str(base.registry_offset)}


def _change_to_json(change: Change) -> dict[str, Json]:
    return {
        "address": change.address,
        "kind": str(change.kind),
        "actions": [str(action) for action in change.actions],
        "reason": {
            "code": change.risk.code,
            "level": str(change.level),
            "because": change.because,
        },
        "risks": [risk.code for risk in change.risks],
        "source": _source_to_json(change.source),
        "before": plain_json(change.before),
        "after": plain_json(change.after),
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
        "impact": plain_json(change.impact),
        "ownership": {
            "before": _owner_to_json(change.owner_before),
            "after": _owner_to_json(change.owner_after),
        },
        "preconditions": [_precondition_to_json(item) for item in change.preconditions],
        "requests": [_planned_request_to_json(request) for request in change.requests],
        "policies": [],
    }


def _source_to_json(source: Source | None) -> dict[str, Json] | None:
    if source is None:
        return None
    return {"file": source.file, "line": source.line, "column": source.column}


def _owner_to_json(owner: Owner | None) -> dict[str, Json] | None:
    if owner is None:
        return None
    return {
        "project": owner.project,
        "topic_id": owner.topic_id,
        "adopted": owner.adopted,
        "spent": owner.spent,
        "last_applied": plain_json(owner.last_applied),
    }


def _precondition_to_json(precondition: Precondition) -> dict[str, Json]:
    return {
        "object": precondition.object,
        "exists": precondition.exists,
        "topic_id": precondition.topic_id,
        "owner": precondition.owner,
        "fields": {key: precondition.fields[key] for key in sorted(precondition.fields)},
    }


def _planned_request_to_json(planned: PlannedRequest) -> dict[str, Json]:
    return {
        "id": planned.id,
        "api": api_name(planned.request),
        "depends_on": list(planned.depends_on),
        "body": request_to_json(planned.request),
        "expects": _precondition_to_json(planned.expects),
        "validated": str(planned.validated),
    }


def _reason_to_json(reason: Reason) -> dict[str, Json]:
    return {"exit": int(reason.exit), "sentence": reason.sentence}


def _desired(value: Json) -> Desired:
    given = members(value, "desired", ("project", "identity", "digest", "git_sha", "dirty"))
    return Desired(
        project=text(given["project"], "desired.project"),
        identity=text(given["identity"], "desired.identity"),
        digest=text(given["digest"], "desired.digest"),
        git_sha=text_or_none(given["git_sha"], "desired.git_sha"),
        dirty=boolean(given["dirty"], "desired.dirty"),
    )


def _base(value: Json) -> Base:
    given = members(value, "base", ("digest", "registry"))
    digest = text(given["digest"], "base.digest")
    if given["registry"] is None:
        return Base(digest=digest)
    registry = members(given["registry"], "base.registry", ("topic_id", "offset"))
    return Base(
        digest=digest,
        registry_topic_id=text(registry["topic_id"], "base.registry.topic_id"),
        registry_offset=integer_text(registry["offset"], "base.registry.offset"),
    )


def _change(value: Json, path: str) -> Change:
    given = members(value, path, _CHANGE_KEYS)
    reason = members(given["reason"], f"{path}.reason", ("code", "level", "because"))
    ownership = members(given["ownership"], f"{path}.ownership", ("before", "after"))
    risks = array(given["risks"], f"{path}.risks", _risk)
    actions = array(given["actions"], f"{path}.actions", _action)
    if not risks or not actions:
        raise ShapeError(f"{path} has no risk or no action")
    return Change(
        address=text(given["address"], f"{path}.address"),
        kind=choice(Kind, given["kind"], f"{path}.kind"),
        actions=actions,
        risks=risks,
        because=text(reason["because"], f"{path}.reason.because"),
        source=_source(given["source"], f"{path}.source"),
        before=_mapping_or_none(given["before"], f"{path}.before"),
        after=_mapping_or_none(given["after"], f"{path}.after"),
        fields=array(given["fields"], f"{path}.fields", _field),
        impact=mapping(plain_json(given["impact"]), f"{path}.impact"),
        owner_before=_owner(ownership["before"], f"{path}.ownership.before"),
        owner_after=_owner(ownership["after"], f"{path}.ownership.after"),
        preconditions=array(given["preconditions"], f"{path}.preconditions", _precondition),
        requests=array(given["requests"], f"{path}.requests", _planned_request),
    )


def _action(value: Json, path: str) -> Action:
    return choice(Action, value, path)


def _risk(value: Json, path: str) -> Risk:
    code = text(value, path)
    if code not in _risks():
        raise ShapeError(f"{path} is the unknown risk code {code!r}")
    return _risks()[code]


@cache
def _risks() -> Mapping[str, Risk]:
    return {risk.code: risk for risk in all_risks()}


def _source(value: Json, path: str) -> Source | None:
    if value is None:
        return None
    given = members(value, path, ("file", "line", "column"))
    return Source(
        file=text(given["file"], f"{path}.file"),
        line=integer(given["line"], f"{path}.line"),
        column=integer(given["column"], f"{path}.column"),
    )


def _mapping_or_none(value: Json, path: str) -> Mapping[str, Json] | None:
    return None if value is None else mapping(plain_json(value), path)


def _field(value: Json, path: str) -> FieldChange:
    given = members(value, path, ("path", "before", "after", "code", "note"))
    return FieldChange(
        path=text(given["path"], f"{path}.path"),
        before=text_or_none(given["before"], f"{path}.before"),
        after=text_or_none(given["after"], f"{path}.after"),
        risk=None if given["code"] is None else _risk(given["code"], f"{path}.code"),
        note=text_or_none(given["note"], f"{path}.note"),
    )


def _owner(value: Json, path: str) -> Owner | None:
    if value is None:
        return None
    given = members(value, path, ("project", "topic_id", "adopted", "spent", "last_applied"))
    return Owner(
        project=text(given["project"], f"{path}.project"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
        adopted=boolean(given["adopted"], f"{path}.adopted"),
        spent=boolean(given["spent"], f"{path}.spent"),
        last_applied=mapping(plain_json(given["last_applied"]), f"{path}.last_applied"),
    )


def _precondition(value: Json, path: str) -> Precondition:
    given = members(value, path, ("object", "exists", "topic_id", "owner", "fields"))
    return Precondition(
        object=text(given["object"], f"{path}.object"),
        exists=boolean(given["exists"], f"{path}.exists"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
        owner=text_or_none(given["owner"], f"{path}.owner"),
        fields={
            key: text_or_none(item, f"{path}.fields.{key}")
            for key, item in mapping(given["fields"], f"{path}.fields").items()
        },
    )


def _planned_request(value: Json, path: str) -> PlannedRequest:
    given = members(value, path, _REQUEST_KEYS)
    try:
        request = request_from_json(text(given["api"], f"{path}.api"), given["body"])
    except ShapeError as error:
        raise ShapeError(f"{path}.{error}") from None
    return PlannedRequest(
        id=text(given["id"], f"{path}.id"),
        request=request,
        depends_on=array(given["depends_on"], f"{path}.depends_on", text),
        expects=_precondition(given["expects"], f"{path}.expects"),
        validated=choice(Validation, given["validated"], f"{path}.validated"),
    )


def _access_loss(value: Json, path: str) -> AccessLoss:
    given = members(value, path, ("principal", "operation", "resource", "requester"))
    return AccessLoss(
        principal=text(given["principal"], f"{path}.principal"),
        operation=text(given["operation"], f"{path}.operation"),
        resource=text(given["resource"], f"{path}.resource"),
        requester=boolean(given["requester"], f"{path}.requester"),
    )


def _drift(value: Json, path: str) -> Drift:
    given = members(value, path, ("address", "path", "last_applied", "found", "rule"))
    return Drift(
        address=text(given["address"], f"{path}.address"),
        path=text(given["path"], f"{path}.path"),
        last_applied=text_or_none(given["last_applied"], f"{path}.last_applied"),
        found=text_or_none(given["found"], f"{path}.found"),
        rule=text(given["rule"], f"{path}.rule"),
    )


def _kept(value: Json, path: str) -> Kept:
    given = members(value, path, ("address", "rule"))
    return Kept(
        address=text(given["address"], f"{path}.address"), rule=text(given["rule"], f"{path}.rule")
    )


def _finding(value: Json, path: str) -> Finding:
    given = members(value, path, ("source", "problem", "advice", "severity"))
    return Finding(
        source=_source(given["source"], f"{path}.source"),
        problem=text(given["problem"], f"{path}.problem"),
        advice=text(given["advice"], f"{path}.advice"),
        severity=choice(Severity, given["severity"], f"{path}.severity"),
    )


def _reason(value: Json, path: str) -> Reason:
    given = members(value, path, ("exit", "sentence"))
    try:
        code = ExitCode(integer(given["exit"], f"{path}.exit"))
    except ValueError:
        raise ShapeError(f"{path}.exit is no exit code") from None
    return Reason(exit=code, sentence=text(given["sentence"], f"{path}.sentence"))


def _counts(value: Json, path: str) -> Mapping[str, int]:
    return {key: integer(item, f"{path}.{key}") for key, item in mapping(value, path).items()}
