"""The file of an exported registry: written, and read back or refused.

``docs/reference/registry-export.md`` has the format. The digest covers everything else in the file,
whatever its layout. It proves that the file is whole, not who wrote it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.journal.damage import find_damage
from kgitops.apply.lock_claims import LOCK_PREFIX
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import PROJECT_PREFIX
from kgitops.model.errors import SafetyError, UntrustedPlanError
from kgitops.model.json.canonical import sha256
from kgitops.model.json.codec import FormatVersion, JsonObject, Moment, WholeNumberText, from_json
from kgitops.model.json.schema import document_schema
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import META_KEY, Json
from kgitops.model.wording import format_version_text

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
