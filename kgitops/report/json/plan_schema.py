"""The JSON Schema of a plan, from the same enumerations that plans are made of.

Objects may gain keys within a major version, so readers must ignore what they don't know; request
bodies may not, for an apply carries them out.
"""

import json
from enum import StrEnum
from pathlib import Path

from kgitops.model.cluster_state import Validator
from kgitops.model.lowered import Grade
from kgitops.model.registry import Json
from kgitops.model.requests import AlterStep
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.quotas import ENTITY_TYPES
from kgitops.model.resources.topics import RATES
from kgitops.model.resources.virtual_clusters import CapLowering, ChangeType, EntityType
from kgitops.model.source import Severity
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Kind
from kgitops.plan.document.risks import RiskLevel
from kgitops.plan.document.to_json import PLAN_KIND
from kgitops.policy.evaluate.bundle import Level as PolicyLevel
from kgitops.policy.evaluate.ruling import Outcome

_TEXT: Json = {"type": "string"}
_MAYBE: Json = {"type": ["string", "null"]}
_WHOLE: Json = {"type": "integer"}
_FLAG: Json = {"type": "boolean"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_DIGEST: Json = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_MOMENT: Json = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
_OFFSET: Json = {"type": "string", "pattern": "^(0|-?[1-9][0-9]{0,18})$"}
_DECIMAL: Json = {"type": ["string", "null"], "pattern": r"^[0-9]+(\.[0-9]+)?$"}
# A pattern, not the codes of today: they may grow within a major version.
_CODE: Json = {"type": "string", "pattern": "^KG[0-9]{3}$"}
_EXIT: Json = {"enum": [int(code) for code in ExitCode]}


def plan_schema() -> dict[str, Json]:
    """The schema of what ``plan -o`` writes and ``--format json`` prints."""
    body = {
        "format_version": {"type": "string", "pattern": r"^1\.\d+$"},
        "kind": {"const": PLAN_KIND},
        "tool": _object({"version": _TEXT}),
        "target": _object({"name": _TEXT, "backend": _TEXT, "cluster_id": _TEXT}),
        "desired": _object(
            {
                "project": _TEXT,
                "identity": _TEXT,
                "digest": _TEXT,
                "git_sha": _MAYBE,
                "dirty": _FLAG,
            }
        ),
        "base": _object(
            {
                "digest": _TEXT,
                "registry": _maybe(_object({"topic_id": _TEXT, "offset": _OFFSET})),
            }
        ),
        "principal": _TEXT,
        "policies_loaded": _array(
            _object(
                {
                    "name": _TEXT,
                    "level": _enum(PolicyLevel),
                    "digest": _TEXT,
                    "description": _TEXT,
                    "remediation": _TEXT,
                    "source": _maybe({"$ref": "#/$defs/source"}),
                }
            )
        ),
        "changes": _array({"$ref": "#/$defs/change"}),
        "access_losses": _array(
            _object({"principal": _TEXT, "operation": _TEXT, "resource": _TEXT, "requester": _FLAG})
        ),
        "drift": _array(
            _object(
                {
                    "address": _TEXT,
                    "path": _TEXT,
                    "last_applied": _MAYBE,
                    "found": _MAYBE,
                    "rule": _TEXT,
                },
                optional={"by": _TEXT, "at": _MOMENT},
            )
        ),
        "kept": _array(_object({"address": _TEXT, "rule": _TEXT})),
        "lowering": _array(
            _object(
                {
                    "code": _TEXT,
                    "grade": _maybe(_enum(Grade)),
                    "virtual_cluster": _TEXT,
                    "subject": _TEXT,
                    "reason": _TEXT,
                    "remedy": _TEXT,
                }
            )
        ),
        "warnings": _array({"$ref": "#/$defs/finding"}),
        "findings": _array({"$ref": "#/$defs/finding"}),
        "refusals": _array({"$ref": "#/$defs/reason"}),
        "partial": _FLAG,
        "allow_deletes": _map(_COUNT),
        "managed_counts": _map(_COUNT),
        "summary": _object(dict.fromkeys((*map(str, Action), "kept", "drift", "denied"), _COUNT)),
        "verdict": _object({"exit": _EXIT, "reasons": _array({"$ref": "#/$defs/reason"})}),
        "plan_digest": _DIGEST,
    }
    envelope = _object(
        {
            "captured_at": _TEXT,
            "created": _MOMENT,
            "expires": _MOMENT,
            "nonce": _TEXT,
            "digest": _DIGEST,
        }
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kgitops plan",
        "description": "What kgitops would do to a cluster: the reviewed document that an apply "
        "executes. The envelope is there in a saved plan.",
        **_object(body, optional={"envelope": envelope}),
        "$defs": {
            "change": _change(),
            "policy_result": _policy_result(),
            "planned_request": _planned_request(),
            "local_name": _closed(_object({"virtual_cluster": _TEXT, "name": _TEXT})),
            "precondition": _precondition(),
            "owner": _owner(),
            "finding": _finding(),
            "reason": _object({"exit": _EXIT, "sentence": _TEXT}),
            "source": _object({"file": _TEXT, "line": _WHOLE, "column": _WHOLE}),
            "topic_state": _topic_state(),
            "binding": _binding(),
        },
    }


def schema_text() -> str:
    """The text of ``schemas/plan.schema.json``."""
    return json.dumps(plan_schema(), indent=2) + "\n"


def _change() -> Json:
    state = {"type": ["object", "null"]}
    reason = _object({"code": _CODE, "level": _enum(RiskLevel), "because": _TEXT})
    owner = _maybe({"$ref": "#/$defs/owner"})
    field = _object(
        {
            "path": _TEXT,
            "before": _MAYBE,
            "after": _MAYBE,
            "code": _maybe(_CODE),
            "note": _MAYBE,
        }
    )
    return _object(
        {
            "address": _TEXT,
            "kind": _enum(Kind),
            "actions": {**_array(_enum(Action)), "minItems": 1, "uniqueItems": True},
            "reason": reason,
            "risks": {**_array(_CODE), "minItems": 1},
            "source": _maybe({"$ref": "#/$defs/source"}),
            "before": state,
            "after": state,
            "fields": _array(field),
            "impact": {"type": "object"},
            "ownership": _object({"before": owner, "after": owner}),
            "preconditions": _array({"$ref": "#/$defs/precondition"}),
            "requests": _array({"$ref": "#/$defs/planned_request"}),
            "policies": _array({"$ref": "#/$defs/policy_result"}),
        },
        optional={
            "derived_from": {**_array(_TEXT), "minItems": 1},
            "labels": {"type": "object", "minProperties": 1, "additionalProperties": _TEXT},
        },
    )


def _policy_result() -> Json:
    waiver = _object(
        {"name": _TEXT, "owner": _TEXT, "reason": _TEXT, "ticket": _TEXT, "expires": _TEXT}
    )
    row = {
        "policy": _TEXT,
        "level": _enum(PolicyLevel),
        "outcome": _enum(Outcome),
        "message": _TEXT,
    }
    violation_keys = {
        "request": _MAYBE,
        "field": _MAYBE,
        "source": _maybe({"$ref": "#/$defs/source"}),
        "fingerprint": _MAYBE,
        "waiver": _maybe(waiver),
    }
    # A row of a policy that passed says no more.
    return {
        **_object(row, optional=violation_keys),
        "if": {"properties": {"outcome": {"const": str(Outcome.PASSED)}}},
        "else": {"required": list(violation_keys)},
    }


def _planned_request() -> Json:
    topic, topic_id = {"topic": _TEXT}, {"topic_id": _TEXT}
    state = {"requested_state": {"$ref": "#/$defs/topic_state"}}
    binding = {"binding": {"$ref": "#/$defs/binding"}}
    offsets = {"deleted_message_offsets": _map(_OFFSET)}
    entity = _object({}, optional=dict.fromkeys(ENTITY_TYPES, _MAYBE))
    local = {"local": {"$ref": "#/$defs/local_name"}}
    virtual_cluster = {"virtual_cluster": _TEXT}
    options = {
        "options": _closed(_object({"cap_lowering": _enum(CapLowering), "deny_wins": _FLAG}))
    }
    bodies = {
        "CreateTopic": _body({**topic, **state}, local),
        "AlterTopic": _body({**topic, **topic_id, "step": _enum(AlterStep), **state}, local),
        "DeleteTopic": _body({**topic, **topic_id}, local),
        "DeleteRecords": _body({**topic, **topic_id, **offsets}, local),
        "CreateAcl": _body(binding),
        "DeleteAcl": _body(binding, {"migrated_to": _TEXT}),
        "AlterClientQuota": _body(
            {
                "entity": {**entity, "additionalProperties": False, "minProperties": 1},
                "quotas": _map(_DECIMAL),
            }
        ),
        "AlterBroker": _body(
            {
                "broker": _WHOLE,
                "configs": _closed(_object({}, optional=dict.fromkeys(RATES, _MAYBE))),
            }
        ),
        "CreateVirtualCluster": _body({**virtual_cluster, **options}),
        "AlterVirtualCluster": {
            "oneOf": [_body({**virtual_cluster, **options}), _body(_alteration())]
        },
        "DeleteVirtualCluster": _body(virtual_cluster),
        "CopyGroupOffsets": _body({**virtual_cluster, "group": _TEXT, "source": _TEXT}),
        "DeleteGroup": _body({**virtual_cluster, "group": _TEXT}),
    }
    planned = _object(
        {
            "id": _TEXT,
            "api": {"enum": list(bodies)},
            "depends_on": _array(_TEXT),
            "undoes": _MAYBE,
            "body": {"type": "object"},
            "expects": {"$ref": "#/$defs/precondition"},
            "validated": _enum(Validator),
        },
        optional={"physical": {**_array(_TEXT), "minItems": 1}},
    )
    by_api = [
        {
            "if": {"properties": {"api": {"const": api}}},
            "then": {"properties": {"body": body}},
        }
        for api, body in bodies.items()
    ]
    return {**planned, "allOf": by_api}


def _alteration() -> dict[str, Json]:
    """One entity of a virtual cluster that is added or removed."""
    return {
        "virtual_cluster": _TEXT,
        "change": _enum(ChangeType),
        "entity_type": _enum(EntityType),
        "entity_name": _TEXT,
        "topic": _MAYBE,
        "target": _maybe({"$ref": "#/$defs/local_name"}),
        "replaces": _MAYBE,
        "moved_from": _MAYBE,
        "adopts": _MAYBE,
    }


def _body(keys: dict[str, Json], optional: dict[str, Json] | None = None) -> dict[str, Json]:
    return _closed(_object(keys, optional=optional))


def _precondition() -> Json:
    return _object(
        {
            "object": _TEXT,
            "exists": _FLAG,
            "topic_id": _MAYBE,
            "owner": _MAYBE,
            "fields": _map(_MAYBE),
        }
    )


def _owner() -> Json:
    return _object(
        {
            "project": _TEXT,
            "topic_id": _MAYBE,
            "adopted": _FLAG,
            "spent": _FLAG,
            "last_applied": {"type": "object"},
        }
    )


def _finding() -> Json:
    return _object(
        {
            "source": _maybe({"$ref": "#/$defs/source"}),
            "problem": _TEXT,
            "advice": _TEXT,
            "severity": _enum(Severity),
        }
    )


def _topic_state() -> Json:
    state = _object(
        {
            "name": _TEXT,
            "topic_id": _MAYBE,
            "assignment": _array(_array(_WHOLE)),
            "configs": _map(_TEXT),
            "marked_for_deletion": _FLAG,
            "reassigning": _FLAG,
            "requested_configs": _map(_MAYBE),
            "generated_replica_assignments": _FLAG,
        }
    )
    return _closed(state)


def _binding() -> Json:
    binding = _object(
        {
            "resource_type": _enum(ResourceType),
            "resource_name": _TEXT,
            "pattern_type": _enum(PatternType),
            "principal": _TEXT,
            "host": _TEXT,
            "operation": _enum(Operation),
            "permission_type": _enum(PermissionType),
        },
        optional={
            "virtual_cluster": _TEXT,
            "virtual_cluster_pattern_type": _enum(PatternType),
        },
    )
    return {
        **_closed(binding),
        "dependentRequired": {
            "virtual_cluster": ["virtual_cluster_pattern_type"],
            "virtual_cluster_pattern_type": ["virtual_cluster"],
        },
    }


def _object(
    members: dict[str, Json], *, optional: dict[str, Json] | None = None
) -> dict[str, Json]:
    return {
        "type": "object",
        "required": list(members),
        "properties": {**members, **(optional or {})},
    }


def _closed(schema: dict[str, Json]) -> dict[str, Json]:
    return {**schema, "additionalProperties": False}


def _array(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items}


def _map(values: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": values}


def _maybe(schema: Json) -> dict[str, Json]:
    return {"anyOf": [schema, {"type": "null"}]}


def _enum(kind: type[StrEnum]) -> dict[str, Json]:
    return {"enum": [str(value) for value in kind]}


if __name__ == "__main__":
    Path("schemas/plan.schema.json").write_text(schema_text(), encoding="utf-8")
