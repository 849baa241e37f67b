"""Claims on the cluster's lock, as records in the registry's log.

A record holds the length of its lease, not its end: the end follows from the timestamp that the
log gave the record, so that no contender's own clock matters.

Compaction keeps only a claim's newest record. So a renewal repeats what earlier records decided:
the first one's place in the log, and the end of the lease that it prolongs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import Record, check_version
from kgitops.model.errors import SafetyError
from kgitops.model.registry import SCHEMA_VERSION, Json

LOCK_PREFIX = "lock/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim of one contender; ``order`` is the offset of its first record, kept by renewals."""

    key: str
    holder: str
    since: str
    lease_until_ms: int
    order: int
    written_ms: int


def claim_record(
    key: str, *, holder: str, since: str, lease_ms: int, renews: Claim | None
) -> Record:
    """Build the record of a first claim, or of a renewal."""
    return key, {
        "schema_version": SCHEMA_VERSION,
        "holder": holder,
        "since": since,
        "lease_ms": lease_ms,
        "claim_offset": renews.order if renews else None,
        "renews_until_ms": renews.lease_until_ms if renews else None,
    }


def is_claim(entry: RegistryEntry) -> bool:
    """Return whether the record can be read as a claim, or as the end of one."""
    if entry.value is None:
        return entry.problem is None
    try:
        read_claim(entry, entry.value)
    except SafetyError:
        return False
    return True


def read_claim(entry: RegistryEntry, value: Mapping[str, Json]) -> Claim:
    """Read the claim as it is once this record was appended.

    Raises:
        SafetyError: the record can't be read.
    """
    check_version(entry.key, value)
    try:
        renews = value["renews_until_ms"]
        order = value["claim_offset"]
        void = renews is not None and entry.timestamp_ms >= renews
        return Claim(
            key=entry.key,
            holder=value["holder"],
            since=value["since"],
            lease_until_ms=renews if void else entry.timestamp_ms + value["lease_ms"],
            order=entry.offset if order is None else order,
            written_ms=entry.timestamp_ms,
        )
    except (KeyError, TypeError):
        raise SafetyError(
            f"the registry record {entry.key} is damaged, so it is unknown who holds the "
            "lock; make sure that no kgitops runs, then repair it with kgitops registry repair"
        ) from None
