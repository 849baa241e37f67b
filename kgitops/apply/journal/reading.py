"""Reads runs, and what commands wrote for loops, back from the registry's records.

``suspend/<project>`` is the suspension of one project, by its identity, and ``suspend`` that of
every one; so are ``confirm/<project>`` and ``confirm`` of the clusters that a person confirmed.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from kgitops.apply.journal.journal import (
    DROPPED_KEY,
    NONCE_PREFIX,
    RUN_PREFIX,
    BatchDocument,
    DroppedNonces,
    PlanPiece,
    StepDocument,
)
from kgitops.apply.steps import Batch, Run, RunHeader, RunStatus, StepRecord
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import PROJECT_PREFIX, build_registry_state
from kgitops.model import clock as moments
from kgitops.model.errors import SafetyError
from kgitops.model.json.records import Record, check_version, read_record, record
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import META_KEY, Json, RegistryState
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.plan.document.file import SealedPlan, read_canonical

SUSPEND_ALL = "suspend"
CONFIRM_ALL = "confirm"


class SuspensionDocument(Struct, frozen=True, kw_only=True):
    """A record of a suspension; times are RFC 3339, and ``until`` None has no end."""

    by: str
    since: str
    reason: str
    until: str | None


class ConfirmationDocument(Struct, frozen=True, kw_only=True):
    """A record of a confirmation; ``at`` is RFC 3339, and no two have the same ``nonce``."""

    by: str
    at: str
    cluster_id: str
    registry_topic_id: str
    nonce: str


def suspension_key(project: str | None) -> str:
    """The key of a project's suspension, by its identity; None stands for every project."""
    return SUSPEND_ALL if project is None else f"{SUSPEND_ALL}/{project}"


def confirmation_key(project: str | None) -> str:
    """The key of a project's confirmation, by its identity; None stands for every project."""
    return CONFIRM_ALL if project is None else f"{CONFIRM_ALL}/{project}"


def is_suspension(key: str) -> bool:
    """Return whether the record under ``key`` is a suspension."""
    return key.partition("/")[0] == SUSPEND_ALL


def is_confirmation(key: str) -> bool:
    """Return whether the record under ``key`` is a confirmation."""
    return key.partition("/")[0] == CONFIRM_ALL


def read_suspension(key: str, value: Mapping[str, Json]) -> SuspensionDocument:
    """Read the record of a suspension.

    Raises:
        SafetyError: it can't be read, so it is unknown whether anything may be applied.
    """
    check_version(key, value)
    try:
        document = read_record(SuspensionDocument, key, value)
        if document.until is not None:
            moments.from_text(document.until)
    except (ShapeError, ValueError):
        raise SafetyError(
            f"the registry record {key} is damaged, so it is unknown whether reconciliation is "
            "suspended; write it again with kgitops reconcile suspend or resume"
        ) from None
    return document


def read_confirmation(key: str, value: Mapping[str, Json]) -> ConfirmationDocument:
    """Read the record of a confirmation.

    Raises:
        SafetyError: it can't be read, so it is unknown which cluster was confirmed.
    """
    check_version(key, value)
    try:
        return read_record(ConfirmationDocument, key, value)
    except ShapeError:
        raise SafetyError(
            f"the registry record {key} is damaged, so it is unknown which cluster was "
            "confirmed; write it again with kgitops reconcile resume"
        ) from None


def endless_suspension(key: str) -> Record:
    """The record in the place of a suspension that can't be read: it lasts until it is ended."""
    document = SuspensionDocument(
        by="kgitops registry repair", since="", reason="its record was damaged", until=None
    )
    return record(key, document)


Latest = Mapping[str, Mapping[str, Json]]
"""The latest value of every key in the registry."""


def latest_values(entries: Iterable[RegistryEntry]) -> Latest:
    """Reduce the log's entries to the latest value of each key."""
    latest: dict[str, Mapping[str, Json]] = {}
    for entry in entries:
        if entry.value is None:
            latest.pop(entry.key, None)
        else:
            latest[entry.key] = entry.value
    return latest


def is_spent(latest: Latest, nonce: str) -> bool:
    """Return whether a plan with this nonce was begun before."""
    return f"{NONCE_PREFIX}{nonce}" in latest


def dropped_until(latest: Latest) -> datetime | None:
    """Return the latest expiry of the plans whose nonces were dropped; None where none were.

    Raises:
        SafetyError: the record can't be read.
    """
    if DROPPED_KEY not in latest:
        return None
    value = latest[DROPPED_KEY]
    check_version(DROPPED_KEY, value)
    try:
        return moments.from_text(read_record(DroppedNonces, DROPPED_KEY, value).expires)
    except (ShapeError, ValueError):
        raise SafetyError(
            f"the registry record {DROPPED_KEY} is damaged, so it is unknown which plans were "
            "applied; repair it with kgitops registry repair"
        ) from None


def known_projects(latest: Latest) -> RegistryState:
    """Build the registry state from the records of projects alone.

    Raises:
        SafetyError: a record of a project can't be read.
    """
    records = [
        RegistryEntry(offset=0, key=key, value=value, timestamp_ms=0)
        for key, value in latest.items()
        if key == META_KEY or key.startswith(PROJECT_PREFIX)
    ]
    none = RegistryState(topic_id="", offset=0)
    return build_registry_state(records, "", none)


def unfinished_runs(latest: Latest, projects: Collection[str]) -> tuple[Run, ...]:
    """Return these projects' runs that are neither done nor superseded, the oldest first.

    Raises:
        SafetyError: a record of one can't be read.
    """
    runs = [
        _read_run(key.removeprefix(RUN_PREFIX), latest)
        for key, value in latest.items()
        if _is_header(key) and ("project" not in value or value["project"] in [*projects])
    ]
    return tuple(sorted((run for run in runs if run.unfinished), key=lambda run: run.started))


def read_sealed(run: Run, latest: Latest) -> SealedPlan:
    """Read the plan that ``run`` executes, and check its digests.

    Raises:
        SafetyError: a piece is missing, or the plan is not the run's.
        UntrustedPlanError: the pieces are not the plan that was sealed.
    """
    keys = [f"{RUN_PREFIX}{run.id}/plan/{piece}" for piece in range(run.pieces)]
    try:
        content = "".join(read_record(PlanPiece, key, latest[key]).text for key in keys)
        msgspec.json.decode(content, type=msgspec.Raw)
    except (KeyError, ValueError, msgspec.DecodeError):
        raise _damaged(run.id) from None
    sealed = read_canonical(content, f"the plan in the journal of run {run.id}")
    planned = {request.id for request in sealed.plan.requests}
    planned |= {change.address for change in sealed.plan.changes if not change.requests}
    if sealed.plan_digest != run.plan_digest or not planned.issuperset(run.steps):
        raise _damaged(run.id)
    return sealed


def check_run_record(key: str, value: Mapping[str, Json]) -> None:
    """Check that a record of a run can be read.

    Raises:
        SafetyError: it can't.
        ValueError: it can't.
    """
    run_id, _, part = key.removeprefix(RUN_PREFIX).partition("/")
    if not part:
        _read_run(run_id, {key: value})
    elif part.isdecimal():
        _read_batches(f"{RUN_PREFIX}{run_id}/", {key: value})
    else:
        read_record(PlanPiece, key, value)


def _is_header(key: str) -> bool:
    return key.startswith(RUN_PREFIX) and "/" not in key.removeprefix(RUN_PREFIX)


def _read_run(run_id: str, latest: Latest) -> Run:
    key = f"{RUN_PREFIX}{run_id}"
    check_version(key, latest[key])
    try:
        header = read_record(RunHeader, key, latest[key])
        # A closed run has no batches any more, and there are as many as there were applies.
        closed = header.status in (RunStatus.DONE, RunStatus.SUPERSEDED)
        batches = () if closed else _read_batches(f"{key}/", latest)
        return Run(id=run_id, batches=batches, **asdict(header))
    except ValueError:
        raise _damaged(run_id) from None


def _read_batches(prefix: str, latest: Latest) -> tuple[Batch, ...]:
    batches = []
    for key, value in latest.items():
        number = key.removeprefix(prefix)
        if not key.startswith(prefix) or not number.isdecimal():
            continue
        check_version(key, value)
        document = read_record(BatchDocument, key, value)
        results = {
            step: _read_step(known, document.lookups.get(step))
            for step, known in document.results.items()
        }
        batches.append(
            Batch(number=int(number), api=document.api, requests=document.requests, results=results)
        )
    return tuple(sorted(batches, key=lambda batch: batch.number))


def _read_step(known: StepDocument, lookup: str | None) -> StepRecord:
    reply = None
    if known.code is not None:
        code = ErrorCode(known.code)
        reply = RequestResult(code=code, message=known.message, topic_id=known.topic_id)
    return StepRecord(outcome=known.outcome, reply=reply, lookup=lookup)


def _damaged(run_id: str) -> SafetyError:
    return SafetyError(
        f"the journal of run {run_id} is damaged, so it is unknown what it did; compare the "
        "cluster with a new plan, and let kgitops registry repair drop the run once you know"
    )
