"""The document of ``/status``, and its JSON Schema."""

from typing import Literal

import msgspec
from msgspec import Struct

from kgitops.model.json.objects import like
from kgitops.model.json.schema import document_schema
from kgitops.model.registry import Json
from kgitops.reconcile.loop_status import LoopStatus, UnitStatus, health_problem, readiness_problems
from kgitops.reconcile.status import ClusterChange, PendingPlan, Suspension, TurnResult


class RevisionDocument(Struct, frozen=True, kw_only=True):
    """A revision of the manifests; ``problem`` says why there is no newer one."""

    name: str
    branch: str
    signed_by: str | None
    problem: str | None


class UnitDocument(Struct, frozen=True, kw_only=True):
    """One project on one cluster; times are RFC 3339, and turns come newest first."""

    project: str
    cluster: str
    mode: str
    running: bool
    next_turn: str | None
    last_success: str | None
    suspended: bool
    suspension: Suspension | None
    cluster_change: ClusterChange | None
    pending: PendingPlan | None
    revision: RevisionDocument | None
    source_failures: int
    turns: tuple[TurnResult, ...]


class StatusDocument(Struct, frozen=True, kw_only=True):
    """The state of the loop; ``problems`` say why it is not healthy or not ready."""

    format_version: Literal["1.0"] = "1.0"
    kind: Literal["kgitops.reconcile-status"] = "kgitops.reconcile-status"
    version: str
    started: str
    healthy: bool
    ready: bool
    problems: tuple[str, ...]
    heartbeat_age_seconds: float
    interval_seconds: float
    units: tuple[UnitDocument, ...]


def status_document(status: LoopStatus, now: float) -> StatusDocument:
    """The document of a state; ``now`` is of the monotonic clock."""
    unhealthy, unready = health_problem(status, now), readiness_problems(status)
    return StatusDocument(
        version=status.version,
        started=status.started,
        healthy=unhealthy is None,
        ready=not unready,
        problems=(*([] if unhealthy is None else [unhealthy]), *unready),
        heartbeat_age_seconds=round(max(0.0, now - status.heartbeat), 3),
        interval_seconds=status.interval,
        units=tuple(map(_unit, status.units)),
    )


def status_json(status: LoopStatus, now: float) -> bytes:
    return msgspec.json.format(msgspec.json.encode(status_document(status, now)), indent=2) + b"\n"


def status_schema() -> dict[str, Json]:
    """The schema of ``/status``; objects may gain keys within a major version."""
    return document_schema(
        StatusDocument,
        title="kgitops reconcile status",
        description="The state of kgitops reconcile, as GET /status answers.",
    )


def _unit(unit: UnitStatus) -> UnitDocument:
    revision = unit.revision and like(RevisionDocument, unit.revision)
    return like(UnitDocument, unit, revision=revision)
