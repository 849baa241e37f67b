"""ACL bindings, entities and quotas as JSON and back: one shape in plans, journals, snapshots.

Readers take a path for their error messages and raise :class:`ShapeError` for any other shape.
"""

from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, convert, to_builtins
from msgspec.structs import replace

from kgitops.model.json.codec import JsonObject, from_json, special, spelled
from kgitops.model.registry import Json
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ENTITY_TYPES, ClientQuotaEntity, make_entity, quota_text

S = TypeVar("S", bound=Struct)


def like(kind: type[S], value: Struct, /, **changed: object) -> S:
    """A ``kind`` with the fields that ``value`` has too, and those that are ``changed``."""
    same = {name: getattr(value, name) for name in kind.__struct_fields__ if name not in changed}
    return kind(**same, **changed)


class BindingDocument(JsonObject, frozen=True, kw_only=True):
    """A binding under Kafka's names; the last two keys are there only where it has a scope."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission_type: PermissionType
    virtual_cluster: str | UnsetType = UNSET
    virtual_cluster_pattern_type: PatternType | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.virtual_cluster is UNSET) != (self.virtual_cluster_pattern_type is UNSET):
            raise ValueError("has only half of a scope")


def binding_document(binding: AclBinding) -> BindingDocument:
    document = convert(binding, BindingDocument, from_attributes=True)
    if binding.scoped:
        return document
    return replace(document, virtual_cluster=UNSET, virtual_cluster_pattern_type=UNSET)


def binding_of(document: BindingDocument) -> AclBinding:
    return convert(to_builtins(document), AclBinding)


def binding_to_json(binding: AclBinding) -> dict[str, Json]:
    """The JSON of ``binding_document``."""
    written: dict[str, Json] = to_builtins(binding_document(binding))
    return written


def read_binding(value: Json, path: str) -> AclBinding:
    return binding_of(from_json(BindingDocument, value, path))


_EntityType = Annotated[str, spelled(f"^({'|'.join(ENTITY_TYPES)})$", "a type of entity")]
Entity = Annotated[
    dict[_EntityType, str | None],
    Meta(min_length=1, description=f"an entity of {', '.join(ENTITY_TYPES)}"),
]
"""An entity's names by type, null for the default."""


def read_entity(value: Json, path: str) -> ClientQuotaEntity:
    return make_entity(from_json(Entity, value, path))


class ShortestDecimals(str):
    """A quota as its shortest decimals."""

    __slots__ = ()

    @classmethod
    def of(cls, quota: float) -> "ShortestDecimals":
        return cls(quota_text(quota))

    @classmethod
    def read(cls, value: Json) -> "ShortestDecimals":
        """The same text.

        Raises:
            ValueError: it is not the quota's own.
        """
        if not isinstance(value, str):
            raise ValueError("is not text")  # noqa: TRY004 (one error for any shape)
        try:
            if quota_text(float(value)) == value:
                return cls(value)
        except (ValueError, OverflowError):
            pass
        raise ValueError("is not a quota in its shortest decimals")


special(ShortestDecimals, str, ShortestDecimals.read)


def read_quota(value: Json, path: str) -> float:
    """A quota, which must be written as its shortest decimal string."""
    return float(from_json(ShortestDecimals, value, path))
