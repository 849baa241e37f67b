"""The bindings that Julie makes for a project's consumers, producers, applications and servers."""

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct

from kgitops.conversion.acls import AclFields, AclSource, read_acl
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.keys import KeyedFields, Keys, declared, harmless, same
from kgitops.conversion.reading.values import TEMPLATE, Value
from kgitops.conversion.tools.julie_naming import filled
from kgitops.conversion.tools.julie_settings import Settings
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, PatternType, ResourceType

_CENTER_TOPIC = (Operation.WRITE, Operation.READ, Operation.CREATE, Operation.DESCRIBE)
_REGISTRY_TOPIC = (
    Operation.CREATE,
    Operation.DESCRIBE_CONFIGS,
    Operation.DESCRIBE,
    Operation.WRITE,
    Operation.READ,
)
_RBAC = harmless("only Confluent's role bindings need it, and Julie's ACLs do not")
_PRINCIPAL: Keys = same(declared(), "principal", "metadata")
_READ_AND_WRITTEN: Keys = {"topics": declared(same(declared(), "read", "write"))}
ROLE_ACL: Keys = {
    **same(declared(), "resourceType", "resourceName", "patternType", "host", "operation", "role"),
    "permissionType": harmless("Julie does not read it: whatever it says, the ACL allows"),
}
"""The keys of an ACL of a roles file."""


class GrantedTopics(Struct, frozen=True, kw_only=True):
    """The topics that a grant is about, by their full names, and the ``prefix`` of all of them.

    ``prefixed``: one binding on the prefix stands for one on each topic.
    """

    topics: tuple[str, ...] = ()
    prefix: str = ""
    prefixed: bool = False
    settings: Settings

    def known_prefix(self, builder: ObjectBuilder) -> str:
        """The prefix; a template in it refuses the object."""
        if TEMPLATE.search(self.prefix):
            builder.refuse(
                f"the prefix of its project, {self.prefix!r}, is a template that kgitops does not "
                "fill in",
                "write an Acl by hand",
            )
            return ""
        return self.prefix


Rights = list[AclSource]
Expand = Callable[[str, ObjectBuilder, KeyedFields, GrantedTopics], Rights]


class GrantList(Struct, frozen=True):
    """A list of grants: the keys of an entry, and the bindings that it stands for."""

    keys: Keys
    expand: Expand


def grant(
    principal: str, kind: ResourceType, name: str, *operations: Operation, prefixed: bool = False
) -> AclSource:
    """The bindings of one principal on one resource."""
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclSource(
        principal=principal, type=kind, name=name, operations=operations, pattern=pattern
    )


def _starred(principal: str, kind: ResourceType, name: str, *operations: Operation) -> AclSource:
    """The bindings on a resource whose name is a prefix if it ends with ``*``."""
    prefixed = name.endswith("*") and len(name) > 1
    name = name.removesuffix("*") if prefixed else name
    return grant(principal, kind, name, *operations, prefixed=prefixed)


def _on_topics(
    principal: str, builder: ObjectBuilder, scope: GrantedTopics, *operations: Operation
) -> Rights:
    if scope.prefixed:
        prefix = scope.known_prefix(builder)
        return [grant(principal, ResourceType.TOPIC, prefix, *operations, prefixed=True)]
    return [grant(principal, ResourceType.TOPIC, name, *operations) for name in scope.topics]


def _consumer(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, scope: GrantedTopics
) -> Rights:
    group = fields.text_or("group", "*")
    if group is None:
        return []
    rights = _on_topics(principal, builder, scope, Operation.DESCRIBE, Operation.READ)
    return rights and [*rights, _starred(principal, ResourceType.GROUP, group, Operation.READ)]


def _producer(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, scope: GrantedTopics
) -> Rights:
    transaction, idempotence = fields.text("transactionId"), fields.take("idempotence")
    rights = _on_topics(principal, builder, scope, Operation.DESCRIBE, Operation.WRITE)
    if rights and transaction:
        rights.append(
            _starred(
                principal,
                ResourceType.TRANSACTIONAL_ID,
                transaction,
                Operation.DESCRIBE,
                Operation.WRITE,
            )
        )
    # Julie looks only if the key is there: `idempotence: false` grants it too.
    if rights and (transaction or idempotence is not None):
        rights.append(_cluster(principal, Operation.IDEMPOTENT_WRITE))
    return rights


def _cluster(principal: str, *operations: Operation) -> AclSource:
    return grant(principal, ResourceType.CLUSTER, CLUSTER_NAME, *operations)


def _read_and_written(principal: str, builder: ObjectBuilder, fields: KeyedFields) -> Rights:
    """The bindings on the topics that an application reads and writes, which are full names."""
    topics = fields.fields("topics")
    rights: Rights = []
    for key, operation in (("read", Operation.READ), ("write", Operation.WRITE)):
        for value in topics.items(key):
            name = value.text()
            if name is None:
                builder.lose(value, f"{builder}: {value.shown} is no topic's name", "correct it")
            else:
                rights.append(grant(principal, ResourceType.TOPIC, name, operation))
    return rights


def _streams(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, scope: GrantedTopics
) -> Rights:
    application = fields.text("applicationId") or scope.known_prefix(builder)
    rights = _read_and_written(principal, builder, fields)
    own = partial(grant, principal, prefixed=True)
    rights += [
        own(ResourceType.TOPIC, application, Operation.ALL),
        own(ResourceType.GROUP, application, Operation.READ),
    ]
    if fields.flag("exactlyOnce"):
        both = (Operation.WRITE, Operation.DESCRIBE)
        rights.append(own(ResourceType.TRANSACTIONAL_ID, application, *both))
    return rights


def _connector(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, scope: GrantedTopics
) -> Rights:
    rights: Rights = []
    for key, default in (
        ("status_topic", "connect-status"),
        ("offset_topic", "connect-offsets"),
        ("configs_topic", "connect-configs"),
    ):
        name = fields.text(key) or default
        rights.append(grant(principal, ResourceType.TOPIC, name, Operation.READ, Operation.WRITE))
    if scope.settings.is_set("topology.connector.allow.topic.create", default=True):
        rights.append(_cluster(principal, Operation.CREATE))
    group = fields.text("group") or "connect-cluster"
    rights.append(grant(principal, ResourceType.GROUP, group, Operation.READ))
    return rights + _read_and_written(principal, builder, fields)


def _ksql(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, scope: GrantedTopics
) -> Rights:
    application = fields.text("applicationId") or scope.known_prefix(builder)
    return [
        *_read_and_written(principal, builder, fields),
        grant(principal, ResourceType.TOPIC, application, Operation.ALL, prefixed=True),
        grant(principal, ResourceType.GROUP, application, Operation.ALL, prefixed=True),
    ]


def _schema_registry(
    principal: str, _builder: ObjectBuilder, fields: KeyedFields, _scope: GrantedTopics
) -> Rights:
    topic = fields.text("topic") or "_schemas"
    offsets = fields.text("consumer_offsets_topic") or "__consumer_offsets"
    group = fields.text("group") or "schema-registry"
    return [
        grant(principal, ResourceType.TOPIC, topic, *_REGISTRY_TOPIC),
        grant(principal, ResourceType.TOPIC, offsets, Operation.DESCRIBE),
        grant(principal, ResourceType.GROUP, group, Operation.READ),
    ]


def _control_center(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, scope: GrantedTopics
) -> Rights:
    application = fields.text("appId")
    if not application:
        builder.lose(builder.value, f"{builder} has no appId", "write it there")
        return []
    topics = [
        scope.settings.text(f"confluent.{word}.topic", f"_confluent-{word}")
        for word in ("monitoring", "command", "metrics")
    ]
    groups = (application, f"{application}-command")
    on = ResourceType.TOPIC
    return [
        *(grant(principal, ResourceType.GROUP, g, Operation.READ, prefixed=True) for g in groups),
        grant(principal, ResourceType.GROUP, "*", Operation.DESCRIBE),
        *(grant(principal, on, name, *_CENTER_TOPIC) for name in topics),
        grant(principal, on, "_confluent-controlcenter", *_CENTER_TOPIC, prefixed=True),
        grant(principal, on, "*", Operation.CREATE),
        _cluster(principal, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS),
    ]


def _ksql_server(
    principal: str, builder: ObjectBuilder, fields: KeyedFields, _scope: GrantedTopics
) -> Rights:
    server = fields.text("ksqlDbId")
    if not server:
        builder.lose(builder.value, f"{builder} has no ksqlDbId", "write it there")
        return []
    internal = f"_confluent-ksql-{server}"
    return [
        _cluster(principal, Operation.DESCRIBE_CONFIGS),
        grant(principal, ResourceType.TOPIC, internal, Operation.ALL, prefixed=True),
        grant(principal, ResourceType.TOPIC, f"{server}ksql_processing_log", Operation.ALL),
        grant(principal, ResourceType.GROUP, internal, Operation.ALL, prefixed=True),
    ]


def own_role(
    role: Value, principal: str, builder: ObjectBuilder, fields: KeyedFields, _scope: GrantedTopics
) -> Rights:
    """The bindings of a role that a roles file declares."""
    defaults = {
        **dict.fromkeys(("topic", "transactionId", "subject", "connector"), ""),
        "group": "*",
    }
    read = {key: fields.text_or(key, default) for key, default in defaults.items()}
    names = {key: text for key, text in read.items() if text is not None}
    acls = role.at("acls")
    rights = [] if acls is None else [_role_acl(principal, builder, e, names) for e in acls.items()]
    return list(filter(None, rights))


def _role_acl(
    principal: str, builder: ObjectBuilder, entry: Value, names: Mapping[str, str]
) -> AclSource | None:
    """An ACL of a role, whose keys the role itself has reported."""
    operation = entry.at("operation") or entry.at("role")
    name = filled(entry.text_at("resourceName") or "", names)
    if TEMPLATE.search(name):
        problem = f"{builder}: the resource {name!r} of its role is not known here"
        builder.lose(entry, problem, "write an Acl by hand")
        return None
    return read_acl(
        builder,
        principal,
        AclFields(
            at=entry,
            type=entry.at("resourceType"),
            name=name,
            pattern=entry.at("patternType"),
            operations=[operation] if operation else [],
            host="*" if entry.at("host") is None else entry.text_at("host"),
        ),
    )


ON_TOPICS: Mapping[str, GrantList] = {
    "consumers": GrantList({**_PRINCIPAL, "group": declared()}, _consumer),
    "producers": GrantList(
        {**_PRINCIPAL, **same(declared(), "transactionId", "idempotence")}, _producer
    ),
}
"""The lists that a project and a topic have."""

OF_PROJECT: Mapping[str, GrantList] = {
    "streams": GrantList(
        {
            **_PRINCIPAL,
            **_READ_AND_WRITTEN,
            **same(declared(), "applicationId", "exactlyOnce"),
        },
        _streams,
    ),
    "connectors": GrantList(
        {
            **_PRINCIPAL,
            **_READ_AND_WRITTEN,
            **same(declared(), "status_topic", "offset_topic", "configs_topic", "group"),
            **same(_RBAC, "cluster_id", "connectors"),
        },
        _connector,
    ),
    "ksql": GrantList(
        {**_PRINCIPAL, **_READ_AND_WRITTEN, "applicationId": declared(), "ksqlDbId": _RBAC}, _ksql
    ),
}
"""The lists that only a project has."""

OF_PLATFORM: Mapping[str, GrantList] = {
    "schema_registry": GrantList(
        {**_PRINCIPAL, **same(declared(), "topic", "consumer_offsets_topic", "group")},
        _schema_registry,
    ),
    "control_center": GrantList({**_PRINCIPAL, "appId": declared()}, _control_center),
    "ksql": GrantList({**_PRINCIPAL, "ksqlDbId": declared(), "owner": _RBAC}, _ksql_server),
}
"""The servers of the platform."""

OWN_ROLE: Keys = {
    **_PRINCIPAL,
    **same(declared(), "topic", "transactionId", "subject", "connector", "group"),
    "idempotence": harmless("an own role gives what its file says, which does not name it"),
}
"""The keys of a grant of a role that a roles file declares."""
