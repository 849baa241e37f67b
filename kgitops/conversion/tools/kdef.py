"""kdef's definitions: topics and ACLs; those of brokers are lost."""

from collections.abc import Iterator, Mapping

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
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
from kgitops.conversion.reading.resources import header, metadata_name
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Fields, Value
from kgitops.conversion.topics import TopicSource, declare_topic, read_assignments
from kgitops.model.registry import Json

_OTHERS = ("broker", "brokers")


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
    return kind if api == "v1" and kind in (*_KINDS, *_OTHERS) else None


def _objects(file: YamlFile) -> Iterator[SourceObject]:
    for document in file.documents:
        kind = _kind(document)
        if kind is None:
            problem = "the document is no definition of kdef's (apiVersion v1, kind topic or acl)"
            yield lost_document(document, problem, "convert it by hand")
        else:
            yield _object(document, kind)


def _object(value: Value, kind: str) -> SourceObject:
    builder = ObjectBuilder(kind, metadata_name(value), value)
    convert_one = _KINDS.get(kind)
    if convert_one is None:
        return builder.refuse("the configs of brokers can't be declared", "keep it in kdef")
    fields = builder.fields()
    fields.skip("apiVersion", "kind", "state")
    metadata = fields.fields("metadata")
    metadata.skip("name")
    labels = metadata.texts("labels")
    spec = fields.fields("spec")
    convert_one(builder, metadata, spec, labels)
    for rest, of in ((metadata, "metadata of "), (spec, ""), (fields, "")):
        rest.lose_rest(f"{of}{builder}")
    return builder.build()


def _topic(
    builder: ObjectBuilder, _metadata: Fields, spec: Fields, labels: Mapping[str, str]
) -> None:
    assignments = read_assignments(spec.items("assignments"))
    partitions = spec.integer("partitions")
    replication_factor = spec.integer("replicationFactor")
    managed = spec.take("managedAssignments")
    if managed is not None:
        builder.lose(
            managed,
            f"{builder}: kgitops does not place replicas by rules (managedAssignments)",
            "they stay where they are; write assignments where the place matters",
        )
    maintain = spec.take("maintainLeaders")
    if maintain is not None and maintain.text() == "true":
        builder.lose(
            maintain,
            f"{builder}: kgitops elects no leaders (maintainLeaders)",
            "use kafka-leader-election",
        )
    spec.skip("reassignment")  # how long kdef waits
    exact = spec.text("deleteUndefinedConfigs") == "true"
    extra: dict[str, Json] = {"configsPolicy": "Exact"} if exact else {}
    builder.label(labels)
    declare_topic(
        builder,
        builder.name,
        TopicSource(
            partitions=partitions,
            replication_factor=replication_factor,
            assignments=assignments,
            configs=dict(spec.fields("configs").entries()),
        ),
        extra=extra,
    )


def _acl(
    builder: ObjectBuilder, metadata: Fields, spec: Fields, _labels: Mapping[str, str]
) -> None:
    kind, pattern = metadata.take("type"), metadata.take("resourcePatternType")
    acls: list[AclSource | None] = []
    for entry in spec.items("acls"):
        fields = builder.fields(entry)
        operations, permission = fields.items("operations"), fields.take("permissionType")
        hosts = [item.text() or "*" for item in fields.items("hosts")] or ["*"]
        principals = [item.text() or "" for item in fields.items("principals")] or [""]
        acls += [
            read_acl(
                builder,
                principal,
                AclFields(
                    at=entry,
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
        fields.lose_rest(f"an ACL of {builder}")
    undefined = spec.take("deleteUndefinedAcls")
    if undefined is not None and undefined.text() == "true":
        builder.lose(
            undefined,
            f"{builder}: kgitops removes no ACLs that nobody declared (deleteUndefinedAcls)",
            "kgitops drift tells of them",
        )
    declare_acls(builder, acls)
    builder.lose_if_empty(acls, "grants nothing")


_KINDS = {"topic": _topic, "acl": _acl}
