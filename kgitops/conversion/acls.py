"""Declares ACL bindings for any tool, those on one resource in one document."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.values import Value
from kgitops.kinds.exports import Inline
from kgitops.model.registry import Json
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    OPERATIONS,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

E = TypeVar("E", bound=StrEnum)


class AclSource(Struct, frozen=True, kw_only=True):
    """The bindings of one principal on one resource, in the source's order of operations."""

    principal: str
    operations: tuple[Operation, ...]
    type: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL
    permission: PermissionType = PermissionType.ALLOW
    host: str = "*"


def folded(text: str) -> str:
    """The text without the signs and the case in which tools spell a name differently."""
    return text.replace("_", "").replace("-", "").lower()


def enum_member(members: type[E], text: str | None) -> E | None:
    """The member that ``text`` names in any tool's spelling: ``IDEMPOTENT_WRITE``."""
    name = folded(text or "")
    return next((item for item in members if item.value.lower() == name), None)


def declare_acls(
    builder: ObjectBuilder, acls: Iterable[AclSource | None], *, clusters: tuple[str, ...] = ()
) -> None:
    """Add an Acl document for each resource; operations that mean nothing on it are losses.

    None is an ACL that could not be read, and is a loss already.
    """
    merged: dict[AclSource, list[Operation]] = {}
    for acl in acls:
        builder.spend(1)
        if acl is None:
            continue
        merged.setdefault(replace(acl, operations=()), []).extend(acl.operations)
    for shared, all_operations in merged.items():
        acl = replace(shared, operations=tuple(dict.fromkeys(all_operations)))
        legal = tuple(dict.fromkeys(item for item in acl.operations if item in _legal(acl.type)))
        for operation in dict.fromkeys(acl.operations):
            if operation not in legal:
                builder.lose(
                    builder.value,
                    f"{builder}: {operation} means nothing on a {acl.type}",
                    "it is left out",
                )
        if legal:
            builder.declare("Acl", _name(acl), _spec(acl, legal), clusters=clusters)


class AclFields(Struct, frozen=True, kw_only=True):
    """An ACL as a tool writes it; ``at`` is the place of findings about it as a whole.

    A ``host`` of None can't be read: the ACL is lost, because one for all hosts would be wider.
    """

    at: Value
    type: Value | None
    name: str | None
    operations: list[Value]
    pattern: Value | None = None
    permission: Value | None = None
    host: str | None = "*"


def read_acl(builder: ObjectBuilder, principal: str, fields: AclFields) -> AclSource | None:
    """The bindings of one principal; None, and a loss, if they can't be declared."""
    before = len(builder.losses)
    kind = read_member(builder, ResourceType, fields.type)
    prefixed = fields.pattern is not None and (fields.pattern.text() or "").lower() == "prefix"
    pattern = (
        PatternType.PREFIXED
        if prefixed
        else read_member(builder, PatternType, fields.pattern, PatternType.LITERAL)
    )
    permission = read_member(builder, PermissionType, fields.permission, PermissionType.ALLOW)
    operations = read_operations(builder, fields.operations)
    name = fields.name
    if kind is ResourceType.CLUSTER:
        name, pattern = CLUSTER_NAME, PatternType.LITERAL
    readable = fields.host is not None
    if kind and pattern and permission and name and operations and principal and readable:
        return AclSource(
            principal=principal,
            operations=operations,
            type=kind,
            name=name,
            pattern=pattern,
            permission=permission,
            host=fields.host or "*",
        )
    if len(builder.losses) == before:
        lacks = {
            "a principal": principal,
            "a resource type": kind,
            "a resource name": name,
            "operations": operations,
            "a host": readable,
        }
        missing = next(word for word, value in lacks.items() if not value)
        builder.lose(fields.at, f"{builder}: an ACL lacks {missing}", "correct it there")
    return None


def read_operations(builder: ObjectBuilder, values: Iterable[Value]) -> tuple[Operation, ...]:
    """The operations that a list names; one that Kafka does not know is a loss."""
    found = []
    for value in values:
        operation = enum_member(Operation, value.text())
        if operation is None:
            builder.lose(
                value, f"{builder}: Kafka has no operation {value.shown}", "it is left out"
            )
        else:
            found.append(operation)
    return tuple(found)


def read_member(
    builder: ObjectBuilder, members: type[E], value: Value | None, default: E | None = None
) -> E | None:
    """The enumeration's member that ``value`` names; None, and a loss, if there is none such."""
    if value is None:
        return default
    member = enum_member(members, value.text())
    if member is None:
        known = ", ".join(members)
        builder.lose(value, f"{builder}: {value.shown} is none of {known}", "correct it there")
    return member


def _legal(kind: ResourceType) -> frozenset[Operation]:
    return OPERATIONS[kind] | {Operation.ALL}


def _spec(acl: AclSource, operations: tuple[Operation, ...]) -> dict[str, Json]:
    pattern = {} if acl.pattern is PatternType.LITERAL else {"patternType": acl.pattern.value}
    return {
        "principal": acl.principal,
        **({"host": acl.host} if acl.host != "*" else {}),
        "permission": acl.permission.value,
        "operations": [operation.value for operation in operations],
        "resource": Inline({"type": acl.type.value, "name": acl.name, **pattern}),
    }


def _name(acl: AclSource) -> str:
    """``billing-topic-orders``, ``billing-deny-topic-orders-prefixed-from-10.0.0.1``."""
    deny = "deny-" if acl.permission is PermissionType.DENY else ""
    prefixed = "-prefixed" if acl.pattern is PatternType.PREFIXED else ""
    host = "" if acl.host == "*" else f"-from-{acl.host}"
    resource = acl.type.value
    if acl.name not in ("*", CLUSTER_NAME):
        resource += f"-{acl.name}"
    elif acl.name == "*":
        resource = f"all-{resource}s"
    who = acl.principal.partition(":")[2] or acl.principal
    who = "everyone" if acl.principal == EVERYONE else who
    return f"{who}-{deny}{resource}{prefixed}{host}"
