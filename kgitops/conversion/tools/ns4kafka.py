"""ns4kafka's resources: topics, the rights of namespaces, streams, and quotas of their users."""

from collections.abc import Iterable

from msgspec import Struct

from kgitops.conversion.acls import AclSource, declare_acls, read_member
from kgitops.conversion.objects import Conversion, SourceObject
from kgitops.conversion.quotas import declare_quota
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    converted_file,
    documents_of,
    lost_document,
    read_yaml_files,
)
from kgitops.conversion.reading.resources import header, metadata_name
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.model.resources.acls import Operation, PatternType, ResourceType

_NAMESPACED = ("Topic", "AccessControlEntry", "KafkaStream", "ResourceQuota")
# Of ns4kafka alone: they say who may declare what, or are about other servers than brokers.
_OTHERS = ("RoleBinding", "Connector", "ConnectCluster", "Schema", "KafkaUserResetPassword")
# The bindings that an OWNER gets (ns4kafka's AccessControlEntryAsyncExecutor).
_OWNED = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.READ, Operation.DESCRIBE_CONFIGS),
    ResourceType.GROUP: (Operation.READ,),
}
_PUBLIC = "*"
_USER_QUOTAS = ("user/producer_byte_rate", "user/consumer_byte_rate")


class _Namespace(Struct, frozen=True):
    """A namespace's user; ``streams`` if it declares Kafka Streams applications."""

    user: str
    transactions: bool
    streams: bool = False


def count(folder: SourceFolder) -> int:
    """The number of ns4kafka's resources."""
    files = read_yaml_files(folder, Dialect.SNAKE)
    return sum(_kind(item) is not None for item in documents_of(files))


def convert(folder: SourceFolder) -> Conversion:
    """Read all of ns4kafka's resources; other documents are lost."""
    files = read_yaml_files(folder, Dialect.SNAKE)
    namespaces = _namespaces(documents_of(files))
    return Conversion(
        tool="ns4kafka",
        files=tuple(converted_file(file, _objects(file, namespaces)) for file in files),
    )


def _kind(document: Value) -> str | None:
    """The kind of a resource; None if the document is none."""
    api, kind = header(document)
    known = (*_NAMESPACED, *_OTHERS, "Namespace")
    return kind if api == "v1" and kind in known else None


def _namespaces(documents: Iterable[Value]) -> dict[str, _Namespace]:
    found: dict[str, _Namespace] = {}
    streaming = set()
    for document in documents:
        kind, fields = _kind(document), Fields(document, [])
        metadata = fields.fields("metadata")
        name, namespace = metadata.text("name"), metadata.text("namespace")
        if kind == "KafkaStream" and namespace:
            streaming.add(namespace)
        elif kind == "Namespace" and name:
            spec = fields.fields("spec")
            transactions = spec.text("transactionsEnabled") == "true"
            found[name] = _Namespace(spec.text("kafkaUser") or "", transactions)
    return {
        name: _Namespace(item.user, item.transactions, streams=name in streaming)
        for name, item in found.items()
    }


def _objects(file: YamlFile, namespaces: dict[str, _Namespace]) -> Iterable[SourceObject]:
    for document in file.documents:
        kind = _kind(document)
        if kind is None:
            problem = "the document is none of ns4kafka's resources (apiVersion v1)"
            yield lost_document(document, problem, "convert it by hand")
        else:
            yield _object(document, kind, namespaces)


def _object(value: Value, kind: str, namespaces: dict[str, _Namespace]) -> SourceObject:
    builder = ObjectBuilder(kind, metadata_name(value), value)
    if kind in _OTHERS:
        return builder.refuse("kgitops has no such kind", "keep it in ns4kafka")
    fields = builder.fields()
    fields.skip("apiVersion", "kind", "status")
    metadata, spec = fields.fields("metadata"), fields.fields("spec")
    metadata.skip("name", "cluster", "creationTimestamp", "finalizer", "updateTimestamp", "status")
    labels = metadata.texts("labels")
    namespace = metadata.text("namespace")
    if kind == "Topic":
        _topic(builder, spec, labels)
    elif kind == "Namespace":
        _namespace(builder, spec)
    elif kind == "AccessControlEntry":
        _entry(builder, spec, namespaces)
    elif kind == "KafkaStream":
        _stream(builder, namespaces, namespace)
    else:
        _quota(builder, spec, namespaces, namespace)
    for rest, of in ((metadata, "metadata of "), (spec, ""), (fields, "")):
        rest.lose_rest(f"{of}{builder}")
    return builder.build()


def _topic(builder: ObjectBuilder, spec: Fields, labels: dict[str, str]) -> None:
    tags = [item.text() or "" for item in spec.items("tags")]
    description = spec.text("description")
    topic = TopicSource(
        partitions=spec.integer("partitions"),
        replication_factor=spec.integer("replicationFactor"),
        configs=dict(spec.fields("configs").entries()),
    )
    marked = {**labels, **({"tags": ",".join(tags)} if tags else {})}
    builder.label(marked)
    declare_topic(builder, builder.name, topic)
    if description:
        builder.note(description)


def _namespace(builder: ObjectBuilder, spec: Fields) -> None:
    user = spec.text("kafkaUser")
    spec.skip("transactionsEnabled", "connectClusters")
    for key, value in spec.entries():
        builder.lose(
            value,
            f"{builder}: {key} says what the namespace may declare",
            "write a policy for it (kgitops policy)",
        )
    builder.becomes_settings(f"the principal User:{user} of its ACLs")


def _user(
    builder: ObjectBuilder, namespaces: dict[str, _Namespace], name: str | None
) -> _Namespace | None:
    found = namespaces.get(name or "")
    if found is None or not found.user:
        builder.lose(
            builder.value,
            f"{builder}: the namespace {name!r}, which names its user, is not among the files",
            "convert it together with them",
        )
        return None
    return found


def _entry(builder: ObjectBuilder, spec: Fields, namespaces: dict[str, _Namespace]) -> None:
    kind_value = spec.take("resourceType")
    kind = (kind_value.text() or "").upper() if kind_value else ""
    name = spec.text("resource") or ""
    pattern = read_member(
        builder, PatternType, spec.take("resourcePatternType"), PatternType.LITERAL
    )
    permission = (spec.text("permission") or "").upper()
    granted = spec.text("grantedTo")
    public = granted == _PUBLIC
    namespace = _Namespace("*", False) if public else _user(builder, namespaces, granted)
    if namespace is None or pattern is None:
        return
    principal = f"User:{namespace.user}"
    if kind == "CONNECT" and permission == "OWNER":
        acls = [_acl(principal, ResourceType.GROUP, f"connect-{name}", pattern, Operation.READ)]
    elif kind in ("TOPIC", "GROUP") and permission in ("OWNER", "READ", "WRITE"):
        resource = ResourceType(kind.lower())
        operations = (
            _OWNED[resource] if permission == "OWNER" else (Operation(permission.capitalize()),)
        )
        acls = [_acl(principal, resource, name, pattern, *operations)]
        if resource is ResourceType.GROUP and not public:
            acls += _transactional(principal, name, namespace)
    else:
        builder.lose(
            builder.value,
            f"{builder}: {permission} of {kind or 'no resource type'} gives no right on brokers",
            "keep it in ns4kafka",
        )
        return
    declare_acls(builder, acls)


def _transactional(principal: str, name: str, namespace: _Namespace) -> list[AclSource]:
    """Rights on transactional ids, by prefix whatever the entry's pattern is."""
    operations = (Operation.WRITE, Operation.DESCRIBE)
    prefixes = [name] if namespace.transactions or namespace.streams else []
    if namespace.transactions:
        prefixes.insert(0, f"connect-cluster-{name}")
    kind = ResourceType.TRANSACTIONAL_ID
    return [_acl(principal, kind, prefix, PatternType.PREFIXED, *operations) for prefix in prefixes]


def _stream(builder: ObjectBuilder, namespaces: dict[str, _Namespace], name: str | None) -> None:
    namespace = _user(builder, namespaces, name)
    if namespace is not None:
        operations = (Operation.CREATE, Operation.DELETE)
        principal = f"User:{namespace.user}"
        topics = (ResourceType.TOPIC, builder.name, PatternType.PREFIXED)
        declare_acls(builder, [_acl(principal, *topics, *operations)])


def _quota(
    builder: ObjectBuilder,
    spec: Fields,
    namespaces: dict[str, _Namespace],
    name: str | None,
) -> None:
    quotas = {
        key.removeprefix("user/"): value
        for key in _USER_QUOTAS
        if (value := spec.take(key)) is not None
    }
    for key, value in spec.entries():
        builder.lose(
            value,
            f"{builder}: {key} limits what the namespace may declare",
            "write a policy for it (kgitops policy)",
        )
    namespace = _user(builder, namespaces, name) if quotas else None
    if namespace is not None:
        declare_quota(builder, {"user": namespace.user}, quotas)


def _acl(
    principal: str, kind: ResourceType, name: str, pattern: PatternType, *operations: Operation
) -> AclSource:
    return AclSource(
        principal=principal, operations=operations, type=kind, name=name, pattern=pattern
    )
