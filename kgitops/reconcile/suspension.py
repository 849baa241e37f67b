"""Suspensions kept in the cluster's registry, where every replica of a loop sees them.

``suspend/<project>`` is that of one project, by its identity, and ``suspend`` that of every one. A
kgitops that knows no suspension passes over these records, as over all keys that it doesn't know.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.apply.journal.reading import Latest
from kgitops.apply.lock import acquire
from kgitops.cluster.port import Cluster
from kgitops.model import clock as moments
from kgitops.model.clock import Clock
from kgitops.model.errors import LockedError, SafetyError
from kgitops.model.json.records import Record, check_version, read_record, record
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json
from kgitops.reconcile.status import Suspension

SUSPEND_ALL = "suspend"


class SuspensionDocument(Struct, frozen=True, kw_only=True):
    """A record of a suspension; times are RFC 3339, and ``until`` None has no end."""

    by: str
    since: str
    reason: str
    until: str | None


def suspension_key(project: str | None) -> str:
    """The key of a project's suspension, by its identity; None stands for every project."""
    return SUSPEND_ALL if project is None else f"{SUSPEND_ALL}/{project}"


def suspension_record(suspension: Suspension) -> Record:
    """Build the record of a suspension."""
    document = SuspensionDocument(
        by=suspension.by,
        since=suspension.since,
        reason=suspension.reason,
        until=suspension.until,
    )
    return record(suspension_key(suspension.project), document)


class SeenSuspension(Struct, frozen=True, kw_only=True):
    """A suspension that a turn saw; ``end`` is its end by a clock that is never set."""

    suspension: Suspension
    end: float


def suspensions_of(
    latest: Latest,
    project: str,
    now: datetime,
    ticks: float,
    before: Collection[SeenSuspension] = (),
) -> tuple[SeenSuspension, ...]:
    """Return the suspensions that hold now: that of every project, and the project's own.

    One ends by the calendar, but no sooner than it seemed to the turns ``before``: a clock that is
    set forward must not let a loop apply what somebody asked it not to.

    Raises:
        SafetyError: a record can't be read, so it is unknown whether anything may be applied.
    """
    ends = {seen.suspension: seen.end for seen in before}
    holding = []
    for identity in (None, project):
        key = suspension_key(identity)
        if key not in latest:
            continue
        found = _read(key, latest[key], identity)
        left = math.inf
        if found.until is not None:
            left = (moments.from_text(found.until) - now).total_seconds()
        end = ends.get(found, ticks + left)
        if left > 0 or end > ticks:
            holding.append(SeenSuspension(suspension=found, end=end))
    return tuple(holding)


def _read(key: str, value: Mapping[str, Json], project: str | None) -> Suspension:
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
    return Suspension(
        project=project,
        by=document.by,
        since=document.since,
        reason=document.reason,
        until=document.until,
    )


def write_records(
    cluster: Cluster,
    entries: Callable[[], Sequence[Record]],
    *,
    holder: str,
    clock: Clock,
    patience_s: float,
    interrupted: Callable[[], int | None],
    on_event: Callable[[Event], None] = lambda _: None,
) -> bool:
    """Write records for loops under the lock; False if it was interrupted before.

    ``entries`` is called once there is a registry. Whoever holds the lock is waited for, as long
    as ``patience_s`` says.

    Raises:
        LockedError: somebody else still holds it.
    """
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(),
        clock=clock,
        on_event=on_event,
        interrupted=interrupted,
    )
    until = clock.monotonic() + patience_s
    while True:
        try:
            lock = acquire(context, holder=holder)
        except LockedError:
            if clock.monotonic() >= until or interrupted() is not None:
                raise
            clock.sleep(1)
        else:
            break
    if lock is None:
        return False
    try:
        lock.append(entries())
    finally:
        lock.release()
    return True
