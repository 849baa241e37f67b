"""Bindings, quotas, owners and sources as JSON and back: one shape in plans, journals, snapshots.

Readers take a path for their error messages and raise :class:`ShapeError` for any other shape.
"""

from collections.abc import Mapping
from dataclasses import replace

from kgitops.model.json.strict import (
    ShapeError,
    boolean,
    choice,
    integer,
    mapping,
    members,
    text,
    text_or_none,
)
from kgitops.model.registry import Json, Owner
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ENTITY_TYPES, ClientQuotaEntity, make_entity, quota_text
from kgitops.model.source import Source

_BINDING_KEYS = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
_SCOPE_KEYS = ("virtual_cluster", "virtual_cluster_pattern_type")
_SCOPED_KEYS = (*_BINDING_KEYS, *_SCOPE_KEYS)
_OWNER_KEYS = ("project", "topic_id", "adopted", "spent", "last_applied")


def read_labels(value: Json, path: str) -> Mapping[str, str]:
    """The labels in ``value``."""
    return {key: text(item, f"{path}.{key}") for key, item in mapping(value, path).items()}


def binding_to_json(binding: AclBinding) -> dict[str, Json]:
    """The binding's fields under Kafka's names and values, with a scope only where it has one."""
    keys = _SCOPED_KEYS if binding.scoped else _BINDING_KEYS
    return {key: str(getattr(binding, key)) for key in keys}


def read_binding(value: Json, path: str) -> AclBinding:
    """The binding in ``value``."""
    scoped = isinstance(value, dict) and _SCOPE_KEYS[0] in value
    given = members(value, path, _SCOPED_KEYS if scoped else _BINDING_KEYS)
    binding = AclBinding(
        resource_type=choice(ResourceType, given["resource_type"], f"{path}.resource_type"),
        resource_name=text(given["resource_name"], f"{path}.resource_name"),
        pattern_type=choice(PatternType, given["pattern_type"], f"{path}.pattern_type"),
        principal=text(given["principal"], f"{path}.principal"),
        host=text(given["host"], f"{path}.host"),
        operation=choice(Operation, given["operation"], f"{path}.operation"),
        permission_type=choice(PermissionType, given["permission_type"], f"{path}.permission_type"),
    )
    if not scoped:
        return binding
    scope, pattern = _SCOPE_KEYS
    return replace(
        binding,
        virtual_cluster=text(given[scope], f"{path}.{scope}"),
        virtual_cluster_pattern_type=choice(PatternType, given[pattern], f"{path}.{pattern}"),
    )


def read_entity(value: Json, path: str) -> ClientQuotaEntity:
    """The entity in ``value``: type to name, null for the default."""
    given = mapping(value, path)
    if not given or not given.keys() <= set(ENTITY_TYPES):
        raise ShapeError(f"{path} is not an entity of {', '.join(ENTITY_TYPES)}")
    return make_entity({kind: text_or_none(name, f"{path}.{kind}") for kind, name in given.items()})


def read_quota(value: Json, path: str) -> float:
    """A quota, which must be written as its shortest decimal string."""
    decimals = text(value, path)
    try:
        number = float(decimals)
        if quota_text(number) == decimals:
            return number
    except (ValueError, OverflowError):
        pass
    raise ShapeError(f"{path} is not a quota in its shortest decimals")


def owner_to_json(owner: Owner) -> dict[str, Json]:
    """An owner with all its fields."""
    return {
        "project": owner.project,
        "topic_id": owner.topic_id,
        "adopted": owner.adopted,
        "spent": owner.spent,
        "last_applied": owner.last_applied,
    }


def read_owner(value: Json, path: str) -> Owner:
    """The owner in ``value``."""
    given = members(value, path, _OWNER_KEYS)
    return Owner(
        project=text(given["project"], f"{path}.project"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
        adopted=boolean(given["adopted"], f"{path}.adopted"),
        spent=boolean(given["spent"], f"{path}.spent"),
        last_applied=mapping(given["last_applied"], f"{path}.last_applied"),
    )


def source_to_json(source: Source | None) -> dict[str, Json] | None:
    """A place in a file."""
    if source is None:
        return None
    return {"file": source.file, "line": source.line, "column": source.column}


def read_source(value: Json, path: str) -> Source | None:
    """The place in a file that ``source_to_json`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    if value is None:
        return None
    given = members(value, path, ("file", "line", "column"))
    return Source(
        file=text(given["file"], f"{path}.file"),
        line=integer(given["line"], f"{path}.line"),
        column=integer(given["column"], f"{path}.column"),
    )
