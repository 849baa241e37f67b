"""A registry as kgitops of schema version 1 left it."""

from collections.abc import Iterable

from kgitops.cluster.port import RegistryEntry, RegistryLog
from kgitops.cluster.registry import superseded


def make_version_1(log: RegistryLog) -> None:
    """Write every living record of the registry again, in schema version 1."""
    entries = log.read() or ()
    past = superseded(entries)
    log.append(
        [
            (entry.key, {**entry.value, "schema_version": 1})
            for entry in entries
            if entry.value is not None and entry.offset not in past
        ]
    )


def versions(entries: Iterable[RegistryEntry] | None) -> dict[str, int]:
    """Return the schema version of each living record, by key."""
    found: dict[str, int] = {}
    for entry in entries or ():
        found.pop(entry.key, None)
        if entry.value is not None:
            found[entry.key] = entry.value["schema_version"]
    return found
