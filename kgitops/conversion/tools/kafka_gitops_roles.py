"""The bindings that kafka-gitops makes for a service, a connector or a user's role."""

from collections.abc import Iterable
from typing import NamedTuple

from kgitops.conversion.acls import AclSource
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.keys import KeyedFields, Keys, declared, same
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, PatternType, ResourceType

_INTERNAL = (
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.DELETE,
    Operation.CREATE,
    Operation.ALTER,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
)
_STORAGE = {"config": "connect-configs", "offset": "connect-offsets", "status": "connect-status"}

_ON_TOPICS: Keys = same(declared(), "produces", "consumes")
SERVICE: Keys = {
    **same(declared(), "type", "principal", "group-id", "application-id"),
    **_ON_TOPICS,
    "storage-topics": declared(same(declared(), *_STORAGE)),
    "connectors": declared({"*": declared(_ON_TOPICS)}),
}
"""The keys of a service of any type; one that its type does not have is reported."""
USER: Keys = same(declared(), "principal", "roles")


class _Right(NamedTuple):
    """Operations on a resource, whoever has them."""

    type: ResourceType
    name: str
    operations: tuple[Operation, ...]
    pattern: PatternType = PatternType.LITERAL


_ROLES = {
    "reader": (
        _Right(ResourceType.TOPIC, "*", (Operation.READ,)),
        _Right(ResourceType.GROUP, "*", (Operation.READ,)),
    ),
    "writer": (_Right(ResourceType.TOPIC, "*", (Operation.WRITE,)),),
    "operator": (
        _Right(ResourceType.CLUSTER, CLUSTER_NAME, (Operation.DESCRIBE,)),
        _Right(ResourceType.TOPIC, "*", (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)),
        _Right(ResourceType.GROUP, "*", (Operation.READ, Operation.DESCRIBE)),
    ),
}


def service_acls(builder: ObjectBuilder, *, describe: bool) -> list[AclSource]:
    """The ACLs of a service: application, kafka-streams or kafka-connect."""
    fields = builder.read(SERVICE)
    kind = fields.text("type")
    expand = _SERVICES.get(kind or "")
    principal = fields.text("principal")
    if expand is None:
        known = ", ".join(_SERVICES)
        builder.refuse(f"{kind or 'no type'} is none of {known}", "correct the type there")
        return []
    return _acls(builder, principal, expand(builder, fields, describe=describe))


def user_acls(builder: ObjectBuilder, *, describe: bool) -> list[AclSource]:
    """The ACLs of a user's roles, which ``describe`` says nothing about."""
    del describe
    fields = builder.read(USER)
    rights: list[_Right] = []
    for role in fields.items("roles"):
        known = _ROLES.get((role.text() or "").lower())
        if known is None:
            builder.lose(
                role, f"{builder}: {role.shown} is none of {', '.join(_ROLES)}", "correct it there"
            )
        else:
            rights += known
    return _acls(builder, fields.text("principal"), rights)


def _acls(
    builder: ObjectBuilder, principal: str | None, rights: Iterable[_Right]
) -> list[AclSource]:
    rights = list(rights)
    if principal is None:
        if rights:
            builder.lose(builder.value, f"{builder} has no principal", "write it there")
        return []
    return [
        AclSource(
            principal=principal,
            operations=right.operations,
            type=right.type,
            name=right.name,
            pattern=right.pattern,
        )
        for right in rights
    ]


def _texts(builder: ObjectBuilder, fields: KeyedFields, key: str) -> list[str]:
    found = []
    for value in fields.items(key):
        text = value.text()
        if text:
            found.append(text)
        else:
            builder.lose(value, f"{builder}: {value.shown} is no topic's name", "correct it there")
    return found


def _topics(
    builder: ObjectBuilder, fields: KeyedFields, *, describe: bool
) -> tuple[list[_Right], bool]:
    """The rights on the topics that are produced and consumed; whether any is consumed."""
    produced = _texts(builder, fields, "produces")
    consumed = _texts(builder, fields, "consumes")
    rights = [_Right(ResourceType.TOPIC, name, (Operation.WRITE,)) for name in produced]
    rights += [_Right(ResourceType.TOPIC, name, (Operation.READ,)) for name in consumed]
    if describe:
        names = dict.fromkeys([*consumed, *produced])
        rights += [_Right(ResourceType.TOPIC, name, (Operation.DESCRIBE,)) for name in names]
    return rights, bool(consumed)


def _application(builder: ObjectBuilder, fields: KeyedFields, *, describe: bool) -> list[_Right]:
    group = fields.text("group-id") or builder.name
    rights, consumes = _topics(builder, fields, describe=describe)
    if consumes:
        rights.append(_Right(ResourceType.GROUP, group, (Operation.READ,)))
    return rights


def _streams(builder: ObjectBuilder, fields: KeyedFields, *, describe: bool) -> list[_Right]:
    application = fields.text("application-id") or builder.name
    rights, _ = _topics(builder, fields, describe=describe)
    group = (Operation.READ, Operation.DESCRIBE, Operation.DELETE)
    return [
        *rights,
        _Right(ResourceType.TOPIC, application, _INTERNAL, PatternType.PREFIXED),
        _Right(ResourceType.GROUP, application, group),
        _Right(ResourceType.CLUSTER, CLUSTER_NAME, (Operation.DESCRIBE_CONFIGS,)),
    ]


def _connect(builder: ObjectBuilder, fields: KeyedFields, *, describe: bool) -> list[_Right]:
    group = fields.text("group-id") or builder.name
    storage = fields.fields("storage-topics")
    both = (Operation.READ, Operation.WRITE)
    produced = _texts(builder, fields, "produces")
    rights = [_Right(ResourceType.TOPIC, name, (Operation.WRITE,)) for name in produced]
    if describe:
        rights += [_Right(ResourceType.TOPIC, name, (Operation.DESCRIBE,)) for name in produced]
    for key, prefix in _STORAGE.items():
        name = storage.text(key) or f"{prefix}-{builder.name}"
        rights.append(_Right(ResourceType.TOPIC, name, both))
    rights.append(_Right(ResourceType.GROUP, group, (Operation.READ,)))
    for name, value in fields.fields("connectors").take_all():
        connector = builder.read(_ON_TOPICS, value, f"connector {name} of {builder}")
        of_topics, consumes = _topics(builder, connector, describe=describe)
        rights += of_topics
        if consumes:
            rights.append(_Right(ResourceType.GROUP, f"connect-{name}", (Operation.READ,)))
    return rights


_SERVICES = {"application": _application, "kafka-streams": _streams, "kafka-connect": _connect}
SERVICE_TYPES = frozenset(_SERVICES)
