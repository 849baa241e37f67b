"""What came of testing policies, as JSON."""

from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.report.policies.tests_text import summary
from kgitops.workflow.policy_tests.report import (
    Covered,
    PolicyTestReport,
    SuiteOutcome,
    percent_covered,
)


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
