"""Reads a plan from the JSON that ``plan_to_json`` writes, or fails with the place of the error."""

from collections.abc import Mapping
from functools import cache

from kgitops.model.cluster_state import Validator
from kgitops.model.json.canonical import plain_json
from kgitops.model.json.objects import read_labels, read_owner, read_source
from kgitops.model.json.requests import request_from_json
from kgitops.model.json.strict import (
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
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.registry import Json, Owner
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import (
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
    PlanTarget,
    Precondition,
)
from kgitops.plan.document.policies_json import read_loaded, read_result
from kgitops.plan.document.risks import Risk, all_risks
from kgitops.plan.document.to_json import KEYS

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
_REQUEST_KEYS = ("id", "api", "depends_on", "undoes", "body", "expects", "validated")


def plan_from_json(value: Json) -> Plan:
    """Read the plan that ``plan_to_json`` wrote.

    Raises:
        ValueError: a key is missing or unknown, or a value is not of its type.
    """
    given = members(value, "the plan", KEYS)
    target = members(given["target"], "target", ("name", "backend", "cluster_id"))
    return Plan(
        target=PlanTarget(
            name=text(target["name"], "target.name"),
            backend=text(target["backend"], "target.backend"),
            cluster_id=text(target["cluster_id"], "target.cluster_id"),
        ),
        desired=_desired(given["desired"]),
        base=_base(given["base"]),
        principal=text(given["principal"], "principal"),
        policies_loaded=array(given["policies_loaded"], "policies_loaded", read_loaded),
        changes=array(given["changes"], "changes", _change),
        access_losses=array(given["access_losses"], "access_losses", _access_loss),
        drift=array(given["drift"], "drift", _drift),
        kept=array(given["kept"], "kept", _kept),
        lowering=array(given["lowering"], "lowering", _line),
        warnings=array(given["warnings"], "warnings", finding_from_json),
        findings=array(given["findings"], "findings", finding_from_json),
        refusals=array(given["refusals"], "refusals", reason_from_json),
        partial=boolean(given["partial"], "partial"),
        allow_deletes=_counts(given["allow_deletes"], "allow_deletes"),
        managed_counts=_counts(given["managed_counts"], "managed_counts"),
    )


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
    derived, labels = _optional(value, "derived_from"), _optional(value, "labels")
    given = members(value, path, (*_CHANGE_KEYS, *derived, *labels))
    reason = members(given["reason"], f"{path}.reason", ("code", "level", "because"))
    ownership = members(given["ownership"], f"{path}.ownership", ("before", "after"))
    risks = array(given["risks"], f"{path}.risks", _risk)
    actions = array(given["actions"], f"{path}.actions", _action)
    if not risks or not actions:
        raise ShapeError(f"{path} has no risk or no action")
    change = Change(
        address=text(given["address"], f"{path}.address"),
        kind=choice(Kind, given["kind"], f"{path}.kind"),
        actions=actions,
        risks=risks,
        because=text(reason["because"], f"{path}.reason.because"),
        source=read_source(given["source"], f"{path}.source"),
        before=_mapping_or_none(given["before"], f"{path}.before"),
        after=_mapping_or_none(given["after"], f"{path}.after"),
        fields=array(given["fields"], f"{path}.fields", _field),
        impact=mapping(plain_json(given["impact"]), f"{path}.impact"),
        owner_before=_owner(ownership["before"], f"{path}.ownership.before"),
        owner_after=_owner(ownership["after"], f"{path}.ownership.after"),
        preconditions=array(given["preconditions"], f"{path}.preconditions", _precondition),
        requests=array(given["requests"], f"{path}.requests", _planned_request),
        policies=array(given["policies"], f"{path}.policies", read_result),
        derived_from=array(given["derived_from"], f"{path}.derived_from", text) if derived else (),
    )
    return change.with_labels(read_labels(given["labels"], f"{path}.labels")) if labels else change


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
    return None if value is None else read_owner(value, path)


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
    physical = _optional(value, "physical")
    given = members(value, path, (*_REQUEST_KEYS, *physical))
    try:
        request = request_from_json(text(given["api"], f"{path}.api"), given["body"])
    except ShapeError as error:
        raise ShapeError(f"{path}.{error}") from None
    return PlannedRequest(
        id=text(given["id"], f"{path}.id"),
        request=request,
        depends_on=array(given["depends_on"], f"{path}.depends_on", text),
        undoes=text_or_none(given["undoes"], f"{path}.undoes"),
        physical=array(given["physical"], f"{path}.physical", text) if physical else (),
        expects=_precondition(given["expects"], f"{path}.expects"),
        validated=choice(Validator, given["validated"], f"{path}.validated"),
    )


def _optional(value: Json, key: str) -> tuple[str, ...]:
    """Return the optional key if it is present; its value must not be empty."""
    if not isinstance(value, Mapping) or key not in value:
        return ()
    if not value[key]:
        raise ShapeError(f"{key} is there and empty")
    return (key,)


def _line(value: Json, path: str) -> LoweringLine:
    keys = ("code", "grade", "virtual_cluster", "subject", "reason", "remedy")
    given = members(value, path, keys)
    grade = given["grade"]
    return LoweringLine(
        code=text(given["code"], f"{path}.code"),
        grade=None if grade is None else choice(Grade, grade, f"{path}.grade"),
        virtual_cluster=text(given["virtual_cluster"], f"{path}.virtual_cluster"),
        subject=text(given["subject"], f"{path}.subject"),
        reason=text(given["reason"], f"{path}.reason"),
        remedy=text(given["remedy"], f"{path}.remedy"),
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
    known = ("by", "at") if isinstance(value, Mapping) and "by" in value else ()
    given = members(value, path, ("address", "path", "last_applied", "found", "rule", *known))
    return Drift(
        address=text(given["address"], f"{path}.address"),
        path=text(given["path"], f"{path}.path"),
        last_applied=text_or_none(given["last_applied"], f"{path}.last_applied"),
        found=text_or_none(given["found"], f"{path}.found"),
        rule=text(given["rule"], f"{path}.rule"),
        by=text(given["by"], f"{path}.by") if known else None,
        at=text(given["at"], f"{path}.at") if known else None,
    )


def _kept(value: Json, path: str) -> Kept:
    given = members(value, path, ("address", "rule"))
    return Kept(
        address=text(given["address"], f"{path}.address"), rule=text(given["rule"], f"{path}.rule")
    )


def finding_from_json(value: Json, path: str) -> Finding:
    """Read a finding that ``finding_to_json`` wrote."""
    given = members(value, path, ("source", "problem", "advice", "severity"))
    return Finding(
        source=read_source(given["source"], f"{path}.source"),
        problem=text(given["problem"], f"{path}.problem"),
        advice=text(given["advice"], f"{path}.advice"),
        severity=choice(Severity, given["severity"], f"{path}.severity"),
    )


def reason_from_json(value: Json, path: str) -> Reason:
    """Read a reason that ``reason_to_json`` wrote."""
    given = members(value, path, ("exit", "sentence"))
    try:
        code = ExitCode(integer(given["exit"], f"{path}.exit"))
    except ValueError:
        raise ShapeError(f"{path}.exit is not an exit code") from None
    return Reason(exit=code, sentence=text(given["sentence"], f"{path}.sentence"))


def _counts(value: Json, path: str) -> Mapping[str, int]:
    return {key: integer(item, f"{path}.{key}") for key, item in mapping(value, path).items()}
