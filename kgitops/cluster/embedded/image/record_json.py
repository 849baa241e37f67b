"""Writes records, and the values in records and snapshots, as JSON, and reads them back."""

from collections.abc import Callable, Mapping
from typing import Any

from kgitops.cluster.embedded.image.records import (
    OffsetDetails,
    OffsetsDetails,
    Record,
    TransactionContents,
)
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.json.codec import from_json, to_json
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import EntityType, LoweringOptions

Json = Any

_RESOURCE_TYPES = {str(item): item for item in ResourceType}
_PATTERN_TYPES = {str(item): item for item in PatternType}
_OPERATIONS = {str(item): item for item in Operation}
_PERMISSIONS = {str(item): item for item in PermissionType}


def binding_to_json(binding: AclBinding) -> tuple[str, ...]:
    """The binding's fields in their order; its scope where it has one."""
    scope = (binding.virtual_cluster, binding.virtual_cluster_pattern_type)
    return (
        binding.resource_type,
        binding.resource_name,
        binding.pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
        *(scope if binding.scoped else ()),
    )


def binding_from_json(value: Json) -> AclBinding:
    """The binding that ``binding_to_json`` wrote."""
    resource_type, resource_name, pattern_type, principal, host, operation, permission, *scope = (
        value
    )
    virtual_cluster, virtual_cluster_pattern = scope or (CLUSTER_NAME, PatternType.LITERAL)
    return AclBinding(
        resource_type=_RESOURCE_TYPES[resource_type],
        resource_name=resource_name,
        pattern_type=_PATTERN_TYPES[pattern_type],
        principal=principal,
        host=host,
        operation=_OPERATIONS[operation],
        permission_type=_PERMISSIONS[permission],
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern_type=_PATTERN_TYPES[virtual_cluster_pattern],
    )


def committed_to_json(committed: GroupOffsets) -> tuple[tuple[str, int, int], ...]:
    """Topic, partition and offset of each."""
    return tuple((topic, partition, offset) for (topic, partition), offset in committed.items())


def committed_from_json(value: Json) -> GroupOffsets:
    """The offsets that ``committed_to_json`` wrote."""
    return {(topic, partition): offset for topic, partition, offset in value}


def details_to_json(details: OffsetsDetails) -> tuple[tuple[str, int, int, str, int], ...]:
    """Topic, partition, leader epoch, metadata and time of each."""
    return tuple(
        (topic, partition, item.leader_epoch, item.metadata, item.timestamp_ms)
        for (topic, partition), item in details.items()
    )


def details_from_json(value: Json) -> OffsetsDetails:
    """The details that ``details_to_json`` wrote."""
    return {
        (topic, partition): OffsetDetails(
            leader_epoch=epoch, metadata=metadata, timestamp_ms=timestamp_ms
        )
        for topic, partition, epoch, metadata, timestamp_ms in value
    }


_TYPES: Mapping[str, type[Record]] = {kind.__name__: kind for kind in Record.__args__}
_FIELDS = {name: kind.__struct_fields__ for name, kind in _TYPES.items()}
# Readers of field values whose types JSON does not keep.
_READERS: Mapping[str, Callable[[Json], Json]] = {
    "assignment": lambda value: tuple(map(tuple, value)),
    "replicas": tuple,
    "target": lambda value: None if value is None else tuple(value),
    "offsets": lambda value: {int(partition): tuple(row) for partition, row in value.items()},
    "binding": binding_from_json,
    "entity": lambda value: tuple(map(tuple, value)),
    "committed": committed_from_json,
    "details": details_from_json,
    "options": lambda value: from_json(LoweringOptions, value, "options"),
    "entity_type": EntityType,
    "contents": lambda value: from_json(TransactionContents, value, "contents"),
}
_WRITERS: Mapping[str, Callable[[Json], Json]] = {
    "binding": binding_to_json,
    "committed": committed_to_json,
    "details": details_to_json,
    "options": to_json,
    "contents": to_json,
}


def record_to_json(record: Record) -> list[Json]:
    """The record's type, then its fields by name."""
    name = type(record).__name__
    body = {key: getattr(record, key) for key in _FIELDS[name]}
    if not body.get("details", True):
        del body["details"]  # as in stores from before there were any
    for key in body.keys() & _WRITERS.keys():
        body[key] = _WRITERS[key](body[key])
    return [name, body]


def record_from_json(value: Json) -> Record:
    """The record that ``record_to_json`` wrote.

    Raises:
        ValueError: this version does not know the type of the record.
    """
    name, body = value
    kind = _TYPES.get(name)
    if kind is None:
        raise ValueError(f"unknown record type {name}")
    return kind(
        **{key: _READERS[key](item) if key in _READERS else item for key, item in body.items()}
    )
