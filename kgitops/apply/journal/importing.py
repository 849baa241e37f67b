"""The registry as a file: exported, read back or refused, and imported under the lock.

``docs/reference/registry-export.md`` has the format. The digest covers everything else in the file,
whatever its layout. It proves that the file is whole, not who wrote it.

An import is all of it, or a registry that refuses to be used. The owners, projects, virtual
clusters and settings become those of the file. Some records are never taken back, because each
only forbids or tells something: spent nonces, spent Tombstones, finished runs, takeovers, repairs
and suspensions of both sides remain. Some are never brought back, because the consent or the
review behind them is out of date: releases, and the plans of unfinished runs.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.journal.damage import acquire_despite_damage, find_damage
from kgitops.apply.journal.journal import DROPPED_KEY, RUN_PREFIX
from kgitops.apply.lock import Lock
from kgitops.apply.lock_claims import LOCK_PREFIX
from kgitops.apply.steps import RunStatus
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import PROJECT_PREFIX, meta_record, without_import_marker
from kgitops.model import clock as moments
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.codec import FormatVersion, JsonObject, Moment, WholeNumberText, from_json
from kgitops.model.json.records import Record
from kgitops.model.json.schema import document_schema
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import IMPORTING, META_KEY, SCHEMA_VERSION, Json
from kgitops.model.wording import format_version_text
from kgitops.plan.ownership import EXECUTED_TOMBSTONES

FORMAT_VERSION = "1.0"
_KIND = "kgitops.registry-export"
Values = Mapping[str, Mapping[str, Json]]
"""The newest value of every key that has one."""


class ExportedRecord(JsonObject, frozen=True, kw_only=True):
    """One of ``records``."""

    key: str
    value: Mapping[str, Json]


class ExportedFrom(JsonObject, frozen=True, kw_only=True):
    """The ``registry``: its topic, the offset of its last record, and the version of ``meta``."""

    topic_id: str
    offset: WholeNumberText
    schema_version: int


class RegistryExport(JsonObject, frozen=True, kw_only=True):
    """Every living record of a registry but claims on the lock, at one offset.

    ``projects`` and ``counts`` are for reviewers: names by identity, and records by kind.
    """

    kind: Literal["kgitops.registry-export"]
    format_version: FormatVersion
    created: Moment
    cluster_id: str
    backend: str
    registry: ExportedFrom
    projects: Mapping[str, str]
    counts: Mapping[str, int]
    records: tuple[ExportedRecord, ...]
    digest: str

    @property
    def values(self) -> Values:
        """The value of each record, by key."""
        return {record.key: record.value for record in self.records}


def kind_of_record(key: str) -> str:
    """Return the part of a record's key that names its kind."""
    return key.partition("/")[0]


def living_values(entries: Iterable[RegistryEntry]) -> Values:
    """Return the newest value of each key, without claims on the lock.

    Raises:
        SafetyError: a record can't be read.
    """
    entries = tuple(entries)
    damages = find_damage(entries)
    if damages:
        raise SafetyError(f"the registry has a record that can't be used: {damages[0]}")
    newest = {entry.key: entry.value for entry in entries}
    return {
        key: value
        for key, value in sorted(newest.items())
        if value is not None and not key.startswith(LOCK_PREFIX)
    }


def make_export(
    entries: Iterable[RegistryEntry], *, created: str, cluster_id: str, backend: str, topic_id: str
) -> RegistryExport:
    """Export the records of a registry, all entries of which are given.

    Raises:
        SafetyError: a record can't be read.
    """
    entries = tuple(entries)
    values = living_values(entries)
    bare = RegistryExport(
        kind="kgitops.registry-export",
        format_version=FORMAT_VERSION,
        created=created,
        cluster_id=cluster_id,
        backend=backend,
        registry=ExportedFrom(
            topic_id=topic_id,
            offset=str(entries[-1].offset),
            schema_version=values[META_KEY]["schema_version"],
        ),
        projects=project_names(values),
        counts=count_kinds(values),
        records=tuple(ExportedRecord(key=key, value=value) for key, value in values.items()),
        digest="",
    )
    return replace(bare, digest=_digest(_document(bare)))


def project_names(values: Values) -> Mapping[str, str]:
    """Return the name of each project by its identity."""
    return {
        key.removeprefix(PROJECT_PREFIX): str(value.get("name", ""))
        for key, value in values.items()
        if key.startswith(PROJECT_PREFIX)
    }


def count_kinds(keys: Iterable[str]) -> Mapping[str, int]:
    """Count records by the kind in their keys."""
    return dict(sorted(Counter(map(kind_of_record, keys)).items()))


def export_text(export: RegistryExport) -> str:
    """Return the text of the file: JSON in ASCII, because a name may hold half a character."""
    return json.dumps(_document(export), indent=2) + "\n"


def read_export(text: str, file: str) -> RegistryExport:
    """Read what ``export_text`` wrote.

    Raises:
        UntrustedPlanError: it is no such file, was changed, or is of an unknown version.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        _refuse(file, "is not JSON, or is cut off")
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        _refuse(file, f"is not an export of a registry: its kind is not {_KIND}")
    version = document.get("format_version")
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        _refuse(
            file,
            f"{format_version_text(version)}, this kgitops reads {FORMAT_VERSION}",
            "use the kgitops that wrote it",
        )
    if _digest(document) != document.get("digest"):
        _refuse(file, "was changed: its digest is not that of its content")
    try:
        export = from_json(RegistryExport, document, "the export")
    except (ShapeError, RecursionError) as error:
        _refuse(file, f"is not a whole export: {error}")
    _check(export, file)
    return export


def export_schema() -> dict[str, Json]:
    """The schema of what ``kgitops registry export`` writes."""
    return document_schema(
        RegistryExport,
        title="kgitops registry export",
        description="The records of a registry, as kgitops registry export writes them.",
    )


def _check(export: RegistryExport, file: str) -> None:
    """Refuse records that ``make_export`` would not have written."""
    values = export.values
    if len(values) != len(export.records):
        _refuse(file, "has two records with one key")
    if not export.cluster_id:
        _refuse(file, "does not say which cluster it is of")
    claims = [key for key in values if key.startswith(LOCK_PREFIX)]
    if claims:
        _refuse(file, f"has a claim on the lock ({claims[0]!r}), which is never exported")
    if META_KEY not in values:
        _refuse(file, "has no meta record, so it is not of a registry")
    entries = [
        RegistryEntry(offset=offset, key=key, value=value, timestamp_ms=0)
        for offset, (key, value) in enumerate(values.items())
    ]
    for damage in find_damage(entries):
        _refuse(file, f"has a record that can't be used: {damage.key!r} {damage.problem}")
    newest = export.registry.schema_version
    newer = [key for key, value in values.items() if value["schema_version"] > newest]
    if newer or values[META_KEY]["schema_version"] != newest:
        _refuse(file, "contradicts itself: its records are not of its schema version")
    if export.projects != project_names(values) or export.counts != count_kinds(values):
        _refuse(file, "contradicts itself: its projects or counts do not follow from its records")


def _document(export: RegistryExport) -> dict[str, Json]:
    """Return the file as JSON, its keys in their order."""
    return {name: _json(value) for name, value in _fields(export).items()}


def _fields(export: Struct) -> dict[str, object]:
    return {name: getattr(export, name) for name in export.__struct_fields__}


def _json(value: object) -> Json:
    match value:
        case Struct():
            return {name: _json(part) for name, part in _fields(value).items()}
        case Mapping():
            return {name: _json(part) for name, part in value.items()}
        case list() | tuple():
            return [_json(part) for part in value]
        case _:
            return value


def _digest(document: Mapping[str, Json]) -> str:
    covered = {key: value for key, value in document.items() if key != "digest"}
    return sha256(json.dumps(covered, sort_keys=True, separators=(",", ":")).encode())


def _refuse(
    file: str, problem: str, advice: str = "give a file that kgitops registry export wrote"
) -> NoReturn:
    raise UntrustedPlanError(f"{file} {problem}; {advice}")


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
