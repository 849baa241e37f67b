"""The documents name every metric, and every key of the status."""

from pathlib import Path

import pytest

from kgitops.reconcile.http.status_document import RevisionDocument, StatusDocument, UnitDocument
from kgitops.reconcile.metrics.catalogue import METRICS, Metric
from kgitops.reconcile.status import PendingPlan, Suspension, TurnOutcome, TurnResult

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "guides" / "reconcile-monitoring.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "reconcile-status.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_guide_has_a_row_for_each_metric(metric: Metric) -> None:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    assert f"| `{metric.name}` | {metric.type} | {labels} | {metric.help} |\n" in GUIDE


@pytest.mark.parametrize(
    "kind",
    [StatusDocument, UnitDocument, RevisionDocument, TurnResult, PendingPlan, Suspension],
)
def test_the_reference_has_each_key(kind: type) -> None:
    missing = [name for name in kind.__struct_fields__ if f"`{name}`" not in REFERENCE]  # type: ignore[attr-defined]
    assert missing == []


def test_the_reference_has_each_outcome() -> None:
    assert [word for word in TurnOutcome if f"`{word}`" not in REFERENCE] == []
