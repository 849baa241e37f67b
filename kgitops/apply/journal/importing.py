"""Importing an exported registry under the lock: all of it, or a registry that refuses to be used.

The owners, projects, virtual clusters and settings become those of the file. Some records are never
taken back, because each only forbids or tells something: spent nonces, spent Tombstones, finished
runs, takeovers, repairs and suspensions of both sides remain. Some are never brought back, because
the consent or the review behind them is out of date: releases, and the plans of unfinished runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from kgitops.apply.context import ApplyContext
from kgitops.apply.journal.export_file import (
    RegistryExport,
    Values,
    kind_of_record,
    living_values,
    project_names,
)
from kgitops.apply.journal.records import DROPPED_KEY, RUN_PREFIX
from kgitops.apply.journal.repair import acquire_despite_damage
from kgitops.apply.lock import Lock
from kgitops.apply.steps.runs import RunStatus
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import meta_record, without_import_marker
from kgitops.model import clock as moments
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.json.records import Record
from kgitops.model.registry import IMPORTING, META_KEY, SCHEMA_VERSION, Json
from kgitops.plan.ownership import EXECUTED_TOMBSTONES

IMPORT_PREFIX = "import/"
_KEPT = ("nonce", "run", "takeover", "repair", "import", "suspend", "confirm", "release")
"""Kinds of which the cluster's own records remain, and win over those of the file."""
_NOT_LIVE = ("meta", "nonce", "repair", "import", "suspend", "confirm")
_NOT_IMPORTED = ("release", "confirm")
"""Kinds that a person decided at a moment, which an import must not decide again."""
_UNFINISHED = (RunStatus.OPEN, RunStatus.FAILED)
_ATOMIC_BYTES = 4 << 20
_ATOMIC_RECORDS = 5_000


class RecordChange(Struct, frozen=True, kw_only=True):
    """One record before and after the import; None where there is none."""

    key: str
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None


class ImportPlan(Struct, frozen=True, kw_only=True):
    """The effect of an import, for review, and to be repeated under the lock.

    ``changes`` leave out ``meta``. ``kept`` are records of the cluster that the file does not have,
    ``closed`` the unfinished runs of the file, by id, and ``left_out`` its other records that are
    not imported. ``schema_version`` is before and after. ``resumes`` an import that was cut off.
    """

    changes: tuple[RecordChange, ...]
    kept: tuple[str, ...]
    closed: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    projects: Mapping[str, str] = field(default_factory=dict)
    schema_version: tuple[int | None, int]
    resumes: bool = False

    @property
    def is_empty(self) -> bool:
        """True if the registry is as the file has it."""
        before, after = self.schema_version
        return not self.changes and not self.resumes and before == after


def plan_import(
    entries: Sequence[RegistryEntry] | None,
    export: RegistryExport,
    *,
    cluster_id: str,
    file: str,
    may_replace: bool,
    cluster: str = "another cluster",
) -> ImportPlan:
    """Compare a registry, all entries of which are given, with an export of this cluster.

    ``cluster`` is its name in messages.

    Raises:
        UntrustedPlanError: the export is another cluster's.
        SafetyError: the registry is live and may not be replaced, a run on it is not finished, or
            a record of it can't be read.
    """
    if export.cluster_id != cluster_id:
        raise UntrustedPlanError(
            f"{file} is the registry of the cluster {export.cluster_id}, and this is {cluster} "
            f"({f'id {cluster_id}' if cluster_id else 'without an id'}); give an export of this "
            "cluster, or correct -c"
        )
    readable, resumes = without_import_marker(entries or ())
    current = living_values(readable) if entries else {}
    for key, value in current.items():
        if _is_header(key) and value["status"] in _UNFINISHED:
            raise SafetyError(
                f"the run {key.removeprefix(RUN_PREFIX)} on this cluster is not finished, and its "
                "journal would be lost; finish it with kgitops apply --resume, then import again"
            )
    live = sorted({kind_of_record(key) for key in current} - {*_NOT_LIVE})
    if live and not may_replace:
        raise SafetyError(
            f"this cluster has a live registry, with {len(current):,} records (of "
            f"{', '.join(live)}); save it with kgitops registry export -o FILE, then import with "
            "--replace"
        )
    values, closed, left_out = _importable(export.values)
    version = export.registry.schema_version
    kept = {
        key: {**value, "schema_version": min(value["schema_version"], version)}
        for key, value in current.items()
        if kind_of_record(key) in _KEPT
    }
    target = {**values, **kept}
    for key in target.keys() & current.keys():
        if kind_of_record(key) == "own":
            target[key] = _with_executed_tombstones(target[key], current[key])
    if DROPPED_KEY in values and DROPPED_KEY in kept:
        # The nonces of both sides remain, so what either side has dropped stays refused.
        later = max(values[DROPPED_KEY]["expires"], kept[DROPPED_KEY]["expires"])
        target[DROPPED_KEY] = {**kept[DROPPED_KEY], "expires": later}
    return ImportPlan(
        changes=tuple(_changes(current, target)),
        kept=tuple(sorted(kept.keys() - values.keys())),
        closed={run: closed[run] for run in closed if f"{RUN_PREFIX}{run}" not in kept},
        left_out=left_out,
        projects={**project_names(current), **project_names(values)},
        schema_version=(current[META_KEY]["schema_version"] if current else None, version),
        resumes=resumes,
    )


def import_registry(
    context: ApplyContext,
    export: RegistryExport,
    expected: ImportPlan,
    *,
    file: str,
    may_replace: bool,
    holder: str,
    name: str,
) -> bool:
    """Import exactly as ``expected``, or not at all; return False where interrupted before.

    A small import is one atomic write. A larger one begins with a mark in ``meta``, by which every
    plan, apply and gateway refuses the registry until the last write replaces the mark.

    Raises:
        LockedError: a process holds the lock, or has taken it over.
        SafetyError: the registry changed since ``expected``, or as for ``plan_import``.
        UnreachableError: the cluster can't be written.
    """
    log = context.cluster.registry
    lock = acquire_despite_damage(context, holder=holder)
    if lock is None:
        return False
    try:
        # The claim itself has created a registry that was absent.
        plan = plan_import(
            log.scan(),
            export,
            cluster_id=context.cluster.cluster_id,
            file=file,
            may_replace=may_replace,
        )
        if plan.changes != expected.changes or plan.resumes != expected.resumes:
            raise SafetyError(
                "the registry changed meanwhile, so nothing was imported; import again and review "
                "what is shown"
            )
        version = export.registry.schema_version
        last = [
            _import_record(name, holder, moments.to_text(context.clock.now()), export),
            meta_record(version),
        ]
        _write(lock, [(change.key, change.after) for change in plan.changes], last, export.digest)
    finally:
        lock.release()
    return True


def _write(lock: Lock, records: Sequence[Record], last: Sequence[Record], digest: str) -> None:
    parts = list(_parts(records))
    if len(parts) > 1:
        key, meta = meta_record(SCHEMA_VERSION)
        lock.append([(key, {**(meta or {}), IMPORTING: digest})])
        for part in parts[:-1]:
            lock.append(part)
    lock.close([*(parts[-1] if parts else ()), *last])


def _parts(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Cut records into parts that can each be written atomically."""
    part: list[Record] = []
    size = 0
    for key, value in records:
        length = len(key) + (0 if value is None else len(canonical_json(value)))
        if part and (size + length > _ATOMIC_BYTES or len(part) >= _ATOMIC_RECORDS):
            yield part
            part, size = [], 0
        part.append((key, value))
        size += length
    if part:
        yield part


def _importable(
    values: Values,
) -> tuple[dict[str, Mapping[str, Json]], dict[str, str], tuple[str, ...]]:
    """Return the records to import, the unfinished runs, which are closed, and what is left out."""
    unfinished = {
        key.removeprefix(RUN_PREFIX): str(value["project"])
        for key, value in values.items()
        if _is_header(key) and value["status"] in _UNFINISHED
    }
    importable: dict[str, Mapping[str, Json]] = {}
    left_out = []
    for key, value in values.items():
        if _is_header(key) and key.removeprefix(RUN_PREFIX) in unfinished:
            importable[key] = {**value, "status": str(RunStatus.SUPERSEDED), "pieces": 0}
        elif kind_of_record(key) in _NOT_IMPORTED:
            left_out.append(key)
        elif kind_of_record(key) != "run" or _is_header(key):
            importable[key] = value
    return importable, unfinished, tuple(left_out)


def _with_executed_tombstones(
    imported: Mapping[str, Json], current: Mapping[str, Json]
) -> Mapping[str, Json]:
    """Return the imported owner such that no Tombstone acts a second time.

    An object that a Tombstone deleted stays deleted: what has its name now is another object.
    """
    if current["spent"]:
        version = min(imported["schema_version"], current["schema_version"])
        return {**current, "schema_version": version}
    executed = current["last_applied"].get(EXECUTED_TOMBSTONES, ())
    applied = imported["last_applied"]
    both = [*dict.fromkeys([*applied.get(EXECUTED_TOMBSTONES, ()), *executed])]
    if not both:
        return imported
    return {**imported, "last_applied": {**applied, EXECUTED_TOMBSTONES: both}}


def _changes(current: Values, target: Values) -> Iterator[RecordChange]:
    for key in sorted({*current, *target} - {META_KEY}):
        before, after = current.get(key), target.get(key)
        if before != after:
            yield RecordChange(key=key, before=before, after=after)


def _is_header(key: str) -> bool:
    return key.startswith(RUN_PREFIX) and "/" not in key.removeprefix(RUN_PREFIX)


def _import_record(name: str, holder: str, moment: str, export: RegistryExport) -> Record:
    """Build the record of the import itself."""
    return f"{IMPORT_PREFIX}{name}", {
        "schema_version": export.registry.schema_version,
        "holder": holder,
        "at": moment,
        "digest": export.digest,
        "exported": export.created,
    }
