"""Unreadable records of a registry: the subject of each, the remedy, and the repair.

Nothing is made up. Where the log still has an earlier record of the key, that one counts again;
otherwise the key is given up, and an object whose owner is no longer known is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.journal.journal import (
    DROPPED_KEY,
    NONCE_PREFIX,
    RUN_PREFIX,
    dropped_record,
    nonce_record,
)
from kgitops.apply.journal.reading import (
    check_run_record,
    dropped_until,
    endless_suspension,
    is_confirmation,
    is_suspension,
    read_confirmation,
    read_suspension,
)
from kgitops.apply.lock import Lock, acquire
from kgitops.apply.lock_claims import LOCK_PREFIX, is_claim
from kgitops.cluster.port import Cluster, RegistryEntry, RegistryLog
from kgitops.cluster.registry import (
    IMPORT_AGAIN,
    IMPORT_CUT_OFF,
    build_registry_state,
    meta_record,
    refuse_import_marker,
)
from kgitops.lowering.record_reading import check_record, orphans
from kgitops.lowering.records import PREFIX
from kgitops.model import clock as moments
from kgitops.model.errors import KgitopsError, LockedError, SafetyError
from kgitops.model.json.records import Record, check_version, is_known_version
from kgitops.model.registry import IMPORTING, META_KEY, SCHEMA_VERSION, Json

_NEVER = "9999-12-31T23:59:59Z"
_NEWER = "of a newer kgitops"
_OF_APPLIES = (LOCK_PREFIX, NONCE_PREFIX, DROPPED_KEY, RUN_PREFIX)
REPAIR_PREFIX = "repair/"


class Damage(Struct, frozen=True, kw_only=True):
    """A key whose newest record can't be read; ``record`` repairs it, None where nothing does.

    ``since_ms`` is the log's timestamp of the record; ``offset`` is -1 where it is missing.
    """

    offset: int
    key: str
    problem: str
    remedy: str
    since_ms: int
    record: Record | None

    def __str__(self) -> str:
        """Format the damage as one line."""
        place = "missing" if self.offset < 0 else f"offset {self.offset}"
        return f"{place}  {self.key!r} {self.problem}; {self.remedy}"

    @property
    def is_claim(self) -> bool:
        """True if it may be the claim by which a process holds the lock."""
        return self.key.startswith(LOCK_PREFIX)


def find_damage(entries: Sequence[RegistryEntry]) -> tuple[Damage, ...]:
    """Find every key whose newest record can't be read, in the order of the log."""
    history: dict[str, list[RegistryEntry]] = {}
    for entry in entries:
        history.setdefault(entry.key, []).append(entry)
    newest = {key: records[-1] for key, records in history.items()}
    problems = {
        key: problem for key, entry in newest.items() if (problem := _problem(entry)) is not None
    }
    lowered = {
        key.removeprefix(PREFIX): entry.value
        for key, entry in newest.items()
        if key.startswith(PREFIX) and key not in problems and entry.value is not None
    }
    problems |= {f"{PREFIX}{key}": problem for key, problem in orphans(lowered).items()}
    damages = [_damage(history[key], problem) for key, problem in problems.items()]
    if META_KEY not in history or (history[META_KEY][-1].value is None and not damages):
        damages.append(
            Damage(
                offset=-1,
                key=META_KEY,
                problem="is missing, so this does not count as a registry",
                remedy="it is written again",
                since_ms=0,
                record=meta_record(),
            )
        )
    return tuple(sorted(damages, key=lambda damage: damage.offset))


def require_sound(entries: Iterable[RegistryEntry]) -> None:
    """Refuse damage that the registry's state does not show.

    It is that of claims, spent plans and runs, and of what loops may do.

    Raises:
        SafetyError: a key's newest record can't be read; its offset and key are named.
    """
    newest = {
        entry.key: entry
        for entry in entries
        if entry.key.startswith(_OF_APPLIES)
        or is_suspension(entry.key)
        or is_confirmation(entry.key)
    }
    for entry in newest.values():
        problem = _problem(entry)
        if problem is not None:
            if problem.endswith(_NEWER) and entry.value is not None:
                check_version(entry.key, entry.value)
            unknown = (
                "what earlier applies did"
                if entry.key.startswith(_OF_APPLIES)
                else "what kgitops reconcile may do"
            )
            raise SafetyError(
                f"the registry record at offset {entry.offset}, key {entry.key!r}, {problem}, so "
                f"{unknown} can't be known; see what is lost with kgitops registry "
                "check, and find out who may write the registry"
            )


def repair_record(
    name: str, holder: str, moment: str, damages: Iterable[Damage]
) -> tuple[str, Mapping[str, Json]]:
    """Build the record of the repair itself."""
    return f"{REPAIR_PREFIX}{name}", {
        "schema_version": SCHEMA_VERSION,
        "holder": holder,
        "at": moment,
        "records": [
            {"offset": str(damage.offset), "key": _printable(damage.key), "remedy": damage.remedy}
            for damage in damages
        ],
    }


def _problem(entry: RegistryEntry) -> str | None:
    """Return the problem of a record; None where it is as kgitops writes it."""
    if entry.problem is not None:
        return entry.problem
    if entry.value is None:
        return None
    version = entry.value.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        return f"has schema version {version}, {_NEWER}"
    if not is_known_version(version):
        return "has no schema version, so someone else wrote it"
    try:
        _check(entry, entry.value)
    except (KgitopsError, ValueError) as error:
        return f"can't be understood ({str(error).partition(';')[0]})"
    return None


def _check(entry: RegistryEntry, value: Mapping[str, Json]) -> None:
    if entry.key.startswith(LOCK_PREFIX):
        if not is_claim(entry):
            raise ValueError("it is not a claim on the lock")
    elif entry.key.startswith(NONCE_PREFIX):
        if not isinstance(value.get("expires"), str):
            raise ValueError("it does not say when its plan expires")
    elif entry.key == DROPPED_KEY:
        dropped_until({entry.key: value})
    elif entry.key.startswith(RUN_PREFIX):
        check_run_record(entry.key, value)
    elif is_suspension(entry.key):
        read_suspension(entry.key, value)
    elif is_confirmation(entry.key):
        read_confirmation(entry.key, value)
    elif entry.key.startswith(PREFIX):
        check_record(entry.key.removeprefix(PREFIX), value)
    elif entry.key == META_KEY:
        refuse_import_marker(entry)
    else:
        key, first = meta_record()
        mark = RegistryEntry(offset=0, key=key, value=first, timestamp_ms=0)
        build_registry_state((mark, entry), "")


def _damage(records: Sequence[RegistryEntry], problem: str) -> Damage:
    newest = records[-1]
    remedy: str
    record: Record | None
    if problem.endswith(_NEWER):
        remedy, record = "use a newer kgitops", None
    elif newest.value is not None and newest.key == META_KEY and IMPORTING in newest.value:
        problem, remedy, record = IMPORT_CUT_OFF, IMPORT_AGAIN, None
    else:
        remedy, record = _remedy(newest, records[:-1])
    return Damage(
        offset=newest.offset,
        key=newest.key,
        problem=problem,
        remedy=remedy,
        since_ms=newest.timestamp_ms,
        record=record,
    )


def _remedy(newest: RegistryEntry, before: Sequence[RegistryEntry]) -> tuple[str, Record]:
    key = newest.key
    if key == DROPPED_KEY:
        # Nonces are dropped long after their plans have expired, so this is late enough.
        moment = moments.to_text(datetime.fromtimestamp(newest.timestamp_ms / 1000, UTC))
        return f"plans that expire until {moment} are refused", dropped_record(moment)
    if key == META_KEY:
        return "it is written again", meta_record()
    if key.startswith(LOCK_PREFIX):
        return "the claim is dropped", (key, None)
    if is_suspension(key):
        # It may have been a longer suspension than any that is still in the log.
        return "reconciliation is suspended until kgitops reconcile resume", endless_suspension(key)
    if is_confirmation(key):
        return "a loop that waits for it needs kgitops reconcile resume again", (key, None)
    earlier = next((entry for entry in reversed(before) if _problem(entry) is None), None)
    if earlier is not None and earlier.value is not None:
        value = {**earlier.value, "schema_version": SCHEMA_VERSION}
        return f"the record at offset {earlier.offset} counts again", (key, value)
    if key.startswith(NONCE_PREFIX):
        spent = nonce_record(key.removeprefix(NONCE_PREFIX), "unknown", _NEVER)
        return "its plan counts as applied for ever", spent
    return _loss(key), (key, None)


def _loss(key: str) -> str:
    kind, _, name = key.partition("/")
    match kind:
        case "own":
            return f"{_printable(name)} has no owner any more: it is kept; declare it to adopt it"
        case "project":
            return f"the name of the project {_printable(name)} is lost until its next apply"
        case "release":
            return f"the release by the project {_printable(name)} is lost; write it again there"
        case "takeover":
            return "the project that lost objects is not told of this takeover"
        case "vcs":
            return "its record of virtual clusters is lost: make a plan, and review all of it"
        case "run":
            return "its run can't be resumed: make a new plan"
        case _:
            return "it is dropped; kgitops did not write it"


def _printable(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()


def check_registry(cluster: Cluster) -> tuple[int, tuple[Damage, ...]]:
    """Count the records of the registry and find the damaged ones; (0, ()) without a registry.

    Raises:
        SafetyError: the registry can't be read to its end, or records of it were lost.
    """
    entries = cluster.registry.scan()
    return (0, ()) if entries is None else (len(entries), find_damage(entries))


def repair_registry(
    context: ApplyContext, expected: Sequence[Damage], *, holder: str, name: str
) -> bool:
    """Repair all of ``expected`` or nothing; return False where it was interrupted before.

    Raises:
        LockedError: a process holds the lock, or may hold it by a claim that can't be read.
        SafetyError: something can't be repaired, or the damage is no longer as expected.
    """
    log = context.cluster.registry
    for damage in expected:
        _require_repairable(damage)
        _refuse_recent_claim(damage, context, log)
    lock = acquire_despite_damage(context, holder=holder)
    if lock is None:
        return False
    try:
        if find_damage(log.scan() or ()) != tuple(expected):
            raise SafetyError(
                "the registry changed meanwhile, so nothing was mended; look again with kgitops "
                "registry check"
            )
        moment = moments.to_text(context.clock.now())
        records = [damage.record for damage in expected if damage.record is not None]
        lock.append([*records, repair_record(name, holder, moment, expected)])
    finally:
        lock.release()
    return True


def acquire_despite_damage(context: ApplyContext, *, holder: str) -> Lock | None:
    """Acquire the lock on a registry that has unreadable records; None when interrupted.

    Raises:
        LockedError: another process holds it.
    """
    log = context.cluster.registry
    readable = cast(Cluster, _Override(context.cluster, registry=_ReadableEntries(log)))
    return acquire(replace(context, cluster=readable), holder=holder)


def _require_repairable(damage: Damage) -> None:
    if damage.record is None:
        raise SafetyError(
            f"the registry record at offset {damage.offset}, key {damage.key!r}, "
            f"{damage.problem}, so nothing was mended; {damage.remedy}"
        )


def _refuse_recent_claim(damage: Damage, context: ApplyContext, log: RegistryLog) -> None:
    """Refuse while the holder of an unreadable claim may still be at work."""
    settings = context.settings
    until = damage.since_ms + settings.lease_ms + settings.timeout_ms
    if damage.is_claim and log.now_ms() < until:
        raise LockedError(
            f"the claim on the lock at offset {damage.offset} can't be read, so its holder may be "
            "at work; see that no kgitops runs, and try again in two minutes"
        )


class _Override:
    """An object with some of its attributes replaced."""

    def __init__(self, target: object, **replaced: object) -> None:
        self._target = target
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever it has)
        return getattr(self._target, name)


class _ReadableEntries(_Override):
    """A registry's log that returns only the readable entries."""

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Read the readable entries, in order."""
        entries = self._target.scan(since)  # type: ignore[attr-defined]
        if entries is None:
            return None
        damaged = {damage.offset for damage in find_damage(entries)}
        return [e for e in entries if not e.problem and e.offset not in damaged]
