"""Terraform's resources for Kafka, of Mongey's provider and of Confluent's, also in state files."""

from collections.abc import Callable, Iterator, Mapping

from kgitops.conversion.acls import AclFields, declare_acls, read_acl
from kgitops.conversion.objects import SourceObject
from kgitops.conversion.quotas import DEFAULT, declare_quota
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import YamlFile, lost_document
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user
from kgitops.model.registry import Json

Declare = Callable[[ObjectBuilder, Fields, tuple[str, ...]], None]

_META = ("count", "for_each", "depends_on", "lifecycle", "provider", "timeouts")
_ITERATIONS = 4096
"""The number that the provider hashes passwords with where none is written."""
_ENTITIES = {"user": "user", "client-id": "clientId", "ip": "ip"}
# What Confluent Cloud gives a topic: https://docs.confluent.io/cloud/current/topics/overview.html
_CLOUD_PARTITIONS = 6
_CLOUD_REPLICAS = 3
_VERSION = 4


def _topic(builder: ObjectBuilder, fields: Fields, clusters: tuple[str, ...]) -> None:
    fields.skip("managed_replication_factor")
    declare_topic(
        builder,
        fields.text("name"),
        TopicSource(
            partitions=fields.integer("partitions"),
            replication_factor=fields.integer("replication_factor"),
            configs=dict(fields.fields("config").entries()),
        ),
        clusters=clusters,
    )


def _acl(builder: ObjectBuilder, fields: Fields, clusters: tuple[str, ...]) -> None:
    operation = fields.take("acl_operation")
    acl = read_acl(
        builder,
        fields.text("acl_principal") or "",
        AclFields(
            at=builder.value,
            type=fields.take("resource_type"),
            name=fields.text("resource_name"),
            pattern=fields.take("resource_pattern_type_filter"),
            permission=fields.take("acl_permission_type"),
            operations=[operation] if operation else [],
            host=fields.text("acl_host"),
        ),
    )
    declare_acls(builder, [acl], clusters=clusters)


def _quota(builder: ObjectBuilder, fields: Fields, clusters: tuple[str, ...]) -> None:
    kind, name = fields.take("entity_type"), fields.text("entity_name")
    quotas = dict(fields.fields("config").entries())
    key = _ENTITIES.get((kind.text() or "") if kind else "")
    if key is None:
        shown = kind.shown if kind else "missing"
        known = ", ".join(_ENTITIES)
        builder.lose(
            kind or builder.value,
            f"{builder}: entity_type is {shown}, none of {known}",
            "correct it there",
        )
        return
    entity: dict[str, Json] = {key: name or DEFAULT}
    declare_quota(builder, entity, quotas, clusters=clusters)


def _user(builder: ObjectBuilder, fields: Fields, clusters: tuple[str, ...]) -> None:
    iterations = fields.integer("scram_iterations")
    credential = CredentialSource(
        fields.text("scram_mechanism") or "",
        _ITERATIONS if iterations is None else iterations,
        fields.take("password_wo", "password"),
        fields.text("password_wo_version"),
    )
    name = fields.text("username")
    if name is None:
        builder.lose(builder.value, f"{builder} has no username", "correct it there")
    else:
        declare_user(builder, name, [credential], clusters=clusters)


def _cloud_topic(builder: ObjectBuilder, fields: Fields, clusters: tuple[str, ...]) -> None:
    fields.skip("kafka_cluster", "rest_endpoint", "credentials")
    partitions = fields.integer("partitions_count")
    declare_topic(
        builder,
        fields.text("topic_name"),
        TopicSource(
            partitions=_CLOUD_PARTITIONS if partitions is None else partitions,
            replication_factor=_CLOUD_REPLICAS,
            configs=dict(fields.fields("config").entries()),
        ),
        clusters=clusters,
    )


def _cloud_acl(builder: ObjectBuilder, fields: Fields, clusters: tuple[str, ...]) -> None:
    fields.skip("kafka_cluster", "rest_endpoint", "credentials")
    operation = fields.take("operation")
    acl = read_acl(
        builder,
        fields.text("principal") or "",
        AclFields(
            at=builder.value,
            type=fields.take("resource_type"),
            name=fields.text("resource_name"),
            pattern=fields.take("pattern_type"),
            permission=fields.take("permission"),
            operations=[operation] if operation else [],
            host=fields.text("host"),
        ),
    )
    declare_acls(builder, [acl], clusters=clusters)


RESOURCES: Mapping[str, Declare] = {
    "kafka_topic": _topic,
    "kafka_acl": _acl,
    "kafka_quota": _quota,
    "kafka_user_scram_credential": _user,
    "confluent_kafka_topic": _cloud_topic,
    "confluent_kafka_acl": _cloud_acl,
}
"""A resource's type, to what declares it."""

LOGINS = {
    "kafka_user_scram_credential": ("password", "password_wo"),
    "confluent_kafka_topic": ("kafka_cluster", "rest_endpoint", "credentials"),
    "confluent_kafka_acl": ("kafka_cluster", "rest_endpoint", "credentials"),
}
"""The parts of a resource that say how it is reached, not what it is."""

REFUSED: Mapping[str, tuple[str, str]] = {
    "confluent_kafka_client_quota": (
        "it is a quota of Confluent Cloud's service accounts, which Kafka does not know",
        "keep it in Terraform",
    ),
}
"""Resources about Kafka that can't be declared, with why and what to do."""


def resource_object(builder: ObjectBuilder, clusters: tuple[str, ...] = ()) -> SourceObject:
    """The object of one instance of a resource."""
    kind = builder.kind
    if kind in REFUSED:
        return builder.refuse(*REFUSED[kind])
    declare = RESOURCES.get(kind)
    if declare is None:
        return builder.refuse("it is of no kind that kgitops declares", "keep it in Terraform")
    fields = builder.fields()
    fields.skip(*_META, "id")
    skipped = (*_META, *LOGINS.get(kind, ()))
    parts = [item for key, item in builder.value.entries() if key not in skipped]
    declare(builder, fields, clusters)
    fields.lose_rest(str(builder))
    return builder.build(parts)


def read_state(state: YamlFile) -> Iterator[SourceObject]:
    """The resources of Kafka's providers; the others are none of kgitops's."""
    yield from state.broken
    for document in state.documents:
        fields = Fields(document, [])
        version = fields.integer("version")
        if version != _VERSION:
            problem = f"it is no state file of version {_VERSION}"
            yield lost_document(document, problem, "write one with `terraform state pull`")
            continue
        for resource in fields.items("resources"):
            yield from _resource(resource)


def _resource(value: Value) -> Iterator[SourceObject]:
    fields = Fields(value, [])
    kind, name = fields.text("type") or "", fields.text("name") or ""
    known = kind in RESOURCES or kind in REFUSED or kind.startswith(("kafka_", "confluent_"))
    if fields.text("mode") != "managed" or not known:
        return
    module = fields.text("module")
    for instance in fields.items("instances"):
        inner = Fields(instance, [])
        key = inner.text("index_key")
        attributes = inner.take("attributes") or instance
        full = f"{module + '.' if module else ''}{name}{f'[{key}]' if key else ''}"
        yield resource_object(ObjectBuilder(kind, full, attributes))
