"""Jikkou's resources: topics, ACLs with their roles, quotas, users, groups, config maps."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct, field

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
from kgitops.conversion.config_resources import declare_group
from kgitops.conversion.objects import Conversion, SourceObject
from kgitops.conversion.quotas import CAMEL_CASE, DEFAULT, declare_quota
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
from kgitops.conversion.reading.resources import header, is_known_version
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user
from kgitops.model.registry import Json

_DELETE = "jikkou.io/delete"
_IGNORE = "jikkou.io/ignore"
# Annotations of what is not to be declared, with the problem and what to do.
_REFUSED = {
    _DELETE: (
        f"it is to be deleted ({_DELETE})",
        "let Jikkou delete it, or declare it, apply, and write a Tombstone",
    ),
    _IGNORE: (f"Jikkou does not manage it ({_IGNORE})", "write it by hand to manage it here"),
}
_ITERATIONS = 8192
"""The number that Jikkou hashes passwords with where none is written."""
# Jikkou's types of quotas, to the entities that are the default of theirs.
_ENTITIES: Mapping[str, Mapping[str, Json]] = {
    "USERS_DEFAULT": {"user": DEFAULT},
    "USER": {},
    "USER_CLIENT": {},
    "USER_ALL_CLIENTS": {"clientId": DEFAULT},
    "CLIENT": {},
    "CLIENTS_DEFAULT": {"clientId": DEFAULT},
}

_ANNOTATIONS: Keys = {
    **same(declared(), _DELETE, _IGNORE),
    "jikkou.io/replace": lost(
        "kgitops does not delete and create again what differs",
        "it is changed in place",
        unless=("false",),
    ),
    "jikkou.io/bypass-validations": lost(
        "kgitops's policies judge every object",
        "write a Waiver where a policy refuses it",
        unless=("false",),
    ),
    "jikkou.io/config-override": lost("it changes the configs that Jikkou writes"),
    "jikkou.io/provider": lost(
        "it names one of Jikkou's providers, and so the cluster that it is for",
        "keep it in the project of that cluster",
    ),
    "kafka.jikkou.io/cluster-id": lost(
        "an object does not name its cluster's id", "write spec.clusters.NAME.clusterId"
    ),
    "kafka.jikkou.io/force-password-renewal": lost(
        "kgitops sets a password again when its version is raised",
        "raise version of the User's mechanism",
        unless=("false",),
    ),
    "jikkou.io/no-report": harmless("Jikkou leaves it out of its reports"),
    **same(
        harmless("Jikkou writes it where it shows what it found"),
        "jikkou.io/generated",
        "jikkou.io/items-count",
        "jikkou.io/changes-count",
        "jikkou.io/managed-by-location",
        "jikkou.io/resource-location",
        "kafka.jikkou.io/topic-id",
        "kafka.jikkou.io/is-simple-consumer",
    ),
}
_RESOURCE: Keys = {
    "apiVersion": harmless("it says which of Jikkou's formats it is"),
    "kind": harmless("it says which table this is"),
    "metadata": declared(
        {**same(declared(), "name", "labels"), "annotations": declared(_ANNOTATIONS)}
    ),
    "template": lost("kgitops fills in no templates", "convert what jikkou prepare makes of it"),
    "status": harmless("Jikkou writes there what it found"),
}
_ACLS: Keys = {
    "resource": declared(same(declared(), "type", "pattern", "name", "patternType")),
    **same(declared(), "type", "operations", "host"),
}
_TOPIC = same(declared(), "partitions", "replicas", "replicationFactor", "configs", "configMapRefs")
_QUOTA: Keys = {
    **same(declared(), "type", "configs"),
    "entity": declared(same(declared(), "user", "clientId")),
}
_LOGIN: Keys = {
    **same(declared(), "type", "iterations", "password"),
    "salt": harmless("each password gets a salt when it is set"),
}
_OBJECTS: Mapping[str, Keys] = {
    "KafkaTopic": {"spec": declared(_TOPIC)},
    "KafkaPrincipalAuthorization": {
        "spec": declared({"acls": declared(_ACLS), "roles": declared()})
    },
    "KafkaClientQuota": {
        "metadata": declared(
            {
                "name": harmless("a quota is named by its entity"),
                "labels": declared(),
                "annotations": declared(_ANNOTATIONS),
            }
        ),
        "spec": declared(_QUOTA),
    },
    "KafkaUser": {"spec": declared({"authentications": declared(_LOGIN)})},
    "KafkaConsumerGroup": {"spec": declared(same(declared(), "configs"))},
    "ConfigMap": {"data": setting("the configs of the topics that refer to it")},
    "KafkaPrincipalRole": {
        "spec": declared({"acls": setting("the ACLs of the principals that have it", _ACLS)})
    },
}
_LIST: Keys = {
    **_RESOURCE,
    "metadata": declared(
        {
            "name": harmless("the items have their own names"),
            "labels": declared(),
            "annotations": declared(_ANNOTATIONS),
        }
    ),
    "items": declared(),
}
TABLES: Mapping[str, Keys] = {
    **{kind: {**_RESOURCE, **keys} for kind, keys in _OBJECTS.items()},
    **{f"{kind}List": _LIST for kind in _OBJECTS},
}


def count(folder: SourceFolder) -> int:
    """The number of Jikkou's documents."""
    return sum(map(_is_jikkou, documents_of(read_yaml_files(folder, Dialect.JACKSON))))


def convert(folder: SourceFolder) -> Conversion:
    """Read all of Jikkou's resources; documents of others are lost."""
    files = read_yaml_files(folder, Dialect.JACKSON)
    shared = _shared(documents_of(files))
    return Conversion(
        tool="jikkou",
        files=tuple(converted_file(file, _objects(file, shared)) for file in files),
    )


class _Shared(Struct, frozen=True):
    """The documents that others refer to, by name."""

    config_maps: dict[str, Value] = field(default_factory=dict)
    roles: dict[str, Value] = field(default_factory=dict)


def _is_jikkou(document: Value) -> bool:
    return "jikkou.io/" in header(document)[0]


def _shared(documents: Iterable[Value]) -> _Shared:
    shared = _Shared()
    for document in documents:
        _, kind = header(document)
        text = document.text_at("metadata", "name")
        if text and kind == "ConfigMap":
            shared.config_maps[text] = document
        elif text and kind == "KafkaPrincipalRole":
            shared.roles[text] = document
    return shared


def _objects(file: YamlFile, shared: _Shared) -> Iterable[SourceObject]:
    for document in file.documents:
        api, kind = header(document)
        if not _is_jikkou(document):
            problem = f"{f'apiVersion {api}' if api else 'a document without apiVersion'}"
            yield lost_document(document, f"{problem} is none of Jikkou's", "convert it by hand")
        elif kind.endswith("List") and kind.removesuffix("List") in _KINDS:
            yield from _list(document, kind.removesuffix("List"), shared)
        else:
            yield _object(document, kind, shared)


def _list(document: Value, kind: str, shared: _Shared) -> Iterable[SourceObject]:
    """The items of a list, which have its labels and annotations; what else of it is lost."""
    builder = ObjectBuilder(f"{kind}List", "", document)
    fields = builder.read(TABLES[f"{kind}List"])
    metadata = fields.fields("metadata")
    labels, refused = metadata.texts("labels"), _refused(metadata)
    for item in fields.items("items"):
        yield _object(item, kind, shared, labels, refused)
    builder.reading.lose_rest()
    if builder.losses:
        yield builder.build([])


def _object(
    value: Value,
    kind: str,
    shared: _Shared,
    labels: Mapping[str, str] = MappingProxyType({}),
    refused: str | None = None,
) -> SourceObject:
    builder = ObjectBuilder(kind, value.text_at("metadata", "name") or "", value)
    convert_one = _KINDS.get(kind)
    if kind == "KafkaShareGroup":
        return builder.refuse("kgitops declares no share groups", "keep it in Jikkou")
    if convert_one is None:
        return builder.refuse("kgitops has no such kind", "keep it in Jikkou, or write it by hand")
    if value.at("apiVersion") is not None and not is_known_version(header(value)[0]):
        return builder.refuse(f"kgitops does not know {header(value)[0]}", "convert it by hand")
    fields = builder.read(TABLES[kind])
    metadata = fields.fields("metadata")
    if kind != "KafkaClientQuota":
        metadata.take("name")
    builder.label({**labels, **metadata.texts("labels")})
    annotation = _refused(metadata) or refused
    if annotation is not None:
        return builder.refuse(*_REFUSED[annotation])
    convert_one(builder, fields, shared)
    return builder.build()


def _refused(metadata: KeyedFields) -> str | None:
    """The annotation by which Jikkou does not make what is declared; None if there is none."""
    annotations = metadata.fields("annotations")
    for name in _REFUSED:
        value = annotations.take(name)
        if value is not None and (value.text() or "").lower() != "false":
            return name
    return None


def _topic(builder: ObjectBuilder, fields: KeyedFields, shared: _Shared) -> None:
    spec = fields.fields("spec")
    configs: dict[str, Value] = {}
    for reference in spec.items("configMapRefs"):
        config_map = shared.config_maps.get(reference.text() or "")
        if config_map is None:
            builder.lose(
                reference,
                f"{builder} refers to the ConfigMap {reference.shown}, which is not here",
                "convert it together with them",
            )
        elif (data := config_map.at("data")) is not None:
            configs |= dict(data.entries())
    # A topic's own configs win over those of its config maps.
    configs |= dict(spec.entries("configs"))
    declare_topic(
        builder,
        builder.name,
        TopicSource(
            partitions=spec.integer("partitions"),
            replication_factor=spec.integer("replicas", "replicationFactor"),
            configs=configs,
        ),
    )


def _authorization(builder: ObjectBuilder, fields: KeyedFields, shared: _Shared) -> None:
    spec = fields.fields("spec")
    entries = spec.mappings("acls", "an ACL")
    for role in spec.items("roles"):
        document = shared.roles.get(role.text() or "")
        if document is None:
            builder.lose(
                role,
                f"{builder} has the role {role.shown}, which is not among the files",
                "convert it together with them",
            )
        elif (acls := document.at("spec", "acls")) is not None:
            of = f"an ACL of the role {role.text()}"
            entries += [builder.read(_ACLS, item, of) for item in acls.items()]
    declare_acls(builder, [_acl(builder, entry) for entry in entries])
    builder.lose_if_empty(entries, "grants nothing")


def _acl(builder: ObjectBuilder, fields: KeyedFields) -> AclSource | None:
    resource = fields.fields("resource", "a resource")
    name = resource.text("pattern", "name")
    pattern = resource.take("patternType")
    at = fields.value or builder.value
    acl = AclFields(
        at=at,
        type=resource.take("type"),
        name=name,
        pattern=pattern,
        permission=fields.take("type"),
        operations=fields.items("operations"),
        host=fields.text_or("host", "*"),
    )
    if pattern is not None and (pattern.text() or "").upper() == "MATCH":
        builder.lose(
            at,
            f"{builder}: the regular expression {name!r} stands for the topics that Jikkou finds",
            "write their names, or a prefix",
        )
        return None
    return read_acl(builder, builder.name, acl)


def _quota(builder: ObjectBuilder, fields: KeyedFields, _shared: _Shared) -> None:
    spec = fields.fields("spec")
    kind = spec.text("type") or ""
    names = spec.fields("entity", "the entity")
    entity = {
        key: name for key in ("user", "clientId") if (name := names.text(key)) is not None
    } | dict(_ENTITIES.get(kind, {}))
    quotas = {CAMEL_CASE.get(key, key): value for key, value in spec.entries("configs")}
    if kind not in _ENTITIES or not entity:
        problem = f"{builder}: {kind or 'no type'} is none of Jikkou's types of quotas with a name"
        builder.lose(builder.value, problem, "correct it there")
        return
    declare_quota(
        builder, {key: entity[key] for key in ("user", "clientId") if key in entity}, quotas
    )


def _user(builder: ObjectBuilder, fields: KeyedFields, _shared: _Shared) -> None:
    credentials = []
    for login in fields.fields("spec").mappings("authentications", "a login"):
        iterations = login.integer("iterations")
        credentials.append(
            CredentialSource(
                login.text("type") or "",
                _ITERATIONS if iterations is None else iterations,
                login.take("password"),
                generated=True,
            )
        )
    declare_user(builder, builder.name, credentials)
    builder.lose_if_empty(credentials, "has no way to log in")


def _group(builder: ObjectBuilder, fields: KeyedFields, _shared: _Shared) -> None:
    declare_group(builder, builder.name, dict(fields.fields("spec").entries("configs")))


def _config_map(builder: ObjectBuilder, fields: KeyedFields, _shared: _Shared) -> None:
    fields.entries("data")
    builder.becomes_settings("the configs of the topics that refer to it")


def _role(builder: ObjectBuilder, fields: KeyedFields, _shared: _Shared) -> None:
    fields.fields("spec").items("acls")
    builder.becomes_settings("the ACLs of the principals that have it")


_KINDS = {
    "KafkaTopic": _topic,
    "KafkaPrincipalAuthorization": _authorization,
    "KafkaClientQuota": _quota,
    "KafkaUser": _user,
    "KafkaConsumerGroup": _group,
    "ConfigMap": _config_map,
    "KafkaPrincipalRole": _role,
}
