"""The bindings that Julie makes for a project's consumers, producers, applications and servers."""

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct

from kgitops.conversion.acls import AclFields, AclSource, read_acl
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.tools.julie_naming import Settings, filled
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, PatternType, ResourceType

_CENTER_TOPIC = (Operation.WRITE, Operation.READ, Operation.CREATE, Operation.DESCRIBE)
_REGISTRY_TOPIC = (
    Operation.CREATE,
    Operation.DESCRIBE_CONFIGS,
    Operation.DESCRIBE,
    Operation.WRITE,
    Operation.READ,
)


class GrantedTopics(Struct, frozen=True, kw_only=True):
    """The topics that a grant is about, by their full names, and the ``prefix`` of all of them.

    ``prefixed``: one binding on the prefix stands for one on each topic.
    """

    topics: tuple[str, ...] = ()
    prefix: str = ""
    prefixed: bool = False
    settings: Settings


Rights = list[AclSource]
Expand = Callable[[str, ObjectBuilder, Fields, GrantedTopics], Rights]


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


def _on_topics(principal: str, scope: GrantedTopics, *operations: Operation) -> Rights:
    if scope.prefixed:
        return [grant(principal, ResourceType.TOPIC, scope.prefix, *operations, prefixed=True)]
    return [grant(principal, ResourceType.TOPIC, name, *operations) for name in scope.topics]


def _consumer(
    principal: str, _builder: ObjectBuilder, fields: Fields, scope: GrantedTopics
) -> Rights:
    group = fields.text("group") or "*"
    rights = _on_topics(principal, scope, Operation.DESCRIBE, Operation.READ)
    return rights and [*rights, _starred(principal, ResourceType.GROUP, group, Operation.READ)]


def _producer(
    principal: str, _builder: ObjectBuilder, fields: Fields, scope: GrantedTopics
) -> Rights:
    transaction, idempotence = fields.text("transactionId"), fields.take("idempotence")
    rights = _on_topics(principal, scope, Operation.DESCRIBE, Operation.WRITE)
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


def _read_and_written(principal: str, builder: ObjectBuilder, fields: Fields) -> Rights:
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
    topics.lose_rest(f"topics of {builder}")
    return rights


def _streams(
    principal: str, builder: ObjectBuilder, fields: Fields, scope: GrantedTopics
) -> Rights:
    application = fields.text("applicationId") or scope.prefix
    rights = _read_and_written(principal, builder, fields)
    own = partial(grant, principal, prefixed=True)
    rights += [
        own(ResourceType.TOPIC, application, Operation.ALL),
        own(ResourceType.GROUP, application, Operation.READ),
    ]
    if fields.text("exactlyOnce") == "true":
        both = (Operation.WRITE, Operation.DESCRIBE)
        rights.append(own(ResourceType.TRANSACTIONAL_ID, application, *both))
    return rights


def _connector(
    principal: str, builder: ObjectBuilder, fields: Fields, scope: GrantedTopics
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
    fields.skip("cluster_id", "connectors")  # for RBAC
    return rights + _read_and_written(principal, builder, fields)


def _ksql(principal: str, builder: ObjectBuilder, fields: Fields, scope: GrantedTopics) -> Rights:
    application = fields.text("applicationId") or scope.prefix
    fields.skip("ksqlDbId")
    return [
        *_read_and_written(principal, builder, fields),
        grant(principal, ResourceType.TOPIC, application, Operation.ALL, prefixed=True),
        grant(principal, ResourceType.GROUP, application, Operation.ALL, prefixed=True),
    ]


def _schema_registry(
    principal: str, _builder: ObjectBuilder, fields: Fields, _scope: GrantedTopics
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
    principal: str, builder: ObjectBuilder, fields: Fields, scope: GrantedTopics
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
    principal: str, builder: ObjectBuilder, fields: Fields, _scope: GrantedTopics
) -> Rights:
    server = fields.text("ksqlDbId")
    fields.skip("owner")
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
    role: Value, principal: str, builder: ObjectBuilder, fields: Fields, _scope: GrantedTopics
) -> Rights:
    """The bindings of a role that a roles file declares; its ``permissionType`` is not read."""
    names = {key: fields.text(key) or "" for key in ("topic", "transactionId", "subject")}
    names |= {"connector": fields.text("connector") or "", "group": fields.text("group") or "*"}
    acls = []
    for entry in Fields(role, []).items("acls"):
        acl = builder.fields(entry)
        operation = acl.take("operation")
        acls.append(
            read_acl(
                builder,
                principal,
                AclFields(
                    at=entry,
                    type=acl.take("resourceType"),
                    name=filled(acl.text("resourceName") or "", names),
                    pattern=acl.take("patternType"),
                    operations=[operation] if operation else [],
                    host=acl.text("host"),
                ),
            )
        )
    return list(filter(None, acls))


ON_TOPICS: Mapping[str, Expand] = {"consumers": _consumer, "producers": _producer}
"""The lists that a project and a topic have, with what an entry of them grants."""

OF_PROJECT: Mapping[str, Expand] = {
    "streams": _streams,
    "connectors": _connector,
    "ksql": _ksql,
}
"""The lists that only a project has."""

OF_PLATFORM: Mapping[str, Expand] = {
    "schema_registry": _schema_registry,
    "control_center": _control_center,
    "ksql": _ksql_server,
}
"""The servers of the platform."""
