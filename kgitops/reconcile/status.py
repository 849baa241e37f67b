"""The result of a turn, as values for the status, the metrics, the page and the log."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model.verdict import ExitCode, Reason


class TurnOutcome(StrEnum):
    """The outcome of a turn, as a label of the metrics."""

    IN_SYNC = "in-sync"  # nothing to do
    APPLIED = "applied"  # all that was to do
    PENDING = "pending"  # changes wait for somebody, whatever else was applied
    SUSPENDED = "suspended"
    BUSY = "busy"  # somebody else holds the lock
    STOPPED = "stopped"  # by a signal
    REFUSED = "refused"  # by findings, a policy or a safety rule
    FAILED = "failed"  # unreachable, partly applied, timed out


class PendingPlan(Struct, frozen=True, kw_only=True):
    """A sealed plan that waits for ``kgitops apply``; ``path`` is its file, None without --plans.

    ``actions`` and ``levels`` count its changes by action and by the level of their worst risk, and
    ``changes`` by both;
    ``exit`` is other than 0 and 2 if it can't be applied as it is. ``since`` is when the same
    changes were first found to wait, and times are RFC 3339.
    """

    digest: str
    path: str | None
    since: str
    expires: str
    exit: ExitCode = ExitCode.CHANGES
    actions: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def applies(self) -> bool:
        """True if nothing stops it."""
        return self.exit in (ExitCode.SUCCESS, ExitCode.CHANGES)


class Suspension(Struct, frozen=True, kw_only=True):
    """Reconciliation of a project, or of every one, is suspended: who, since when, why, how long.

    ``project`` is its identity, None for every project on the cluster; ``until`` None has no end.
    """

    by: str
    since: str
    reason: str
    project: str | None = None
    until: str | None = None


class ClusterIdentity(Struct, frozen=True, kw_only=True):
    """The id of a cluster, empty where it reports none, and that of its registry, if it has one."""

    cluster_id: str
    registry_topic_id: str | None = None


class ClusterChange(Struct, frozen=True, kw_only=True):
    """Another cluster or registry than before, which nobody has confirmed since its discovery.

    ``known`` is None where it is not known any more; ``since`` is RFC 3339.
    """

    known: ClusterIdentity | None
    found: ClusterIdentity
    since: str


class TurnResult(Struct, frozen=True, kw_only=True):
    """One turn of one project on one cluster; times are RFC 3339 and durations are seconds.

    ``actions`` and ``levels`` count the changes that are left at the end of the turn, and
    ``applied_…`` those of the plan with the digest ``applied``. ``drift`` counts the drifted
    objects by kind as the turn found them, ``drifting`` those left so; ``healed`` are the addresses
    put right. ``violations`` counts what policies objected to, by level. ``fights`` are addresses
    that somebody else keeps changing, which are not healed any more. ``last_good`` is the revision
    that the cluster was compared with, where ``revision`` can't be used; then nothing is applied.
    Nor is it where there is a ``cluster_change``.
    ``notes`` are sentences about what an apply did besides its changes.
    """

    project: str
    cluster: str
    number: int
    mode: str
    started: str
    ended: str
    seconds: float
    outcome: TurnOutcome
    exit: ExitCode
    reasons: tuple[Reason, ...] = ()
    revision: str | None = None
    revision_problem: str | None = None
    last_good: str | None = None
    cluster_change: ClusterChange | None = None
    actions: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    drift: Mapping[str, int] = field(default_factory=dict)
    drifting: Mapping[str, int] = field(default_factory=dict)
    healed: tuple[str, ...] = ()
    violations: Mapping[str, int] = field(default_factory=dict)
    applied: str | None = None
    applied_actions: Mapping[str, int] = field(default_factory=dict)
    applied_levels: Mapping[str, int] = field(default_factory=dict)
    unfinished_run: str | None = None
    resumed_run: str | None = None
    others_unfinished: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pending: PendingPlan | None = None
    suspended: bool = False
    suspension: Suspension | None = None
    fights: tuple[str, ...] = ()
    disabled: int = 0
    registry_records: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
