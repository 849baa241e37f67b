"""Terraform's resources for Kafka, of Mongey's provider and of Confluent's."""

from collections.abc import Callable, Iterator, Mapping

from kgitops.conversion.acls import AclFields, declare_acls, folded, read_acl
from kgitops.conversion.objects import SourceObject
from kgitops.conversion.quotas import DEFAULT, declare_quota
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.keys import Fate, KeyedFields, harmless
from kgitops.conversion.reading.values import Value
from kgitops.conversion.tools.terraform.keys import RESOURCES, SECRETS, resource_keys
from kgitops.conversion.tools.terraform.lifecycle import (
    Declarable,
    Lifecycle,
    declarable,
    read_lifecycle,
)
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user
from kgitops.model.registry import Json
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, PermissionType

_ITERATIONS = 4096
"""The number that the provider hashes passwords with where none is written."""
_ENTITIES = {"user": "user", "client-id": "clientId", "ip": "ip"}
# What Confluent Cloud gives a topic: https://docs.confluent.io/cloud/current/topics/overview.html
_CLOUD_PARTITIONS = 6
_CLOUD_REPLICAS = 3
_OTHERS = ("kafka", "redpanda", "_msk_")
"""Words in the types of resources that other providers have for Kafka."""


def _configs(fields: KeyedFields, may: Declarable) -> dict[str, Value]:
    """The configs that may be declared; to Terraform, one that is null is not there."""
    configs = dict(fields.entries("config")) if may.configs else {}
    if not may.configs:
        fields.take("config")
    return {
        key: value
        for key, value in configs.items()
        if key not in may.without and not value.is_null()
    }


def _topic(
    builder: ObjectBuilder, fields: KeyedFields, may: Declarable, clusters: tuple[str, ...]
) -> None:
    declare_topic(
        builder,
        fields.text("name"),
        TopicSource(
            partitions=fields.integer("partitions"),
            replication_factor=fields.integer("replication_factor"),
            configs=_configs(fields, may),
        ),
        clusters=clusters,
    )


def _cloud_topic(
    builder: ObjectBuilder, fields: KeyedFields, may: Declarable, clusters: tuple[str, ...]
) -> None:
    _take_cluster(fields)
    partitions = fields.take("partitions_count")
    declare_topic(
        builder,
        fields.text("topic_name"),
        TopicSource(
            partitions=_CLOUD_PARTITIONS if partitions is None else partitions.integer(),
            replication_factor=_CLOUD_REPLICAS,
            configs=_configs(fields, may),
        ),
        clusters=clusters,
    )


_ACL = {
    "type": "resource_type",
    "name": "resource_name",
    "pattern": "resource_pattern_type_filter",
    "principal": "acl_principal",
    "host": "acl_host",
    "operation": "acl_operation",
    "permission": "acl_permission_type",
}
"""The parts of an ACL, to Mongey's names for them."""
_SPELLINGS = {
    "type": ("Topic", "Group", "Cluster", "TransactionalID", "DelegationToken"),
    "pattern": ("Literal", "Prefixed"),
    "operation": tuple(Operation),
    "permission": tuple(PermissionType),
}
"""The values of an ACL's parts, in the only spelling that Mongey's provider accepts."""
_CLOUD_ACL = {
    **{part: part for part in ("principal", "host", "operation", "permission")},
    "type": "resource_type",
    "name": "resource_name",
    "pattern": "pattern_type",
}


def _acl(
    builder: ObjectBuilder, fields: KeyedFields, _may: Declarable, clusters: tuple[str, ...]
) -> None:
    _declare_acl(builder, fields, _ACL, clusters)


def _cloud_acl(
    builder: ObjectBuilder, fields: KeyedFields, _may: Declarable, clusters: tuple[str, ...]
) -> None:
    _take_cluster(fields)
    _declare_acl(builder, fields, _CLOUD_ACL, clusters)


def _declare_acl(
    builder: ObjectBuilder, fields: KeyedFields, names: Mapping[str, str], clusters: tuple[str, ...]
) -> None:
    values = {part: fields.take(name) for part, name in names.items()}
    optional = "pattern" if names is _ACL else ""
    for part, value in values.items():
        if part != optional and (value is None or not value.text()):
            builder.lose(builder.value, f"{builder} has no {names[part]}", "correct it there")
            return
    if names is _ACL and any(_is_misspelled(builder, part, values[part]) for part in _SPELLINGS):
        return
    kind, name, pattern = (_text(values[part]) for part in ("type", "name", "pattern"))
    if kind.lower() == "cluster" and (name != CLUSTER_NAME or pattern.lower() == "prefixed"):
        problem = f"{builder}: the resource of an ACL on the cluster is {CLUSTER_NAME}, literally"
        builder.lose(values["name"] or builder.value, problem, "correct it there")
        return
    operation = values["operation"]
    acl = read_acl(
        builder,
        _text(values["principal"]),
        AclFields(
            at=builder.value,
            type=values["type"],
            name=name,
            pattern=values["pattern"],
            permission=values["permission"],
            operations=[operation] if operation else [],
            host=_text(values["host"]),
        ),
    )
    declare_acls(builder, [acl], clusters=clusters)


def _is_misspelled(builder: ObjectBuilder, part: str, value: Value | None) -> bool:
    """Return whether the provider refuses the value: Terraform never made such an ACL, a loss."""
    text = _text(value)
    name = folded(text)
    meant = next((known for known in _SPELLINGS[part] if known.lower() == name), text)
    if value is None or meant == text:
        return False
    problem = f"{builder}: Terraform's provider has no {_ACL[part]} {value.shown}, so the ACL was"
    builder.lose(value, f"{problem} never created", f"write {meant} there if it is meant")
    return True


def _text(value: Value | None) -> str:
    return (value.text() or "") if value is not None else ""


def _quota(
    builder: ObjectBuilder, fields: KeyedFields, may: Declarable, clusters: tuple[str, ...]
) -> None:
    kind, name = fields.take("entity_type"), fields.text("entity_name")
    quotas = _configs(fields, may)
    key = _ENTITIES.get(_text(kind))
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


def _user(
    builder: ObjectBuilder, fields: KeyedFields, may: Declarable, clusters: tuple[str, ...]
) -> None:
    iterations = fields.integer("scram_iterations")
    version = fields.text("password_wo_version")
    credential = CredentialSource(
        fields.text("scram_mechanism") or "",
        _ITERATIONS if iterations is None else iterations,
        fields.take("password_wo", "password"),
        None if "password_wo_version" in may.without else version,
    )
    name = fields.text("username")
    if name is None:
        builder.lose(builder.value, f"{builder} has no username", "correct it there")
    else:
        declare_user(builder, name, [credential], clusters=clusters)


def _take_cluster(fields: KeyedFields) -> None:
    """Take the cluster's id, which `Providers.of_id` has read."""
    for cluster in fields.mappings("kafka_cluster"):
        cluster.take("id")


_DECLARE: Mapping[
    str, Callable[[ObjectBuilder, KeyedFields, Declarable, tuple[str, ...]], None]
] = {
    "kafka_topic": _topic,
    "kafka_acl": _acl,
    "kafka_quota": _quota,
    "kafka_user_scram_credential": _user,
    "confluent_kafka_topic": _cloud_topic,
    "confluent_kafka_acl": _cloud_acl,
}
"""A resource's type, to what declares it."""

REFUSED: Mapping[str, tuple[str, str]] = {
    "confluent_kafka_client_quota": (
        "it is a quota of Confluent Cloud's service accounts, which Kafka does not know",
        "keep it in Terraform",
    ),
}
"""Resources about Kafka that can't be declared, with why and what to do."""


def is_kafkas(kind: str) -> bool:
    """Return whether a resource is about Kafka, whether kgitops reads its provider or not."""
    return kind.startswith("confluent_") or any(word in kind for word in _OTHERS)


def resource_object(
    builder: ObjectBuilder, clusters: tuple[str, ...] = (), lifecycle: Lifecycle | None = None
) -> SourceObject:
    """The object of one instance of a resource; ``lifecycle`` is its own if it is not given."""
    kind = builder.kind
    if kind in REFUSED:
        return builder.refuse(*REFUSED[kind])
    if kind not in _DECLARE:
        provider = kind.partition("_")[0]
        if provider in ("kafka", "confluent"):
            return builder.refuse("it is of no kind that kgitops declares", "keep it in Terraform")
        problem = f"resources of the provider {provider} are not read"
        return builder.refuse(problem, "declare it by hand, or keep it in Terraform")
    if lifecycle is None:
        lifecycle = read_lifecycle(builder)
    may = declarable(builder, lifecycle.ignored)
    if not may.anything:
        return builder.build([])
    keys = {**resource_keys(kind), "lifecycle": harmless("it is read already")}
    fields = builder.read(keys)
    for name in ("count", "for_each", "provider"):
        fields.take(name)  # `Module.instances` and `Providers.of_resource` have read them
    _DECLARE[kind](builder, fields, may, clusters)
    if lifecycle.deletion_policy:
        builder.set_deletion_policy(lifecycle.deletion_policy)
    return builder.build(list(_deciding_values(builder, may)))


def _deciding_values(builder: ObjectBuilder, may: Declarable) -> Iterator[Value]:
    """The values that tell what is declared, in which a template counts."""
    for name, value in builder.value.entries():
        argument = RESOURCES[builder.kind].get(name)
        if argument is None or argument.fate is not Fate.DECLARED or name in SECRETS:
            continue
        if name != "config" or may.configs:
            yield value
