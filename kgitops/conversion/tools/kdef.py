"""kdef's definitions: topics, ACLs and configs of brokers."""

from collections.abc import Iterator, Mapping

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
from kgitops.conversion.config_resources import declare_broker_config
from kgitops.conversion.objects import Conversion, SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    converted_file,
    documents_of,
    lost_document,
    read_yaml_files,
)
from kgitops.conversion.reading.keys import KeyedFields, Keys, declared, harmless, lost, same
from kgitops.conversion.reading.resources import header, metadata_name
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.conversion.topics import TopicSource, declare_topic, read_assignments
from kgitops.model.registry import Json
from kgitops.model.resources.config_resources import ALL_BROKERS

_PLACES = "they stay where they are; write assignments where the place matters"
_RESOURCE: Keys = {
    "apiVersion": harmless("kdef has one"),
    "kind": harmless("it says which table this is"),
    "state": harmless("kdef writes there what it found"),
}
_OF_BROKERS: Keys = {
    "configs": declared(),
    **same(
        lost(
            "kgitops removes no configs of brokers that no document declares",
            "kgitops drift lists them",
            unless=("false",),
        ),
        "deleteUndefinedConfigs",
        "deleteMissingConfigs",
    ),
}
_REASSIGNMENT: Keys = {"awaitTimeoutSec": harmless("how long kdef waits")}
TABLES: Mapping[str, Keys] = {
    "topic": {
        **_RESOURCE,
        "metadata": declared(same(declared(), "name", "labels")),
        "spec": declared(
            {
                **same(
                    declared(),
                    "configs",
                    "deleteUndefinedConfigs",
                    "deleteMissingConfigs",
                    "partitions",
                    "replicationFactor",
                    "assignments",
                ),
                "managedAssignments": lost("kgitops does not place replicas by rules", _PLACES),
                "rackAssignments": lost("kgitops does not place replicas by racks", _PLACES),
                "maintainLeaders": lost(
                    "kgitops elects no leaders", "use kafka-leader-election", unless=("false",)
                ),
                "reassignment": declared(_REASSIGNMENT),
            }
        ),
    },
    "acl": {
        **_RESOURCE,
        "metadata": declared(same(declared(), "name", "labels", "type", "resourcePatternType")),
        "spec": declared(
            {
                "acls": declared(
                    same(declared(), "principals", "hosts", "operations", "permissionType")
                ),
                **same(
                    lost(
                        "kgitops removes no ACLs that no document declares",
                        "kgitops drift lists them",
                        unless=("false",),
                    ),
                    "deleteUndefinedAcls",
                    "deleteMissingAcls",
                ),
            }
        ),
    },
    "broker": {
        **_RESOURCE,
        "metadata": declared(same(declared(), "name", "labels")),
        "spec": declared(_OF_BROKERS),
    },
    "brokers": {
        **_RESOURCE,
        "metadata": declared(
            {"name": harmless("kdef has one for all brokers"), "labels": declared()}
        ),
        "spec": declared(_OF_BROKERS),
    },
}


def count(folder: SourceFolder) -> int:
    """The number of kdef's definitions."""
    return sum(
        _kind(item) is not None for item in documents_of(read_yaml_files(folder, Dialect.GO))
    )


def convert(folder: SourceFolder) -> Conversion:
    """Read all of kdef's definitions; other documents are lost."""
    return Conversion(
        tool="kdef",
        files=tuple(
            converted_file(file, _objects(file)) for file in read_yaml_files(folder, Dialect.GO)
        ),
    )


def _kind(document: Value) -> str | None:
    """The kind of a definition; None if the document is none."""
    api, kind = header(document)
    return kind if api == "v1" and kind in _KINDS else None


def _objects(file: YamlFile) -> Iterator[SourceObject]:
    for document in file.documents:
        kind = _kind(document)
        if kind is None:
            kinds = "kind topic, acl, broker or brokers"
            problem = f"the document is no definition of kdef's (apiVersion v1, {kinds})"
            yield lost_document(document, problem, "convert it by hand")
        else:
            yield _object(document, kind)


def _object(value: Value, kind: str) -> SourceObject:
    builder = ObjectBuilder(kind, metadata_name(value), value)
    fields = builder.read(TABLES[kind])
    metadata = fields.fields("metadata")
    if kind != "brokers":
        metadata.take("name")
    builder.label(metadata.texts("labels"))
    _KINDS[kind](builder, metadata, fields.fields("spec"))
    return builder.build()


def _topic(builder: ObjectBuilder, _metadata: KeyedFields, spec: KeyedFields) -> None:
    spec.fields("reassignment")
    exact = spec.flag("deleteUndefinedConfigs", "deleteMissingConfigs")
    extra: dict[str, Json] = {"configsPolicy": "Exact"} if exact else {}
    declare_topic(
        builder,
        builder.name,
        TopicSource(
            partitions=spec.integer("partitions"),
            replication_factor=spec.integer("replicationFactor"),
            assignments=read_assignments(spec.items("assignments")),
            configs=dict(spec.entries("configs")),
        ),
        extra=extra,
    )


def _acl(builder: ObjectBuilder, metadata: KeyedFields, spec: KeyedFields) -> None:
    kind, pattern = metadata.take("type"), metadata.take("resourcePatternType")
    acls: list[AclSource | None] = []
    for fields in spec.mappings("acls", "an ACL"):
        operations, permission = fields.items("operations"), fields.take("permissionType")
        hosts = _texts(builder, fields, "hosts", "*")
        principals = _texts(builder, fields, "principals", "")
        builder.spend(len(principals) * len(hosts))
        acls += [
            read_acl(
                builder,
                principal,
                AclFields(
                    at=fields.value or builder.value,
                    type=kind,
                    name=builder.name,
                    pattern=pattern,
                    permission=permission,
                    operations=operations,
                    host=host,
                ),
            )
            for principal in principals
            for host in hosts
        ]
    declare_acls(builder, acls)
    builder.lose_if_empty(acls, "grants nothing")


def _texts(builder: ObjectBuilder, fields: KeyedFields, name: str, default: str) -> list[str]:
    """The texts of a list, the default if it is empty; anything else in it is a loss."""
    values = fields.items(name)
    texts = []
    for value in values:
        text = value.text()
        if text is None:
            builder.lose(
                value, f"{builder}: {value.shown} of {name} is no text", "correct it there"
            )
        else:
            texts.append(text)
    return texts if values else [default]


def _broker(builder: ObjectBuilder, _metadata: KeyedFields, spec: KeyedFields) -> None:
    name = ALL_BROKERS if builder.kind == "brokers" else builder.name
    declare_broker_config(builder, name, dict(spec.entries("configs")))


_KINDS = {"topic": _topic, "acl": _acl, "broker": _broker, "brokers": _broker}
