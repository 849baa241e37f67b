"""Policies, their tests and audits as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import CelPolicy, Ruling
from kgitops.report.text.policy_tests import summary
from kgitops.workflow.policy_audit import AuditedObject, PolicyAudit
from kgitops.workflow.policy_descriptions import PolicyDescription
from kgitops.workflow.policy_tests.report import (
    Covered,
    PolicyTestReport,
    SuiteOutcome,
    percent_covered,
)

if TYPE_CHECKING:
    from kgitops.fleet.auditing import FleetAudit


def policies_to_json(described: Sequence[PolicyDescription]) -> str:
    """All policies as JSON text; keys may be added, none is ever renamed."""
    return json_text(
        {
            "format_version": "1.0",
            "kind": "kgitops.policies",
            "policies": [_description_json(item) for item in described],
        }
    )


def policy_to_json(item: PolicyDescription) -> str:
    """One policy as JSON text, with the same keys as among all."""
    return json_text({"format_version": "1.0", "kind": "kgitops.policy", **_description_json(item)})


def _description_json(item: PolicyDescription) -> dict[str, Json]:
    policy = item.policy
    content: dict[str, Json] = {
        "name": policy.name,
        "form": item.form,
        "cluster": item.cluster,
        "level": str(policy.level),
        "default_level": str(item.default),
        "levels": {name: level and str(level) for name, level in item.levels.items()},
        "requests": None if item.judges is None else list(item.judges),
        "description": policy.description,
        "remediation": policy.remediation,
        "digest": policy.digest,
        "source": _place(policy.source),
        "waivers": [
            {
                "name": waiver.name,
                "address": waiver.address,
                "owner": waiver.owner,
                "reason": waiver.reason,
                "ticket": waiver.ticket,
                "expires": waiver.expires.isoformat(),
                "days_left": item.days_left(waiver),
            }
            for waiver in item.waivers
        ],
    }
    if isinstance(policy, CelPolicy):
        content["names"] = list(policy.match.names)
        content["variables"] = {entry.name: entry.expression for entry in policy.variables}
        content["validations"] = [
            {"expression": validation.expression, "source": _place(validation.source)}
            for validation in policy.validations
        ]
    else:
        content["class"] = policy.class_
        content["configs"] = dict(policy.configs)
    return content


def policy_tests_to_json(report: PolicyTestReport) -> str:
    """The run as JSON text; keys may be added, none is ever renamed."""
    covered, mutation = report.covered, report.mutation
    return json_text(
        {
            "format_version": "1.0",
            "kind": "kgitops.policy-test",
            "suites": [_suite_json(suite) for suite in report.suites],
            "untested": list(report.untested),
            "coverage": None
            if covered is None
            else {
                "percent": round(percent_covered(covered), 1),
                "least": report.least_covered,
                "rules": [_covered_json(item) for item in covered],
            },
            "mutation": None
            if mutation is None
            else {
                "mutants": mutation.total,
                "caught": mutation.caught,
                "timed_out": mutation.timed_out,
                "score": round(mutation.score, 1),
                "least": report.least_score,
                "survivors": [
                    {"source": _place(item.source), "change": item.what, "code": item.excerpt}
                    for item in mutation.survivors
                ],
            },
            "summary": {
                "cases": report.cases,
                "failed": report.failed,
                "passed": report.passed,
                "sentences": list(summary(report)),
            },
        }
    )


def _suite_json(suite: SuiteOutcome) -> Json:
    return {
        "name": suite.name,
        "policy": suite.policy,
        "source": _place(suite.source),
        "cases": [
            {
                "name": case.name,
                "source": _place(case.source),
                "passed": not case.failures,
                "failures": [
                    {
                        "source": _place(failure.source),
                        "expected": failure.expected,
                        "came": failure.came,
                        "advice": failure.advice,
                    }
                    for failure in case.failures
                ],
            }
            for case in suite.cases
        ],
    }


def _covered_json(item: Covered) -> Json:
    return {
        "policy": item.policy,
        "rule": item.rule,
        "source": _place(item.source),
        "fired": item.fired,
        "silent": item.silent,
    }


def _place(source: Source | None) -> Json:
    if source is None:
        return None
    return {"file": source.file, "line": source.line, "column": source.column}


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
        "users_read": audit.users,
        "groups_read": not audit.unread,
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
