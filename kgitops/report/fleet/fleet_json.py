"""A fleet's history for programs: the latest run as its file holds it, and its highlights."""

from collections.abc import Sequence
from dataclasses import fields

from kgitops.fleet.summary import History, verdict
from kgitops.fleet.summary_json import COUNTS, FORMAT_VERSION, run_to_json
from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.verdict import verdict_to_json
from kgitops.report.fleet.highlights import PolicyViolations, headline, violations_by_policy
from kgitops.report.fleet.history import RunDelta, RunTotals, delta_to_previous, totals_by_run
from kgitops.report.fleet.outliers import Outlier, outliers

REPORT_KIND = "kgitops.fleet-report"


def render_fleet_json(history: History) -> str:
    """The report's text: indented, the same for the same history."""
    run = history.latest
    delta = delta_to_previous(history)
    return json_text(
        {
            "format_version": FORMAT_VERSION,
            "kind": REPORT_KIND,
            "sentence": headline(run),
            "verdict": verdict_to_json(verdict(run)),
            "totals": {name: run.total(name) for name in COUNTS},
            "violations": _violations(violations_by_policy(run)),
            "outliers": [_outlier(each) for each in outliers(run.units)],
            "since": _delta(delta) if delta else None,
            "runs": [_totals(totals) for totals in totals_by_run(history)],
            "runs_left_out": history.left_out,
            "run": run_to_json(run),
        }
    )


def _totals(totals: RunTotals) -> Json:
    values = {each.name: getattr(totals, each.name) for each in fields(totals)}
    return {**values, "exit": int(totals.exit)}


def _violations(by_policy: Sequence[PolicyViolations]) -> list[Json]:
    return [
        {
            "policy": rule.policy,
            "level": rule.level,
            "standing": str(rule.standing),
            "count": rule.count,
            "units": dict(rule.units),
        }
        for rule in by_policy
    ]


def _outlier(outlier: Outlier) -> Json:
    return {
        "cluster": outlier.unit.cluster,
        "project": outlier.unit.project,
        "level": None if outlier.level is None else str(outlier.level),
        "measures": {
            mark.measure: {
                "count": mark.count,
                "median": mark.median,
                "stands_out": mark.stands_out,
            }
            for mark in outlier.measurements
        },
    }


def _delta(delta: RunDelta) -> Json:
    return {
        "created": delta.created,
        "drift_grew": [
            {
                "cluster": each.unit.cluster,
                "project": each.unit.project,
                "before": each.before,
                "after": each.after,
            }
            for each in delta.grown
        ],
        "no_plan_any_more": list(delta.now_failed),
        "planned_again": list(delta.planned_again),
        "new_clusters": list(delta.new_clusters),
        "gone_clusters": list(delta.gone_clusters),
    }
