"""Converts documents of policies and waivers to the rules that requests are judged by."""

from datetime import date
from typing import TYPE_CHECKING

from kgitops.manifests.yaml.document import Document, Step
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.registry import Json
from kgitops.policy.evaluate.bundle import (
    CelExpression,
    CelPolicy,
    CelValidation,
    Level,
    RequestMatch,
    Waiver,
)

if TYPE_CHECKING:
    from kgitops.manifests.policies import policy as documents


def cel_policy(declared: "documents.Policy", document: Document) -> CelPolicy:
    """The policy as a rule, each expression with its source."""
    spec = declared.spec
    return CelPolicy(
        name=declared.metadata.name,
        level=Level(spec.level),
        digest=sha256(canonical_json(_digested(spec))),
        description=spec.description or "",
        remediation=spec.remediation or "",
        source=document.at("metadata", "name"),
        match=RequestMatch(requests=tuple(spec.match.requests), names=tuple(spec.match.names)),
        match_conditions=_named(spec.match_conditions, document, "matchConditions"),
        variables=_named(spec.variables, document, "variables"),
        validations=tuple(
            _validation(one, document, ("spec", "validations", index))
            for index, one in enumerate(spec.validations)
        ),
    )


def waiver(declared: "documents.Waiver", document: Document) -> Waiver:
    """The waiver as a rule."""
    spec = declared.spec
    return Waiver(
        name=declared.metadata.name,
        policy=spec.policy,
        address=spec.address,
        owner=spec.owner,
        reason=spec.reason,
        ticket=spec.ticket,
        expires=date.fromisoformat(spec.expires),
        fingerprint=spec.fingerprint,
        source=document.at("metadata", "name"),
    )


def _named(
    expressions: "list[documents.NamedExpression]", document: Document, field: str
) -> tuple[CelExpression, ...]:
    return tuple(
        CelExpression(
            name=one.name,
            expression=one.expression,
            source=document.at("spec", field, index, "expression"),
        )
        for index, one in enumerate(expressions)
    )


def _validation(
    one: "documents.Validation", document: Document, path: tuple[Step, ...]
) -> CelValidation:
    message_source = None
    if one.message_expression is not None:
        message_source = document.at(*path, "messageExpression")
    return CelValidation(
        expression=one.expression,
        message=one.message,
        message_expression=one.message_expression,
        field=one.field,
        source=document.at(*path, "expression"),
        message_source=message_source,
    )


def _digested(spec: "documents.PolicySpec") -> Json:
    """The content that a policy's digest covers: all that it decides and says."""
    return {
        "match": {"requests": sorted(spec.match.requests), "names": sorted(spec.match.names)},
        "matchConditions": [_plain(one) for one in spec.match_conditions],
        "variables": [_plain(one) for one in spec.variables],
        "validations": [
            {
                "expression": one.expression,
                "message": one.message,
                "messageExpression": one.message_expression,
                "field": one.field,
            }
            for one in spec.validations
        ],
    }


def _plain(one: "documents.NamedExpression") -> Json:
    return {"name": one.name, "expression": one.expression}
