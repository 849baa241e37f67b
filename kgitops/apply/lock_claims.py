"""Claims on the cluster's lock, as records in the registry's log.

A record holds the length of its lease, not its end: the end follows from the timestamp that the
log gave the record, so that no contender's own clock matters.

Compaction keeps only a claim's newest record. So a renewal repeats what earlier records decided:
the first one's place in the log, and the end of the lease that it prolongs.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from kgitops.cluster.port import RegistryEntry
from kgitops.desired.state import Project
from kgitops.model import clock as moments
from kgitops.model.errors import LockedError, SafetyError
from kgitops.model.json.records import Record, check_version, read_record, record
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import COMMAND_PROJECT, SCHEMA_VERSION, Json

LOCK_PREFIX = "lock/"


class Claim(Struct, frozen=True, kw_only=True):
    """The claim of one contender; ``order`` is the offset of its first record, kept by renewals."""

    key: str
    holder: str
    since: str
    lease_until_ms: int
    order: int
    written_ms: int


class ClaimDocument(Struct, frozen=True, kw_only=True):
    """A record ``lock/<nonce>``; the last two are of a renewal."""

    holder: str
    since: str
    lease_ms: int
    claim_offset: int | None
    renews_until_ms: int | None


def claimant(holder: str, project: Project, run: str | None = None) -> str:
    """Return the holder with the project, and the run, that it locks the cluster for."""
    if project.identity == COMMAND_PROJECT:
        return f"{holder} for one command" + (f", run {run}" if run else "")
    return f"{holder} for the project {project.name}" + (f", run {run}" if run else "")


def locked_error(claim: Claim, advice: str) -> LockedError:
    """Build the error for a lock that another process holds by ``claim``, with what to do."""
    lease_end = moments.to_text(datetime.fromtimestamp(claim.lease_until_ms / 1000, UTC))
    return LockedError(
        f"the cluster is locked by {claim.holder} since {claim.since}; {advice} (its lease ends at "
        f"{lease_end}, unless that run renews it)"
    )


def claim_record(
    key: str,
    *,
    holder: str,
    since: str,
    lease_ms: int,
    renews: Claim | None,
    schema_version: int = SCHEMA_VERSION,
) -> Record:
    """Build the record of a first claim, or of a renewal."""
    document = ClaimDocument(
        holder=holder,
        since=since,
        lease_ms=lease_ms,
        claim_offset=renews.order if renews else None,
        renews_until_ms=renews.lease_until_ms if renews else None,
    )
    return record(key, document, schema_version=schema_version)


def is_claim(entry: RegistryEntry) -> bool:
    """Return whether the record can be read as a claim, or as the end of one."""
    if entry.value is None:
        return entry.problem is None
    try:
        read_claim(entry, entry.value)
    except SafetyError:
        return False
    return True


def live_claim(entries: Iterable[RegistryEntry], now_ms: int) -> Claim | None:
    """Return the claim that holds the lock at ``now_ms`` of the log's time; None if none does.

    For those who only look: before anything is sent, a claim of one's own decides.

    Raises:
        SafetyError: a record can't be read.
    """
    latest = {entry.key: entry for entry in entries if entry.key.startswith(LOCK_PREFIX)}
    claims = [
        read_claim(entry, entry.value) for entry in latest.values() if entry.value is not None
    ]
    return first_alive(claims, now_ms)


def first_alive(claims: Iterable[Claim], now_ms: int) -> Claim | None:
    """Return the first of the claims whose lease has not ended; None if all have."""
    alive = [claim for claim in claims if claim.lease_until_ms > now_ms]
    return min(alive, key=lambda claim: claim.order, default=None)


def read_claim(entry: RegistryEntry, value: Mapping[str, Json]) -> Claim:
    """Read the claim as it is once this record was appended.

    Raises:
        SafetyError: the record can't be read.
    """
    check_version(entry.key, value)
    try:
        document = read_record(ClaimDocument, entry.key, value)
    except ShapeError:
        raise SafetyError(
            f"the registry record {entry.key} is damaged, so it is unknown who holds the "
            "lock; make sure that no kgitops runs, then repair it with kgitops registry repair"
        ) from None
    lease_until_ms = entry.timestamp_ms + document.lease_ms
    if document.renews_until_ms is not None and entry.timestamp_ms >= document.renews_until_ms:
        lease_until_ms = document.renews_until_ms  # too late to renew it
    return Claim(
        key=entry.key,
        holder=document.holder,
        since=document.since,
        lease_until_ms=lease_until_ms,
        order=entry.offset if document.claim_offset is None else document.claim_offset,
        written_ms=entry.timestamp_ms,
    )
