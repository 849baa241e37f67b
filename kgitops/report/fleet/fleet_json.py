"""A fleet's history for programs: the latest run as its file holds it, and what is told of it."""

from collections.abc import Sequence
from dataclasses import fields

from kgitops.fleet.summary import History, verdict
from kgitops.fleet.summary_json import COUNTS, FORMAT_VERSION, run_to_json
from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.verdict import verdict_to_json
from kgitops.report.fleet.highlights import Rule, headline, rules
from kgitops.report.fleet.history import Night, Since, nights, since
from kgitops.report.fleet.outliers import Outlier, outliers

REPORT_KIND = "kgitops.fleet-report"


def render_fleet_json(history: History) -> str:
    """The report's text: indented, the same for the same history."""
    run = history.latest
    compared = since(history)
    return json_text(
        {
            "format_version": FORMAT_VERSION,
            "kind": REPORT_KIND,
            "sentence": headline(run),
            "verdict": verdict_to_json(verdict(run)),
            "totals": {name: run.total(name) for name in COUNTS},
            "violations": _violations(rules(run)),
            "outliers": [_outlier(each) for each in outliers(run.units)],
            "since": _since(compared) if compared else None,
            "runs": [_night(night) for night in nights(history)],
            "runs_left_out": history.left_out,
            "run": run_to_json(run),
        }
    )


def _night(night: Night) -> Json:
    values = {each.name: getattr(night, each.name) for each in fields(night)}
    return {**values, "exit": int(night.exit)}


def _violations(found: Sequence[Rule]) -> list[Json]:
    return [
        {
            "policy": rule.policy,
            "level": rule.level,
            "standing": str(rule.standing),
            "count": rule.count,
            "units": dict(rule.units),
        }
        for rule in found
    ]


def _outlier(found: Outlier) -> Json:
    return {
        "cluster": found.unit.cluster,
        "project": found.unit.project,
        "level": None if found.level is None else str(found.level),
        "measures": {
            mark.measure: {
                "count": mark.count,
                "median": mark.median,
                "stands_out": mark.stands_out,
            }
            for mark in found.marks
        },
    }


def _since(found: Since) -> Json:
    return {
        "created": found.created,
        "drift_grew": [
            {
                "cluster": each.unit.cluster,
                "project": each.unit.project,
                "before": each.before,
                "after": each.after,
            }
            for each in found.grown
        ],
        "no_plan_any_more": list(found.now_failed),
        "planned_again": list(found.planned_again),
        "new_clusters": list(found.new_clusters),
        "gone_clusters": list(found.gone_clusters),
    }
