"""The metrics as values: names, labels and help, for the exporter, the documents and dashboards.

No label holds the name of an object, so the number of series depends on projects and clusters
alone.
"""

from kgitops.serve.http.metric import Metric, MetricType

UNIT = ("project", "cluster")
"""The labels of a unit: one project on one cluster."""

BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
"""Upper bounds of durations: from a small embedded cluster to moves of replicas."""

_COUNTER, _GAUGE, _HISTOGRAM = MetricType.COUNTER, MetricType.GAUGE, MetricType.HISTOGRAM

TURNS = Metric(
    "kgitops_reconcile_total", _COUNTER, (*UNIT, "outcome"), "Turns that ended, by outcome."
)
STAGES = Metric(
    "kgitops_reconcile_duration_seconds",
    _HISTOGRAM,
    ("stage",),
    "Time of the stages of turns: fetch, read, plan, policy and apply.",
)
TURN_DURATION = Metric(
    "kgitops_reconcile_turn_duration_seconds", _HISTOGRAM, (), "Time of whole turns."
)
APPLIED = Metric(
    "kgitops_applied_changes_total",
    _COUNTER,
    (*UNIT, "action"),
    "Changes of the plans that turns applied as a whole, by action.",
)
HEALED = Metric(
    "kgitops_healed_objects_total",
    _COUNTER,
    UNIT,
    "Objects that somebody else had changed, and turns put right.",
)
LOCK_WAITS = Metric(
    "kgitops_lock_wait_total",
    _COUNTER,
    UNIT,
    "Turns that left their changes to a later one, since somebody else held the lock.",
)
HOOKS = Metric(
    "kgitops_hook_requests_total",
    _COUNTER,
    ("outcome",),
    "Calls of POST /reconcile: accepted, or refused for their token or for something else.",
)
NOTIFICATIONS = Metric(
    "kgitops_notifications_total",
    _COUNTER,
    ("project", "sink", "outcome"),
    "Events for a receiver of notifications: delivered, failed, or dropped since too many waited.",
)
NOTIFICATIONS_WAITING = Metric(
    "kgitops_notifications_waiting",
    _GAUGE,
    ("project", "sink"),
    "Events that wait for a receiver of notifications.",
)
LAST_SUCCESS = Metric(
    "kgitops_reconcile_last_success_timestamp_seconds",
    _GAUGE,
    UNIT,
    "End of the last turn that neither failed nor was refused; missing before the first.",
)
LAST_TURN = Metric(
    "kgitops_reconcile_last_turn_timestamp_seconds",
    _GAUGE,
    UNIT,
    "End of the last turn; missing before the first.",
)
LAST_DURATION = Metric(
    "kgitops_reconcile_last_duration_seconds", _GAUGE, UNIT, "Time that the last turn took."
)
LAST_EXIT = Metric("kgitops_reconcile_last_exit_code", _GAUGE, UNIT, "Exit code of the last turn.")
RUNNING = Metric("kgitops_reconcile_running", _GAUGE, UNIT, "1 while a turn is taken.")
MODE = Metric(
    "kgitops_reconcile_mode_info",
    _GAUGE,
    (*UNIT, "mode"),
    "1 for the mode: observe, converge or auto.",
)
INTERVAL = Metric("kgitops_reconcile_interval_seconds", _GAUGE, (), "Time between two turns.")
HEARTBEAT = Metric(
    "kgitops_reconcile_heartbeat_age_seconds",
    _GAUGE,
    (),
    "Time since the loop was last seen to run; /healthz fails beyond three intervals.",
)
PENDING_CHANGES = Metric(
    "kgitops_pending_changes",
    _GAUGE,
    (*UNIT, "action", "level"),
    "Changes of the plan that waits for somebody, by action and by the level of the worst risk.",
)
PENDING_SINCE = Metric(
    "kgitops_pending_since_timestamp_seconds",
    _GAUGE,
    UNIT,
    "When the changes that wait for somebody were first found; missing where none wait.",
)
DRIFTED = Metric(
    "kgitops_drifted_objects",
    _GAUGE,
    (*UNIT, "kind"),
    "Objects that somebody else changed since they were applied, and that are left so.",
)
VIOLATIONS = Metric(
    "kgitops_policy_violations",
    _GAUGE,
    (*UNIT, "level"),
    "Results of policies that were no pass, of the last turn's plan, by the policy's level.",
)
FIGHTS = Metric(
    "kgitops_fought_objects",
    _GAUGE,
    UNIT,
    "Objects that somebody else changes again and again, which are not healed any more.",
)
DISABLED = Metric(
    "kgitops_disabled_objects", _GAUGE, UNIT, "Objects that their label leaves out of the loop."
)
SUSPENDED = Metric(
    "kgitops_suspended", _GAUGE, UNIT, "1 where reconciliation is suspended, else 0."
)
CLUSTER_CHANGED = Metric(
    "kgitops_cluster_changed",
    _GAUGE,
    UNIT,
    "1 where another cluster or registry is found than before, and nothing is applied until "
    "someone confirms it; else 0.",
)
REGISTRY_RECORDS = Metric(
    "kgitops_registry_records",
    _GAUGE,
    UNIT,
    "Records of the cluster's registry, as the last turn read them.",
)
REVISION = Metric(
    "kgitops_source_revision_info",
    _GAUGE,
    (*UNIT, "revision"),
    "1 for the revision of the manifests that is current.",
)
SOURCE_FAILURES = Metric(
    "kgitops_source_failures",
    _GAUGE,
    UNIT,
    "Attempts in a row that found no newer revision of the manifests that can be used.",
)
BUILD = Metric("kgitops_build_info", _GAUGE, ("version", "python"), "1 for what runs.")

METRICS = (
    TURNS,
    STAGES,
    TURN_DURATION,
    APPLIED,
    HEALED,
    LOCK_WAITS,
    HOOKS,
    NOTIFICATIONS,
    NOTIFICATIONS_WAITING,
    LAST_SUCCESS,
    LAST_TURN,
    LAST_DURATION,
    LAST_EXIT,
    RUNNING,
    MODE,
    INTERVAL,
    HEARTBEAT,
    PENDING_CHANGES,
    PENDING_SINCE,
    DRIFTED,
    VIOLATIONS,
    FIGHTS,
    DISABLED,
    SUSPENDED,
    CLUSTER_CHANGED,
    REGISTRY_RECORDS,
    REVISION,
    SOURCE_FAILURES,
    BUILD,
)
"""All metrics of kgitops's own; beside them are the process's, by the names of Prometheus."""
