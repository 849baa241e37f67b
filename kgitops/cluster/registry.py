"""The registry's records: their keys, their JSON, and the state that is built from them.

The layout is the same on every kind of cluster: canonical JSON, each with ``schema_version``.

=====================  ==========================================================================
``meta``               the mark that this is a registry
``project/<id>``       the name a project was last applied under, and the identities it had before
``own/<address>``      an object's owner and last applied declaration (:class:`Owner`)
``lock/<nonce>``       one claim on the lock
``nonce/<nonce>``      a plan that was spent
``run/<id>``           one apply: its header; ``run/<id>/plan/<k>`` its plan in pieces
``run/<id>/<n>``       the intent, then the outcome, of one wire batch
``vcs/…``              virtual clusters on a Kafka that has none (``kgitops.lowering.records``)
``repair/<id>``        the records that ``kgitops registry repair`` restored or gave up
=====================  ==========================================================================
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kgitops.cluster.port import RegistryEntry
from kgitops.model.errors import SafetyError
from kgitops.model.json.objects import owner_to_json, read_owner
from kgitops.model.json.strict import ShapeError, array, text
from kgitops.model.registry import META_KEY, SCHEMA_VERSION, Json, Owner, RegistryState

T = TypeVar("T")
Record = tuple[str, Mapping[str, Json] | None]
NOT_AN_OBJECT = "is not a JSON object, so someone else wrote it"
"""The problem of a record that kgitops can't have written."""


def read_object(text: str) -> Mapping[str, Json] | None:
    """Parse the value of a record; None where the text is not a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


PROJECT_PREFIX = "project/"


def meta_record() -> Record:
    """Build the first record of every registry."""
    return META_KEY, {"schema_version": SCHEMA_VERSION, "kind": "kgitops.registry"}


def project_record(identity: str, name: str, formerly: Iterable[str] = ()) -> Record:
    """Build the record of a project: its last applied name, and its former identities."""
    former = sorted(formerly)
    return f"{PROJECT_PREFIX}{identity}", {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        **({"formerly": former} if former else {}),
    }


def owner_record(address: str, owner: Owner | None) -> Record:
    """Build the record of an object's owner; None removes it."""
    if owner is None:
        return f"own/{address}", None
    return f"own/{address}", {"schema_version": SCHEMA_VERSION, **owner_to_json(owner)}


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


def build_registry_state(
    entries: Iterable[RegistryEntry], topic_id: str, before: RegistryState | None = None
) -> RegistryState:
    """Build the state from entries in log order: all of them, or those that follow ``before``.

    Raises:
        SafetyError: there is no ``meta`` record, or a record is damaged or of an unknown version.
    """
    marked = before is not None
    offset = before.offset if before else -1
    projects = dict(before.projects) if before else {}
    formerly = dict(before.formerly) if before else {}
    owners = dict(before.owners) if before else {}
    virtual_clusters = dict(before.virtual_clusters) if before else {}
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
                    _put(owners, name, entry, _owner)
                case "project":
                    _put(projects, name, entry, _project)
                    _put(formerly, name, entry, _formerly)
                case "vcs":
                    _put(virtual_clusters, name, entry, _itself)
                case _ if entry.key == META_KEY:
                    marked = entry.value is not None
        except ShapeError as error:
            raise SafetyError(
                f"a registry record is damaged: {error}; it is unknown who owns what, so see "
                "what is lost with kgitops registry check"
            ) from error
    if not marked:
        raise SafetyError(
            "the registry has no meta record, so it can't be trusted to know who owns what; "
            "restore the registry, or remove it to start without ownership"
        )
    return RegistryState(
        topic_id=topic_id,
        offset=offset,
        projects=projects,
        formerly={identity: names for identity, names in formerly.items() if names},
        owners=owners,
        virtual_clusters=virtual_clusters,
    )


def _put(
    values: dict[str, T],
    name: str,
    entry: RegistryEntry,
    read: Callable[[str, Mapping[str, Json]], T],
) -> None:
    if entry.value is None:
        values.pop(name, None)
    else:
        values[name] = read(entry.key, entry.value)


def _itself(key: str, value: Mapping[str, Json]) -> Mapping[str, Json]:
    del key
    return value


def _project(key: str, value: Mapping[str, Json]) -> str:
    return text(value.get("name"), f"{key}.name")


def _formerly(key: str, value: Mapping[str, Json]) -> tuple[str, ...]:
    return array(value.get("formerly", []), f"{key}.formerly", text)


def _owner(key: str, value: Mapping[str, Json]) -> Owner:
    return read_owner({name: value[name] for name in value if name != "schema_version"}, key)


def check_version(key: str, value: Mapping[str, Json]) -> None:
    """Refuse a record that a newer kgitops wrote.

    Raises:
        SafetyError: the record's ``schema_version`` is not the one known here.
    """
    version = value.get("schema_version")
    if version != SCHEMA_VERSION:
        raise SafetyError(
            f"the registry record {key} has schema version {version}, this kgitops knows "
            f"{SCHEMA_VERSION}; use a newer kgitops"
        )
