"""A fleet's history for programs: the latest run as its file holds it, and its highlights."""

from kgitops.fleet.summary import History, verdict
from kgitops.fleet.summary_json import (
    COUNTS,
    FORMAT_VERSION,
    FleetDocument,
    escaped_json,
    run_document,
)
from kgitops.model.json.layout import json_text
from kgitops.model.json.schema import document_schema
from kgitops.model.registry import Json
from kgitops.report.fleet.highlights import headline, violations_by_policy
from kgitops.report.fleet.history import RunDelta, delta_to_previous, totals_by_run
from kgitops.report.fleet.outliers import Outlier, outliers

REPORT_KIND = "kgitops.fleet-report"


def render_fleet_json(history: History) -> str:
    """The report's text: indented, the same for the same history."""
    run = history.latest
    delta = delta_to_previous(history)
    report = {
        "format_version": FORMAT_VERSION,
        "kind": REPORT_KIND,
        "sentence": headline(run),
        "verdict": verdict(run),
        "totals": {name: run.total(name) for name in COUNTS},
        "violations": violations_by_policy(run),
        "outliers": [_outlier(each) for each in outliers(run.units)],
        "since": _delta(delta) if delta else None,
        "runs": totals_by_run(history),
        "runs_left_out": history.left_out,
        "run": run_document(run),
    }
    return json_text(escaped_json(report))


def _outlier(outlier: Outlier) -> Json:
    return {
        "cluster": outlier.unit.cluster,
        "project": outlier.unit.project,
        "level": outlier.level,
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
        "no_plan_any_more": delta.now_failed,
        "planned_again": delta.planned_again,
        "new_clusters": delta.new_clusters,
        "gone_clusters": delta.gone_clusters,
    }


def fleet_schema() -> dict[str, Json]:
    """The schema of what ``fleet plan --out DIR`` writes as ``DIR/fleet.json``."""
    return document_schema(
        FleetDocument,
        title="kgitops fleet",
        description="What a run of kgitops fleet plan came to: a unit is one project on one "
        "cluster. The tables beside this file hold every change.",
    )
