"""Suspensions kept in the cluster's registry, where every replica of a loop sees them."""

import math
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.apply.journal.reading import (
    Latest,
    SuspensionDocument,
    read_suspension,
    suspension_key,
)
from kgitops.apply.lock import acquire
from kgitops.cluster.port import Cluster
from kgitops.model import clock as moments
from kgitops.model.clock import Clock
from kgitops.model.errors import LockedError
from kgitops.model.json.records import Record, record
from kgitops.reconcile.status import Suspension


def suspension_record(suspension: Suspension) -> Record:
    """Build the record of a suspension."""
    document = SuspensionDocument(
        by=suspension.by,
        since=suspension.since,
        reason=suspension.reason,
        until=suspension.until,
    )
    return record(suspension_key(suspension.project), document)


class SuspendedError(LockedError):
    """Reconciliation is suspended by the brokers' clock, so the lock was given back."""


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
        document = read_suspension(key, latest[key])
        found = Suspension(project=identity, **asdict(document))
        left = math.inf
        if found.until is not None:
            left = (moments.from_text(found.until) - now).total_seconds()
        end = ends.get(found, ticks + left)
        if left > 0 or end > ticks:
            holding.append(SeenSuspension(suspension=found, end=end))
    return tuple(holding)


def write_records(
    cluster: Cluster,
    entries: Callable[[], Sequence[Record]],
    *,
    holder: str,
    clock: Clock,
    lock_timeout_ms: int,
    interrupted: Callable[[], int | None],
    on_event: Callable[[Event], None] = lambda _: None,
) -> bool:
    """Write records for loops under the lock; False if it was interrupted before.

    ``entries`` is called once there is a registry.

    Raises:
        LockedError: somebody else still holds it.
    """
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(lock_timeout_ms=lock_timeout_ms),
        clock=clock,
        on_event=on_event,
        interrupted=interrupted,
    )
    lock = acquire(context, holder=holder)
    if lock is None:
        return False
    try:
        lock.append(entries())
    finally:
        lock.release()
    return True
