"""A record of the registry: its key, and a Struct as JSON behind its ``schema_version``."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from kgitops.model.errors import SafetyError
from kgitops.model.json.codec import from_json, to_json
from kgitops.model.registry import SCHEMA_VERSION, SCHEMA_VERSIONS, Json

T = TypeVar("T")
Record = tuple[str, Mapping[str, Json] | None]
"""A key and its value; None removes the key."""


def record(key: str, value: Struct, *, schema_version: int = SCHEMA_VERSION) -> Record:
    """The record of ``value`` under ``key``."""
    return key, {"schema_version": schema_version, **to_json(value)}


def is_known_version(version: Json) -> bool:
    """Return whether this kgitops reads records of the ``schema_version``."""
    return type(version) is int and version in SCHEMA_VERSIONS


def read_record(kind: type[T], key: str, value: Mapping[str, Json]) -> T:
    """Read what ``record`` wrote, its version already checked.

    Raises:
        ShapeError: it is of another shape.
    """
    return from_json(kind, {name: value[name] for name in value if name != "schema_version"}, key)


def check_version(key: str, value: Mapping[str, Json]) -> None:
    """Refuse a record that a newer kgitops wrote.

    Raises:
        SafetyError: the record's ``schema_version`` is not known here.
    """
    version = value.get("schema_version")
    if not is_known_version(version):
        raise SafetyError(
            f"the registry record {key} has schema version {version}, this kgitops knows "
            f"{SCHEMA_VERSION} and older; use a newer kgitops"
        )
