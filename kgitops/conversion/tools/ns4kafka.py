"""ns4kafka's resources: topics, the rights of namespaces, streams, and quotas of their users."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

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
from kgitops.conversion.reading.keys import (
    KeyedFields,
    Keys,
    declared,
    harmless,
    lost,
    same,
    setting,
)
from kgitops.conversion.reading.resources import header, metadata_name
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.model.resources.acls import Operation, PatternType, ResourceType

_NAMESPACED = ("Topic", "AccessControlEntry", "KafkaStream", "ResourceQuota")
_BY_OTHER_NAMES = ("AccessControlEntry", "ResourceQuota")
# Of ns4kafka alone: they say who may declare what, or are about other servers than brokers.
_OTHERS = ("RoleBinding", "Connector", "ConnectCluster", "Schema", "KafkaUserResetPassword")
# The bindings that an OWNER gets (ns4kafka's AccessControlEntryAsyncExecutor).
_OWNED = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.READ, Operation.DESCRIBE_CONFIGS),
    ResourceType.GROUP: (Operation.READ,),
}
_PUBLIC = "*"
_LIMITS_OF_KUBERNETES = ("hard", "scopes", "scopeSelector")
_USER_QUOTAS = ("user/producer_byte_rate", "user/consumer_byte_rate")
_BY_THE_SERVER = harmless("ns4kafka's server writes it")
_RESOURCE: Keys = {
    "apiVersion": harmless("ns4kafka has one"),
    "kind": harmless("it says which table this is"),
    "status": _BY_THE_SERVER,
}
_METADATA: Keys = {
    **same(declared(), "name", "namespace", "cluster", "labels"),
    **same(
        _BY_THE_SERVER,
        "generation",
        "creationTimestamp",
        "updateTimestamp",
        "finalizers",
        "status",
    ),
}
_UNNAMED: Keys = {
    **_METADATA,
    "name": harmless("what is declared is named by its rights, or by its user"),
}
_LIMIT = lost("it says what the namespace may declare", "write a policy for it (kgitops policy)")
_SCHEMAS = lost("schemas are a schema registry's", "keep it in ns4kafka")
TABLES: Mapping[str, Keys] = {
    "Topic": {
        **_RESOURCE,
        "metadata": declared(_METADATA),
        "spec": declared(
            {
                **same(
                    declared(), "partitions", "replicationFactor", "configs", "tags", "description"
                ),
                **same(_SCHEMAS, "subjectNameStrategy", "schemaNameStrategy"),
            }
        ),
    },
    "AccessControlEntry": {
        **_RESOURCE,
        "metadata": declared(_UNNAMED),
        "spec": declared(
            same(
                declared(),
                "resourceType",
                "resource",
                "resourcePatternType",
                "permission",
                "grantedTo",
            )
        ),
    },
    "KafkaStream": {**_RESOURCE, "metadata": declared(_METADATA)},
    "ResourceQuota": {
        **_RESOURCE,
        "metadata": declared(_UNNAMED),
        "spec": declared(
            {
                **same(declared(), *_USER_QUOTAS),
                **same(_LIMIT, "count/topics", "count/partitions", "disk/topics"),
                "count/connectors": lost("connectors are not of Kafka's brokers", "keep it there"),
            }
        ),
    },
    "Namespace": {
        **_RESOURCE,
        "metadata": declared(
            {
                **_METADATA,
                "namespace": harmless("a namespace is in none"),
                "labels": lost("a namespace becomes no object", "write them into its topics"),
            }
        ),
        "spec": declared(
            {
                "kafkaUser": setting("the principal of its ACLs"),
                "transactionsEnabled": setting("the rights on transactional ids"),
                "connectClusters": harmless("Connect's clusters are not brokers"),
                "topicValidator": _LIMIT,
                "connectValidator": lost(
                    "connectors are not of Kafka's brokers", "keep it in ns4kafka"
                ),
                "subjectNameStrategies": _SCHEMAS,
                "protectionEnabled": lost(
                    "it says whose ACLs ns4kafka lets the namespace have",
                    "write a policy for it (kgitops policy)",
                    unless=("false",),
                ),
            }
        ),
    },
}


class _Namespace(Struct, frozen=True):
    """A namespace's user; ``streams`` if it declares Kafka Streams applications."""

    user: str
    transactions: bool
    cluster: str = ""
    streams: bool = False


class _Namespaces(Struct, frozen=True):
    """The namespaces by their names; ``several`` if they are on more than one cluster."""

    by_name: dict[str, _Namespace]
    several: bool

    def name_of(self, document: Value) -> str | None:
        """The namespace of a document: the only one of the files where none is written.

        `kafkactl` takes it from its own settings there. None if the files have several.
        """
        written = document.text_at("metadata", "namespace")
        return written or (next(iter(self.by_name)) if len(self.by_name) == 1 else None)

    def clusters_of(self, builder: ObjectBuilder, metadata: KeyedFields) -> tuple[str, ...]:
        """The cluster of an object, that of its namespace unless it names one."""
        own, _ = metadata.text("cluster"), metadata.text("namespace")
        namespace = self.name_of(builder.value)
        found = self.by_name.get(namespace or "")
        cluster = own or (found.cluster if found is not None else "")
        if self.several and not cluster:
            problem = f"the cluster of its namespace {namespace!r} is not known"
            problem = problem if namespace else "it has no cluster and no namespace"
            advice = "it is declared on all; write cluster there"
            builder.lose(builder.value, f"{builder}: {problem}", advice)
        return (cluster,) if self.several and cluster else ()


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
    if api != "v1" or kind not in known or _is_kubernetes(document, kind):
        return None
    return kind


def _is_kubernetes(document: Value, kind: str) -> bool:
    """Return whether it is Kubernetes' own Namespace or ResourceQuota, which have that version."""
    if kind == "ResourceQuota":
        return any(key in _LIMITS_OF_KUBERNETES for key in _keys(document.at("spec")))
    if kind == "Namespace":
        return document.text_at("metadata", "cluster") is None and not (
            _keys(document.at("spec")) - {"finalizers"}
        )
    return False


def _keys(value: Value | None) -> set[str]:
    return {key for key, _ in value.entries()} if value is not None else set()


def _namespaces(documents: Iterable[Value]) -> _Namespaces:
    found: dict[str, _Namespace] = {}
    streaming: set[str | None] = set()
    clusters = set()
    for document in documents:
        kind = _kind(document)
        name, namespace = metadata_name(document), document.text_at("metadata", "namespace")
        cluster = document.text_at("metadata", "cluster") or ""
        clusters |= {cluster} if cluster and kind is not None else set()
        if kind == "KafkaStream":
            streaming.add(namespace)
        elif kind == "Namespace" and name:
            transactions = document.at("spec", "transactionsEnabled")
            found[name] = _Namespace(
                document.text_at("spec", "kafkaUser") or "",
                transactions is not None and transactions.flag() is True,
                cluster,
            )
    if None in streaming and len(found) == 1:
        streaming |= set(found)
    by_name = {name: replace(item, streams=name in streaming) for name, item in found.items()}
    return _Namespaces(by_name, len(clusters) > 1)


def _objects(file: YamlFile, namespaces: _Namespaces) -> Iterable[SourceObject]:
    for document in file.documents:
        kind = _kind(document)
        if kind is None:
            problem = "the document is none of ns4kafka's resources (apiVersion v1)"
            yield lost_document(document, problem, "convert it by hand")
        else:
            yield _object(document, kind, namespaces)


def _object(value: Value, kind: str, namespaces: _Namespaces) -> SourceObject:
    builder = ObjectBuilder(kind, metadata_name(value), value)
    if kind in _OTHERS:
        return builder.refuse("kgitops has no such kind", "keep it in ns4kafka")
    fields = builder.read(TABLES[kind])
    metadata = fields.fields("metadata")
    if kind not in _BY_OTHER_NAMES:
        metadata.take("name")
    if kind == "Namespace":
        metadata.take("cluster")
        _namespace(builder, fields.fields("spec"))
        return builder.build()
    builder.label(metadata.texts("labels"))
    namespace = namespaces.name_of(value)
    clusters = namespaces.clusters_of(builder, metadata)
    if kind == "Topic":
        _topic(builder, fields.fields("spec"), clusters)
    elif kind == "AccessControlEntry":
        _entry(builder, fields.fields("spec"), namespaces, clusters)
    elif kind == "KafkaStream":
        _stream(builder, namespaces, namespace, clusters)
    else:
        _quota(builder, fields.fields("spec"), namespaces, namespace, clusters)
    return builder.build()


def _topic(builder: ObjectBuilder, spec: KeyedFields, clusters: tuple[str, ...]) -> None:
    tags = []
    for item in spec.items("tags"):
        if (tag := item.text()) is None:
            builder.lose(item, f"{builder}: the tag {item.shown} is no text", "correct it there")
        else:
            tags.append(tag)
    builder.label({"tags": ",".join(tags)} if tags else {})
    if description := spec.text("description"):
        builder.note(description)
    topic = TopicSource(
        partitions=spec.integer("partitions"),
        replication_factor=spec.integer("replicationFactor"),
        configs=dict(spec.entries("configs")),
    )
    declare_topic(builder, builder.name, topic, clusters=clusters)


def _namespace(builder: ObjectBuilder, spec: KeyedFields) -> None:
    user = spec.text("kafkaUser")
    spec.flag("transactionsEnabled")
    builder.becomes_settings(f"the principal User:{user} of its ACLs")


def _user(builder: ObjectBuilder, namespaces: _Namespaces, name: str | None) -> _Namespace | None:
    if not name:
        several = "several namespaces" if namespaces.by_name else "no namespace"
        problem = f"{builder}: no namespace is written, and the files have {several}"
        advice = "write the one that kafkactl takes from its settings into metadata.namespace"
        builder.lose(builder.value, problem, advice)
        return None
    found = namespaces.by_name.get(name)
    if found is None or not found.user:
        builder.lose(
            builder.value,
            f"{builder}: the namespace {name!r}, which names its user, is not among the files",
            "convert it together with them",
        )
        return None
    return found


def _entry(
    builder: ObjectBuilder,
    spec: KeyedFields,
    namespaces: _Namespaces,
    clusters: tuple[str, ...],
) -> None:
    kind = (spec.text("resourceType") or "").upper()
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
    declare_acls(builder, acls, clusters=clusters)


def _transactional(principal: str, name: str, namespace: _Namespace) -> list[AclSource]:
    """Rights on transactional ids, by prefix whatever the entry's pattern is."""
    operations = (Operation.WRITE, Operation.DESCRIBE)
    prefixes = [name] if namespace.transactions or namespace.streams else []
    if namespace.transactions:
        prefixes.insert(0, f"connect-cluster-{name}")
    kind = ResourceType.TRANSACTIONAL_ID
    return [_acl(principal, kind, prefix, PatternType.PREFIXED, *operations) for prefix in prefixes]


def _stream(
    builder: ObjectBuilder, namespaces: _Namespaces, name: str | None, clusters: tuple[str, ...]
) -> None:
    namespace = _user(builder, namespaces, name)
    if namespace is not None:
        operations = (Operation.CREATE, Operation.DELETE)
        principal = f"User:{namespace.user}"
        topics = (ResourceType.TOPIC, builder.name, PatternType.PREFIXED)
        declare_acls(builder, [_acl(principal, *topics, *operations)], clusters=clusters)


def _quota(
    builder: ObjectBuilder,
    spec: KeyedFields,
    namespaces: _Namespaces,
    name: str | None,
    clusters: tuple[str, ...],
) -> None:
    quotas = {
        key.removeprefix("user/"): value
        for key in _USER_QUOTAS
        if (value := spec.take(key)) is not None
    }
    namespace = _user(builder, namespaces, name) if quotas else None
    if namespace is not None:
        declare_quota(builder, {"user": namespace.user}, quotas, clusters=clusters)


def _acl(
    principal: str, kind: ResourceType, name: str, pattern: PatternType, *operations: Operation
) -> AclSource:
    return AclSource(
        principal=principal, operations=operations, type=kind, name=name, pattern=pattern
    )
