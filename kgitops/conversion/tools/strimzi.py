"""Strimzi's KafkaTopic and KafkaUser, also inside a Kubernetes List or an OpenShift Template."""

from collections.abc import Iterable, Iterator, Mapping

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
from kgitops.conversion.objects import Conversion, ConvertedCluster, ConvertedFile, SourceObject
from kgitops.conversion.quotas import declare_quota
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import SourceFolder, YamlFile, read_yaml_files
from kgitops.conversion.reading.values import TEMPLATE, Fields, Value
from kgitops.conversion.reading.versions import is_known_version
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user

_GROUPS = ("kafka.strimzi.io/", "core.strimzi.io/", "eventstreams.ibm.com/")
_CLUSTER = ("strimzi.io/cluster", "eventstreams.ibm.com/cluster")
_QUOTAS = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
}
_ITERATIONS = 4096
"""The number that Strimzi's operator hashes every password with."""
_NOT_CERTIFICATES = ("scram-sha-512", None)


def count(folder: SourceFolder) -> int:
    """The number of Strimzi's resources."""
    files = read_yaml_files(folder)
    return sum(_is_strimzi(item) for file in files for item in _resources(file.documents))


def convert(folder: SourceFolder) -> Conversion:
    """Read all of Strimzi's resources; those of others in Kubernetes are ignored."""
    files = read_yaml_files(folder)
    resources = [item for file in files for item in _resources(file.documents)]
    clusters = _clusters(resources)
    several = len(clusters) > 1
    ignored = tuple(
        f"{item.source.file}:{item.source.line} {_header(item)[1] or 'document'}"
        for item in resources
        if not _is_strimzi(item)
    )
    return Conversion(
        tool="strimzi",
        files=tuple(
            ConvertedFile(
                path=file.file.path,
                objects=tuple(_objects(file, several=several)),
                comments=file.file.comments.rest(),
            )
            for file in files
        ),
        clusters=clusters,
        ignored=ignored,
    )


def _resources(documents: Iterable[Value]) -> Iterator[Value]:
    """The documents, with those that a List or a Template holds in its place."""
    for document in documents:
        fields = dict(document.entries())
        inside = {"List": "items", "Template": "objects"}.get(_header(document)[1])
        if inside is not None and inside in fields:
            yield from fields[inside].items()
        else:
            yield document


def _header(document: Value) -> tuple[str, str]:
    """``apiVersion`` and ``kind``."""
    entries = dict(document.entries())
    api, kind = entries.get("apiVersion"), entries.get("kind")
    return (api and api.text()) or "", (kind and kind.text()) or ""


def _is_strimzi(document: Value) -> bool:
    return _header(document)[0].startswith(_GROUPS)


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


def _objects(file: YamlFile, *, several: bool) -> list[SourceObject]:
    found = list(file.broken)
    found += [
        _object(resource, several=several)
        for resource in _resources(file.documents)
        if _is_strimzi(resource)
    ]
    return sorted(found, key=lambda item: item.source)


def _object(value: Value, *, several: bool) -> SourceObject:
    kind = _header(value)[1]
    name = Fields(value, []).fields("metadata").text("name") or ""
    builder = ObjectBuilder(kind, name, value)
    fields = builder.fields()
    fields.skip("apiVersion", "kind", "status")
    api = _header(value)[0]
    if not is_known_version(api):
        return builder.refuse(f"kgitops does not know {api}", "convert it by hand")
    convert_one = _KINDS.get(kind)
    if convert_one is None:
        return builder.refuse("kgitops has no such kind", "keep it with Strimzi's operator")
    metadata = fields.fields("metadata")
    labels = {key: item.text() or "" for key, item in metadata.fields("labels").entries()}
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
    declare_topic(
        builder,
        name,
        TopicSource(
            partitions=spec.integer("partitions"),
            replication_factor=spec.integer("replicas"),
            configs=dict(spec.fields("config").entries()),
        ),
        labels=labels,
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
    quotas = {_QUOTAS.get(key, key): value for key, value in spec.fields("quotas").entries()}
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
    return [acl for acl in acls if acl is not None]


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
