"""The registry's records: their keys, their JSON, and the state that is built from them.

The layout is the same on every kind of cluster: canonical JSON, each with ``schema_version``.

=====================  ==========================================================================
``meta``               the mark that this is a registry
``project/<id>``       the name a project was last applied under, and the identities it had before
``own/<address>``      an object's owner and last applied declaration (:class:`Owner`)
``lock/<nonce>``       one claim on the lock
``nonce/<nonce>``      a plan that was spent
``nonce``              the expiry until which nonces were dropped, so that such plans are refused
``run/<id>``           one apply: its header; ``run/<id>/plan/<k>`` its plan in pieces
``run/<id>/<n>``       the intent, then the outcome, of one wire batch
``release/<id>``       the project that may take over this one's objects (:class:`Release`)
``takeover/<run>/<n>`` the objects of one project that a run took over (:class:`TakeoverRecord`)
``vcs/…``              virtual clusters on a Kafka that has none (``kgitops.lowering.records``)
``import/<id>``        an import of an exported registry
``repair/<id>``        the records that ``kgitops registry repair`` restored or gave up
``suspend[/<id>]``     a suspension of ``kgitops reconcile``, of every project or of one
``confirm[/<id>]``     the cluster and registry that ``kgitops reconcile resume`` confirmed last
=====================  ==========================================================================
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from kgitops.cluster.port import RegistryEntry
from kgitops.model.errors import SafetyError
from kgitops.model.json.declared import check_declaration
from kgitops.model.json.records import Record, check_version, read_record, record
from kgitops.model.json.strict import MAX_SAFE, ShapeError, parse_whole_numbers
from kgitops.model.registry import (
    IMPORTING,
    META_KEY,
    SCHEMA_VERSION,
    Json,
    Owner,
    RecordedRun,
    RegistryState,
    TakeoverRecord,
)

T = TypeVar("T")
_STRANGER = "so someone else wrote it"
_Scalar = str | Annotated[int, Meta(ge=-MAX_SAFE, le=MAX_SAFE)] | bool | None
_Inner = _Scalar | list[_Scalar] | dict[str, _Scalar]
_Middle = _Scalar | list[_Inner] | dict[str, _Inner]
_decoder = msgspec.json.Decoder(dict[str, _Scalar | list[_Middle] | dict[str, _Middle]])


def read_entry(
    offset: int, key: bytes | None, data: bytes | None, timestamp_ms: int
) -> RegistryEntry:
    """Read one message of the log; what kgitops can't have written is the entry's ``problem``.

    A message without a key has the empty key, by which a repair can supersede it. A repair also
    deletes keys that are not UTF-8, so one without a value is sound.
    """
    value = problem = None
    key = key or b""
    try:
        if data is not None:
            key.decode()
            value = _object(data)
    except (ValueError, TypeError, RecursionError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        problem = f"is not a JSON object as kgitops writes it{why}, {_STRANGER}"
    if not key and data is not None:
        value, problem = None, f"has no key, {_STRANGER}"
    return RegistryEntry(
        offset=offset,
        key=key.decode(errors="surrogateescape"),
        value=value,
        timestamp_ms=timestamp_ms,
        problem=problem,
    )


def _object(data: bytes) -> Mapping[str, Json]:
    try:
        value = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        pass  # nested deeper, or wrong
    else:
        if msgspec.json.encode(value) == data:
            return value  # so no key is there twice
    value = parse_whole_numbers(data.decode())
    if not isinstance(value, dict):
        raise TypeError
    return value


PROJECT_PREFIX = "project/"
IMPORT_CUT_OFF = "was being imported, and the import did not finish"
IMPORT_AGAIN = "run kgitops registry import FILE --replace again, with the same file"
RELEASE_PREFIX = "release/"
TAKEOVER_PREFIX = "takeover/"
_FINISHED = ("done", "superseded")


class ProjectDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record ``project/<id>``: the last applied name, and the former identities, if any."""

    name: str
    formerly: tuple[str, ...] = ()


class Release(Struct, frozen=True, kw_only=True):
    """A record ``release/<id>``: the project ``id`` lets ``to`` take over its objects."""

    to: str
    at: str
    holder: str


def meta_record(schema_version: int = SCHEMA_VERSION) -> Record:
    """Build the first record of every registry."""
    return META_KEY, {"schema_version": schema_version, "kind": "kgitops.registry"}


def project_record(identity: str, name: str, formerly: Iterable[str] = ()) -> Record:
    """Build the record of a project: its last applied name, and its former identities."""
    project = ProjectDocument(name=name, formerly=tuple(sorted(formerly)))
    return record(f"{PROJECT_PREFIX}{identity}", project)


def release_record(identity: str, release: Release | None) -> Record:
    """Build the record of a project's release; None withdraws it."""
    key = f"{RELEASE_PREFIX}{identity}"
    return (key, None) if release is None else record(key, release)


def owner_record(address: str, owner: Owner | None) -> Record:
    """Build the record of an object's owner; None removes it."""
    key = f"own/{address}"
    return (key, None) if owner is None else record(key, owner)


def superseded(entries: Iterable[RegistryEntry]) -> frozenset[int]:
    """Return the offsets of entries that a later entry of the same key supersedes."""
    newest: dict[str, int] = {}
    offsets = set()
    for entry in entries:
        if entry.key in newest:
            offsets.add(newest[entry.key])
        newest[entry.key] = entry.offset
    return frozenset(offsets)


def without_unreadable(entries: Sequence[RegistryEntry]) -> Sequence[RegistryEntry]:
    """Return the readable entries, where each unreadable one is superseded by a later entry.

    Raises:
        SafetyError: an unreadable entry still counts; its offset and key are named.
    """
    if not any(entry.problem for entry in entries):
        return entries
    past = superseded(entries)
    for entry in entries:
        if entry.problem and entry.offset not in past:
            raise SafetyError(
                f"the registry record at offset {entry.offset}, key {entry.key!r}, "
                f"{entry.problem}, so who owns what can't be known; see what is lost with kgitops "
                "registry check, and find out who may write the registry"
            )
    return [entry for entry in entries if not entry.problem]


def refuse_import_marker(meta: RegistryEntry) -> None:
    """Refuse a registry while an import of it is not finished.

    Raises:
        SafetyError: it is not.
    """
    if meta.value is not None and IMPORTING in meta.value:
        raise SafetyError(f"the registry {IMPORT_CUT_OFF}; {IMPORT_AGAIN}")


def without_import_marker(
    entries: Sequence[RegistryEntry],
) -> tuple[Sequence[RegistryEntry], bool]:
    """Return the entries as if an unfinished import had not begun, and whether one has."""
    newest = next((entry for entry in reversed(entries) if entry.key == META_KEY), None)
    if newest is None or newest.value is None or IMPORTING not in newest.value:
        return entries, False
    _, value = meta_record(newest.value["schema_version"])
    unmarked = replace(newest, value=value)
    return [unmarked if entry is newest else entry for entry in entries], True


def build_registry_state(
    entries: Iterable[RegistryEntry], topic_id: str, before: RegistryState | None = None
) -> RegistryState:
    """Build the state from entries in log order: all of them, or those that follow ``before``.

    Raises:
        SafetyError: there is no ``meta`` record, or a record is damaged or of an unknown version.
    """
    version: int | None = before.schema_version if before else None
    offset = before.offset if before else -1
    projects = dict(before.projects) if before else {}
    formerly = dict(before.formerly) if before else {}
    owners = dict(before.owners) if before else {}
    virtual_clusters = dict(before.virtual_clusters) if before else {}
    releases = dict(before.releases) if before else {}
    runs = dict(before.runs) if before else {}
    takeovers = dict(before.takeovers) if before else {}
    entries = tuple(entries)
    past = superseded(entries)
    for entry in entries:
        offset = entry.offset
        if offset in past:  # it has been superseded, maybe by a repair
            continue
        kind, _, name = entry.key.partition("/")
        if entry.value is not None:
            check_version(entry.key, entry.value)
        try:
            match kind:
                case "own":
                    owner = _read(Owner, entry)
                    if owner is not None:
                        check_declaration(name, owner)
                    _put(owners, name, owner)
                case "project":
                    project = _read(ProjectDocument, entry)
                    _put(projects, name, project.name if project else None)
                    _put(formerly, name, (project.formerly or None) if project else None)
                case "vcs":
                    if entry.value is not None:
                        # Only virtual clusters need it; most commands start without it.
                        from kgitops.lowering.record_reading import check_record

                        check_record(name, entry.value)
                    _put(virtual_clusters, name, entry.value)
                case "release":
                    release = _read(Release, entry)
                    _put(releases, name, release.to if release else None)
                case "takeover":
                    _put(takeovers, name, _read(TakeoverRecord, entry))
                case "run" if "/" not in name:
                    _put(runs, name, _run_summary(entry.value))
                case _ if entry.key == META_KEY:
                    refuse_import_marker(entry)
                    version = (entry.value or {}).get("schema_version")
        except ShapeError as error:
            raise _damaged(f"at offset {offset}, key {entry.key!r}: {error}") from error
    if any(entry.key.startswith("vcs/") for entry in entries):
        from kgitops.lowering.record_reading import orphans

        for key, problem in orphans(virtual_clusters).items():
            raise _damaged(f"vcs/{key} {problem}")
    if version is None:
        raise SafetyError(
            "the registry has no meta record, so it can't be trusted to know who owns what; "
            "restore the registry, or remove it to start without ownership"
        )
    return RegistryState(
        topic_id=topic_id,
        offset=offset,
        projects=projects,
        formerly=formerly,
        owners=owners,
        virtual_clusters=virtual_clusters,
        schema_version=version,
        releases=releases,
        runs=_worth_keeping(runs),
        takeovers=takeovers,
    )


def _damaged(problem: str) -> SafetyError:
    return SafetyError(
        f"a registry record is damaged, {problem}; it is unknown who owns what, so see what is "
        "lost with kgitops registry check"
    )


def _run_summary(value: Mapping[str, Json] | None) -> RecordedRun | None:
    """Summarize a run's header; a field that can't be read is empty, and such a run unfinished."""
    if value is None:
        return None
    return RecordedRun(
        project=str(value.get("project", "")),
        started=str(value.get("started", "")),
        holder=str(value.get("holder", "")),
        unfinished=value.get("status") not in _FINISHED,
    )


def _worth_keeping(runs: Mapping[str, RecordedRun]) -> Mapping[str, RecordedRun]:
    """Return the unfinished runs, and of each project the newest of the others."""
    newest: dict[str, tuple[str, str]] = {}
    for name, run in runs.items():
        if not run.unfinished:
            newest[run.project] = max(newest.get(run.project, ("", "")), (run.started, name))
    kept = {name for _, name in newest.values()}
    return {name: run for name, run in runs.items() if run.unfinished or name in kept}


def takeover_records(state: RegistryState) -> Iterator[Record]:
    """Yield the records of releases and takeovers from which ``state`` was built."""
    for identity, to in state.releases.items():
        yield release_record(identity, Release(to=to, at="", holder=""))
    for name, taken in state.takeovers.items():
        yield record(f"{TAKEOVER_PREFIX}{name}", taken)


def _read(kind: type[T], entry: RegistryEntry) -> T | None:
    return None if entry.value is None else read_record(kind, entry.key, entry.value)


def _put(values: dict[str, T], name: str, value: T | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
