"""The registry's records: their keys, their JSON, and the state they add up to.

Laid out the same on every kind of cluster: canonical JSON values, each with ``schema_version``.

=====================  ==========================================================================
``meta``               the mark that this is a registry
``project/<id>``       the name a project was last applied under
``own/<address>``      who owns an object and what they last applied (:class:`Owner`)
``lock/<nonce>``       one claim on the lock
``nonce/<nonce>``      a plan that was spent
``run/<id>``           one apply: its header; ``run/<id>/plan/<k>`` its plan in pieces
``run/<id>/<n>``       the intent, then the outcome, of one wire batch
=====================  ==========================================================================
"""

from collections.abc import Iterable, Mapping

from kgitops.cluster.port import RegistryEntry
from kgitops.model.errors import SafetyError
from kgitops.model.registry import META_KEY, SCHEMA_VERSION, Json, Owner, RegistryState

Record = tuple[str, Mapping[str, Json] | None]


def meta_record() -> Record:
    """The first record of every registry."""
    return META_KEY, {"schema_version": SCHEMA_VERSION, "kind": "kgitops.registry"}


def project_record(identity: str, name: str) -> Record:
    """That the project ``identity`` was last applied as ``name``."""
    return f"project/{identity}", {"schema_version": SCHEMA_VERSION, "name": name}


def owner_record(address: str, owner: Owner | None) -> Record:
    """Who owns ``address`` from now on; None when nobody does."""
    if owner is None:
        return f"own/{address}", None
    return f"own/{address}", {
        "schema_version": SCHEMA_VERSION,
        "project": owner.project,
        "topic_id": owner.topic_id,
        "adopted": owner.adopted,
        "spent": owner.spent,
        "last_applied": owner.last_applied,
    }


def read_owner(value: Mapping[str, Json]) -> Owner:
    """The owner that an ``own/`` record's value holds."""
    return Owner(
        project=value["project"],
        topic_id=value["topic_id"],
        adopted=value["adopted"],
        spent=value["spent"],
        last_applied=value["last_applied"],
    )


def build_registry_state(entries: Iterable[RegistryEntry], topic_id: str) -> RegistryState:
    """What all entries of a registry, in log order, add up to.

    Raises:
        SafetyError: there is no ``meta`` record, or one of a version this kgitops does not know.
    """
    latest: dict[str, Mapping[str, Json]] = {}
    offset = -1
    for entry in entries:
        offset = entry.offset
        if entry.value is None:
            latest.pop(entry.key, None)
            continue
        check_version(entry.key, entry.value)
        latest[entry.key] = entry.value
    if META_KEY not in latest:
        raise SafetyError(
            "the registry has no meta record, so it can't be trusted to know who owns what; "
            "restore the registry, or remove it to start without ownership"
        )
    return RegistryState(
        topic_id=topic_id,
        offset=offset,
        projects={
            key.removeprefix("project/"): value["name"]
            for key, value in latest.items()
            if key.startswith("project/")
        },
        owners={
            key.removeprefix("own/"): read_owner(value)
            for key, value in latest.items()
            if key.startswith("own/")
        },
    )


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
