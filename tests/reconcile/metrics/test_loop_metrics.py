"""The metrics as Prometheus reads them: names, labels, values, and nothing that is an object's."""

from collections.abc import Mapping

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from reconcile.loop_states import PENDING, REVISION, SUSPENSION, failed, loop, turn, unit

from kgitops.model.verdict import ExitCode
from kgitops.reconcile.loop_status import LoopStatus
from kgitops.reconcile.metrics.catalogue import METRICS
from kgitops.reconcile.metrics.loop_metrics import LoopMetrics
from kgitops.reconcile.notifications.delivery import SinkCounts
from kgitops.reconcile.status import ClusterChange, ClusterIdentity, TurnOutcome
from kgitops.serve.http.metric import MetricType

UNIT = {"project": "payments", "cluster": "prod"}
EVERYTHING = loop(
    unit(
        turns=(
            turn(
                3,
                outcome=TurnOutcome.PENDING,
                drift={"Topic": 3, "Acl": 1},
                drifting={"Topic": 2, "Acl": 1},
                healed=("topic/secret-payments",),
                applied_actions={"update": 3},
                violations={"hard": 1},
                fights=("topic/secret-orders",),
                disabled=4,
                pending=PENDING,
                suspension=SUSPENSION,
            ),
            failed(),
            turn(),
        ),
        pending=PENDING,
        suspended=True,
        suspension=SUSPENSION,
        running=True,
    )
)


def scraped(metrics: LoopMetrics, status: LoopStatus, now: float = 1004.5) -> str:
    return metrics.exposition(status, now).body.decode()


def samples(text: str) -> Mapping[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in read_text(text)
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float | None:
    return samples(text).get((name, frozenset(labels.items())))


def test_counters_count_every_turn_once() -> None:
    metrics = LoopMetrics()
    for number in range(1, 4):
        metrics.observe(turn(number))
    metrics.observe(failed(4))
    metrics.observe(turn(5, outcome=TurnOutcome.BUSY, exit=ExitCode.LOCKED))
    applied = {"healed": ("topic/a", "topic/b"), "applied_actions": {"update": 2, "create": 1}}
    metrics.observe(turn(6, outcome=TurnOutcome.APPLIED, **applied))
    text = scraped(metrics, loop(unit()))
    assert value(text, "kgitops_reconcile_total", **UNIT, outcome="in-sync") == 3
    assert value(text, "kgitops_reconcile_total", **UNIT, outcome="failed") == 1
    assert value(text, "kgitops_reconcile_total", **UNIT, outcome="busy") == 1
    assert value(text, "kgitops_reconcile_total", **UNIT, outcome="applied") == 1
    assert value(text, "kgitops_reconcile_total", **UNIT, outcome="refused") == 0
    assert value(text, "kgitops_healed_objects_total", **UNIT) == 2
    assert value(text, "kgitops_applied_changes_total", **UNIT, action="update") == 2
    assert value(text, "kgitops_lock_wait_total", **UNIT) == 1
    assert value(text, "kgitops_reconcile_duration_seconds_count", stage="plan") == 6
    assert value(text, "kgitops_reconcile_duration_seconds_sum", stage="plan") == 12
    assert value(text, "kgitops_reconcile_duration_seconds_bucket", stage="apply", le="0.5") == 6
    assert value(text, "kgitops_reconcile_duration_seconds_bucket", stage="apply", le="0.1") == 0
    assert value(text, "kgitops_reconcile_turn_duration_seconds_sum") == 25.5


def test_gauges_tell_the_state() -> None:
    text = scraped(LoopMetrics(), EVERYTHING)
    assert value(text, "kgitops_reconcile_running", **UNIT) == 1
    assert value(text, "kgitops_reconcile_mode_info", **UNIT, mode="converge") == 1
    assert value(text, "kgitops_reconcile_interval_seconds") == 300
    assert value(text, "kgitops_reconcile_heartbeat_age_seconds") == 4.5
    assert value(text, "kgitops_reconcile_last_success_timestamp_seconds", **UNIT) == 1795514464
    assert value(text, "kgitops_reconcile_last_turn_timestamp_seconds", **UNIT) == 1795514584
    assert value(text, "kgitops_reconcile_last_duration_seconds", **UNIT) == 4.25
    assert value(text, "kgitops_reconcile_last_exit_code", **UNIT) == 0
    deletions = {"action": "delete", "level": "data-loss"}
    assert value(text, "kgitops_pending_changes", **UNIT, **deletions) == 2
    assert value(text, "kgitops_pending_since_timestamp_seconds", **UNIT) == 1795428000
    assert value(text, "kgitops_drifted_objects", **UNIT, kind="Topic") == 2
    assert value(text, "kgitops_policy_violations", **UNIT, level="hard") == 1
    assert value(text, "kgitops_fought_objects", **UNIT) == 1
    assert value(text, "kgitops_disabled_objects", **UNIT) == 4
    assert value(text, "kgitops_suspended", **UNIT) == 1
    assert value(text, "kgitops_registry_records", **UNIT) == 41
    assert value(text, "kgitops_source_revision_info", **UNIT, revision=REVISION.name) == 1
    assert value(text, "kgitops_source_failures", **UNIT) == 0


def test_what_is_not_known_has_no_value() -> None:
    """A zero would say that it is known, and that there is none."""
    text = scraped(LoopMetrics(), loop(unit(turns=(), last_success=None, revision=None)))
    names = {name for name, _ in samples(text)}
    assert "kgitops_suspended" in names
    for unknown in (
        "kgitops_reconcile_last_success_timestamp_seconds",
        "kgitops_reconcile_last_turn_timestamp_seconds",
        "kgitops_pending_changes",
        "kgitops_pending_since_timestamp_seconds",
        "kgitops_registry_records",
        "kgitops_source_revision_info",
    ):
        assert unknown not in names


def test_a_cluster_that_can_not_be_reached_keeps_what_was_last_seen() -> None:
    """Drift is not gone because nobody can look."""
    drifted = turn(2, drift={"Topic": 2}, drifting={"Topic": 2}, fights=("topic/a",))
    text = scraped(LoopMetrics(), loop(unit(turns=(failed(4), failed(3), drifted))))
    assert value(text, "kgitops_drifted_objects", **UNIT, kind="Topic") == 2
    assert value(text, "kgitops_fought_objects", **UNIT) == 1
    assert value(text, "kgitops_reconcile_last_exit_code", **UNIT) == 8
    unseen = scraped(LoopMetrics(), loop(unit(turns=tuple(map(failed, range(10))))))
    assert value(unseen, "kgitops_fought_objects", **UNIT) is None


def test_another_cluster_is_a_gauge() -> None:
    change = ClusterChange(
        known=ClusterIdentity(cluster_id="A"),
        found=ClusterIdentity(cluster_id="B"),
        since="2026-11-24T10:00:00Z",
    )
    for found, expected in ((None, 0), (change, 1)):
        text = scraped(LoopMetrics(), loop(unit(cluster_change=found)))
        assert value(text, "kgitops_cluster_changed", **UNIT) == expected


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_every_metric_is_as_the_catalogue_says(accept: str) -> None:
    metrics = LoopMetrics()
    metrics.observe(EVERYTHING.units[0].turns[0])
    metrics.observe_hook("accepted")
    metrics.watch_sinks(lambda: {"payments": (SinkCounts(name="chat"),)})
    exposition = metrics.exposition(EVERYTHING, 1004.5, accept)
    assert ("openmetrics" in exposition.content_type) == bool(accept)
    read = read_openmetrics if accept else read_text
    found = {}
    for family in read(exposition.body.decode()):
        name = family.name + ("_total" if family.type == "counter" else "")
        if not name.startswith("process_"):
            labels = {frozenset(each.labels) - {"le"} for each in family.samples}
            found[name] = (family.type, labels, family.documentation)
    assert found == {
        metric.name: (str(metric.type), {frozenset(metric.labels)}, metric.help)
        for metric in METRICS
    }
    assert all(
        metric.name.endswith("_total") == (metric.type is MetricType.COUNTER) for metric in METRICS
    )


def test_events_for_receivers_are_counted_by_their_fate() -> None:
    metrics = LoopMetrics()
    assert "kgitops_notifications" not in scraped(metrics, EVERYTHING), "there is no receiver"
    chat = SinkCounts(name="chat", delivered=3, failed=2, dropped=1, waiting=4, problem="secret-x")
    metrics.watch_sinks(lambda: {"payments": (chat, SinkCounts(name="pager"))})
    text = scraped(metrics, EVERYTHING)
    for sink, counts in {"chat": (3, 2, 1, 4), "pager": (0, 0, 0, 0)}.items():
        where = {"project": "payments", "sink": sink}
        fates = ("delivered", "failed", "dropped")
        assert counts == (
            *(value(text, "kgitops_notifications_total", **where, outcome=fate) for fate in fates),
            value(text, "kgitops_notifications_waiting", **where),
        )
    assert "secret-" not in text


def test_no_object_is_named() -> None:
    metrics = LoopMetrics()
    metrics.observe(EVERYTHING.units[0].turns[0])
    text = scraped(metrics, EVERYTHING)
    assert "secret-" not in text
    assert "nowhere" not in text
    assert "alice" not in text


@pytest.mark.parametrize(
    "name", ['p"} 1\nevil{a="', "back\\slash\\", "new\nline", "näme ☃", "\u202eright", "a" * 5000]
)
def test_hostile_names_stay_in_their_label(name: str) -> None:
    metrics = LoopMetrics()
    metrics.observe(turn(project=name))
    text = scraped(metrics, loop(unit(project=name, pending=PENDING)))
    projects = {dict(labels).get("project") for _, labels in samples(text)}
    assert projects == {name, None}
    assert value(text, "kgitops_suspended", project=name, cluster="prod") == 0


def test_two_loops_share_nothing() -> None:
    one, other = LoopMetrics(), LoopMetrics()
    one.observe(turn())
    assert (
        value(scraped(other, loop(unit())), "kgitops_reconcile_total", **UNIT, outcome="in-sync")
        == 0
    )
