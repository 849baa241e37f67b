"""Strimzi's KafkaTopic and KafkaUser, also inside a Kubernetes List or an OpenShift Template."""

from collections.abc import Iterable, Iterator, Mapping

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
from kgitops.conversion.objects import Conversion, ConvertedCluster, SourceObject
from kgitops.conversion.quotas import CAMEL_CASE, declare_quota
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    converted_file,
    documents_of,
    read_yaml_files,
)
from kgitops.conversion.reading.resources import header, is_known_version, metadata_name
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import TEMPLATE, Fields, Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user

_GROUPS = ("kafka.strimzi.io/", "core.strimzi.io/", "eventstreams.ibm.com/")
_CLUSTER = ("strimzi.io/cluster", "eventstreams.ibm.com/cluster")
_ITERATIONS = 4096
"""The number that Strimzi's operator hashes every password with."""
_NOT_CERTIFICATES = ("scram-sha-512", None)


def count(folder: SourceFolder) -> int:
    """The number of Strimzi's resources."""
    files = read_yaml_files(folder, Dialect.GO)
    return sum(map(_is_strimzi, _resources(documents_of(files))))


def convert(folder: SourceFolder) -> Conversion:
    """Read all of Strimzi's resources; those of others in Kubernetes are ignored."""
    files = read_yaml_files(folder, Dialect.GO)
    resources = list(_resources(documents_of(files)))
    clusters = _clusters(resources)
    several = len(clusters) > 1
    ignored = tuple(
        f"{item.source.file}:{item.source.line} {header(item)[1] or 'document'}"
        for item in resources
        if not _is_strimzi(item)
    )
    return Conversion(
        tool="strimzi",
        files=tuple(converted_file(file, _objects(file, several=several)) for file in files),
        clusters=clusters,
        ignored=ignored,
    )


def _resources(documents: Iterable[Value]) -> Iterator[Value]:
    """The documents, with those that a List or a Template holds in its place."""
    for document in documents:
        fields = dict(document.entries())
        inside = {"List": "items", "Template": "objects"}.get(header(document)[1])
        if inside is not None and inside in fields:
            yield from fields[inside].items()
        else:
            yield document


def _is_strimzi(document: Value) -> bool:
    return header(document)[0].startswith(_GROUPS)


def _label(document: Value, names: Iterable[str]) -> str | None:
    metadata = Fields(document, []).fields("metadata")
    return metadata.fields("labels").text(*names)


def _clusters(resources: Iterable[Value]) -> tuple[ConvertedCluster, ...]:
    """The clusters that topics and users name, by the service that Strimzi makes for each."""
    names = {
        name
        for item in resources
        if _is_strimzi(item) and (name := _label(item, _CLUSTER)) and not TEMPLATE.search(name)
    }
    return tuple(
        ConvertedCluster(name=name, bootstrap_servers=f"{name}-kafka-bootstrap:9092")
        for name in sorted(names)
    )


def _objects(file: YamlFile, *, several: bool) -> Iterator[SourceObject]:
    for resource in filter(_is_strimzi, _resources(file.documents)):
        yield _object(resource, several=several)


def _object(value: Value, *, several: bool) -> SourceObject:
    api, kind = header(value)
    builder = ObjectBuilder(kind, metadata_name(value), value)
    fields = builder.fields()
    fields.skip("apiVersion", "kind", "status")
    if not is_known_version(api):
        return builder.refuse(f"kgitops does not know {api}", "convert it by hand")
    convert_one = _KINDS.get(kind)
    if convert_one is None:
        return builder.refuse("kgitops has no such kind", "keep it with Strimzi's operator")
    metadata = fields.fields("metadata")
    labels = metadata.texts("labels")
    cluster = next((labels.pop(key) for key in _CLUSTER if key in labels), None)
    annotations = {key: item.text() for key, item in metadata.fields("annotations").entries()}
    if annotations.get("strimzi.io/managed") == "false":
        return builder.refuse(
            "Strimzi does not manage it (strimzi.io/managed)", "write a Topic to manage it here"
        )
    clusters = (cluster,) if several and cluster and not TEMPLATE.search(cluster) else ()
    labels = {key: text for key, text in labels.items() if not TEMPLATE.search(text)}
    convert_one(builder, fields.fields("spec"), labels, clusters)
    fields.lose_rest(str(builder))
    # In the other parts stand the namespace and the cluster, which are reached otherwise here.
    entries = dict(value.entries())
    name_value = dict(entries["metadata"].entries()).get("name") if "metadata" in entries else None
    return builder.build([part for part in (name_value, entries.get("spec")) if part is not None])


def _topic(
    builder: ObjectBuilder, spec: Fields, labels: Mapping[str, str], clusters: tuple[str, ...]
) -> None:
    # What topicName names is the topic; the resource is named otherwise where Kubernetes has to.
    name = spec.text("topicName") or builder.name
    builder.label(labels)
    declare_topic(
        builder,
        name,
        TopicSource(
            partitions=spec.integer("partitions"),
            replication_factor=spec.integer("replicas"),
            configs=dict(spec.fields("config").entries()),
        ),
        clusters=clusters,
    )
    spec.lose_rest(str(builder))


def _user(
    builder: ObjectBuilder, spec: Fields, _labels: Mapping[str, str], clusters: tuple[str, ...]
) -> None:
    authentication = spec.fields("authentication")
    kind = authentication.text("type")
    if kind == "scram-sha-512":
        password = authentication.take("password")
        credential = CredentialSource(kind, _ITERATIONS, password, generated=True)
        declare_user(builder, builder.name, [credential], clusters=clusters)
    authentication.entries()
    name = builder.name if kind in _NOT_CERTIFICATES else f"CN={builder.name}"
    acls = _acls(builder, spec, f"User:{name}")
    declare_acls(builder, acls, clusters=clusters)
    quotas = {CAMEL_CASE.get(key, key): value for key, value in spec.fields("quotas").entries()}
    if quotas:
        declare_quota(builder, {"user": name}, quotas, clusters=clusters)
    spec.skip("template")  # the Kubernetes secret's labels
    spec.lose_rest(str(builder))
    if not acls and not quotas and kind != "scram-sha-512" and not builder.losses:
        builder.lose(
            builder.value,
            f"{builder} has neither ACLs nor quotas, so there is nothing to declare",
            "leave it with Strimzi's operator",
        )


def _acls(builder: ObjectBuilder, spec: Fields, principal: str) -> list[AclSource]:
    authorization = spec.fields("authorization")
    kind = authorization.take("type")
    if kind is not None and kind.text() != "simple":
        builder.lose(kind, f"{builder}: authorization by {kind.shown} is not Kafka's", "leave it")
    acls = [_acl(builder, item, principal) for item in authorization.items("acls")]
    authorization.lose_rest(f"authorization of {builder}")
    return list(filter(None, acls))


def _acl(builder: ObjectBuilder, value: Value, principal: str) -> AclSource | None:
    fields = builder.fields(value)
    resource = fields.fields("resource")
    acl = read_acl(
        builder,
        principal,
        AclFields(
            at=value,
            type=resource.take("type"),
            name=resource.text("name"),
            pattern=resource.take("patternType"),
            permission=fields.take("type"),
            operations=[*fields.items("operations"), *fields.items("operation")],
            host=fields.text("host"),
        ),
    )
    resource.lose_rest(f"a resource of {builder}")
    fields.lose_rest(f"an ACL of {builder}")
    return acl


_KINDS = {"KafkaTopic": _topic, "KafkaUser": _user}
