"""Jikkou's resources: topics, ACLs with their roles, quotas, users, config maps; v1beta2 and v1."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
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
from kgitops.conversion.reading.resources import header, is_known_version
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user
from kgitops.model.registry import Json

_DELETE = "jikkou.io/delete"
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


def count(folder: SourceFolder) -> int:
    """The number of Jikkou's documents."""
    return sum(map(_is_jikkou, documents_of(read_yaml_files(folder))))


def convert(folder: SourceFolder) -> Conversion:
    """Read all of Jikkou's resources; documents of others are lost."""
    files = read_yaml_files(folder)
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
        metadata = dict(document.entries()).get("metadata")
        name = dict(metadata.entries()).get("name") if metadata else None
        text = name.text() if name else None
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
            yield _object(document, kind, shared, {})


def _list(document: Value, kind: str, shared: _Shared) -> Iterable[SourceObject]:
    """The items of a list, which have its labels; the rest of the list, if any of it is lost."""
    builder = ObjectBuilder(f"{kind}List", "", document)
    fields = builder.fields()
    labels = fields.fields("metadata").texts("labels")
    for item in fields.items("items"):
        yield _object(item, kind, shared, labels)
    fields.skip("apiVersion", "kind")
    fields.lose_rest(f"a {kind}List")
    if builder.losses:
        yield builder.build()


def _object(value: Value, kind: str, shared: _Shared, labels: Mapping[str, str]) -> SourceObject:
    outer = Fields(value, [])
    metadata = outer.fields("metadata")
    name = metadata.text("name") or ""
    builder = ObjectBuilder(kind, name, value)
    fields = builder.fields()
    fields.skip("apiVersion", "kind")
    metadata = fields.fields("metadata")
    metadata.skip("name")
    all_labels = {**labels, **metadata.texts("labels")}
    annotations = metadata.fields("annotations")
    deleted = annotations.text(_DELETE) == "true"
    annotations.entries()  # Jikkou's own, or notes of other tools
    metadata.lose_rest(f"metadata of {builder}")
    convert_one = _KINDS.get(kind)
    if convert_one is None:
        return builder.refuse("kgitops has no such kind", "keep it in Jikkou, or write it by hand")
    if "apiVersion" in outer and not is_known_version(header(value)[0]):
        return builder.refuse(f"kgitops does not know {header(value)[0]}", "convert it by hand")
    if deleted:
        return builder.refuse(
            f"it is to be deleted ({_DELETE})",
            "let Jikkou delete it, or declare it, apply, and write a Tombstone",
        )
    convert_one(builder, fields, shared, all_labels)
    fields.lose_rest(str(builder))
    return builder.build()


def _topic(
    builder: ObjectBuilder, fields: Fields, shared: _Shared, labels: Mapping[str, str]
) -> None:
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
        else:
            configs |= dict(Fields(config_map, []).fields("data").entries())
    # A topic's own configs win over those of its config maps.
    configs |= dict(spec.fields("configs").entries())
    declare_topic(
        builder,
        builder.name,
        TopicSource(
            partitions=spec.integer("partitions"),
            replication_factor=spec.integer("replicas", "replicationFactor"),
            configs=configs,
        ),
        labels=labels,
    )
    spec.lose_rest(str(builder))


def _authorization(
    builder: ObjectBuilder, fields: Fields, shared: _Shared, _labels: Mapping[str, str]
) -> None:
    spec = fields.fields("spec")
    entries = spec.items("acls")
    for role in spec.items("roles"):
        document = shared.roles.get(role.text() or "")
        if document is None:
            builder.lose(
                role,
                f"{builder} has the role {role.shown}, which is not among the files",
                "convert it together with them",
            )
        else:
            entries += Fields(document, []).fields("spec").items("acls")
    declare_acls(builder, [_acl(builder, entry) for entry in entries])
    spec.lose_rest(str(builder))
    builder.lose_if_empty(entries, "grants nothing")


def _acl(builder: ObjectBuilder, entry: Value) -> AclSource | None:
    fields = builder.fields(entry)
    resource = fields.fields("resource")
    name = resource.text("pattern", "name")
    pattern = resource.take("patternType")
    if pattern is not None and (pattern.text() or "").upper() == "MATCH":
        builder.lose(
            entry,
            f"{builder}: the regular expression {name!r} stands for the topics that Jikkou finds",
            "write their names, or a prefix",
        )
        return None
    acl = read_acl(
        builder,
        builder.name,
        AclFields(
            at=entry,
            type=resource.take("type"),
            name=name,
            pattern=pattern,
            permission=fields.take("type"),
            operations=fields.items("operations"),
            host=fields.text("host"),
        ),
    )
    resource.lose_rest(f"a resource of {builder}")
    fields.lose_rest(f"an ACL of {builder}")
    return acl


def _quota(
    builder: ObjectBuilder, fields: Fields, _shared: _Shared, _labels: Mapping[str, str]
) -> None:
    spec = fields.fields("spec")
    kind = spec.text("type") or ""
    names = spec.fields("entity")
    entity = {
        key: name for key in ("user", "clientId") if (name := names.text(key)) is not None
    } | dict(_ENTITIES.get(kind, {}))
    names.lose_rest(f"the entity of {builder}")
    quotas = {CAMEL_CASE.get(key, key): value for key, value in spec.fields("configs").entries()}
    spec.lose_rest(str(builder))
    if kind not in _ENTITIES or not entity:
        problem = f"{builder}: {kind or 'no type'} is none of Jikkou's types of quotas with a name"
        builder.lose(builder.value, problem, "correct it there")
        return
    declare_quota(
        builder, {key: entity[key] for key in ("user", "clientId") if key in entity}, quotas
    )


def _user(
    builder: ObjectBuilder, fields: Fields, _shared: _Shared, _labels: Mapping[str, str]
) -> None:
    spec = fields.fields("spec")
    credentials = []
    for entry in spec.items("authentications"):
        login = builder.fields(entry)
        iterations = login.integer("iterations")
        credentials.append(
            CredentialSource(
                login.text("type") or "",
                _ITERATIONS if iterations is None else iterations,
                login.take("password"),
                generated=True,
            )
        )
        login.lose_rest(f"a login of {builder}")
    declare_user(builder, builder.name, credentials)
    spec.lose_rest(str(builder))
    builder.lose_if_empty(credentials, "has no way to log in")


def _config_map(
    builder: ObjectBuilder, fields: Fields, _shared: _Shared, _labels: Mapping[str, str]
) -> None:
    fields.take("data")
    builder.becomes_settings("the configs of the topics that refer to it")


def _role(
    builder: ObjectBuilder, fields: Fields, _shared: _Shared, _labels: Mapping[str, str]
) -> None:
    fields.take("spec")
    builder.becomes_settings("the ACLs of the principals that have it")


_KINDS = {
    "KafkaTopic": _topic,
    "KafkaPrincipalAuthorization": _authorization,
    "KafkaClientQuota": _quota,
    "KafkaUser": _user,
    "ConfigMap": _config_map,
    "KafkaPrincipalRole": _role,
}
