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
from kgitops.conversion.reading.keys import KeyedFields, Keys, declared, harmless, lost, same
from kgitops.conversion.reading.resources import header, is_known_version, metadata_name
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import TEMPLATE, Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.conversion.users import CredentialSource, declare_user

_GROUPS = ("kafka.strimzi.io/", "core.strimzi.io/", "eventstreams.ibm.com/")
_CLUSTER = ("strimzi.io/cluster", "eventstreams.ibm.com/cluster")
_ITERATIONS = 4096
"""The number that Strimzi's operator hashes every password with."""
_NOT_CERTIFICATES = ("scram-sha-512", None)
_AUTHENTICATIONS = ("tls", "tls-external", "scram-sha-512")

_MANAGED = "strimzi.io/managed"
_BY_KUBERNETES = harmless("Kubernetes keeps it of its resource, and nothing of it is on brokers")
_DELIVERY = harmless("it says how a tool brings the resource into Kubernetes")
_METADATA: Keys = {
    **same(declared(), "name", "labels"),
    "annotations": declared(
        {
            _MANAGED: declared(),
            "strimzi.io/pause-reconciliation": lost(
                "Strimzi's operator does not look at it now, so the cluster may differ",
                "look at the first plan",
                unless=("false",),
            ),
            **same(
                _DELIVERY,
                "kubectl.kubernetes.io/*",
                "argocd.argoproj.io/*",
                "helm.sh/*",
                "meta.helm.sh/*",
                "kustomize.toolkit.fluxcd.io/*",
                "helm.toolkit.fluxcd.io/*",
                "reconcile.fluxcd.io/*",
                "fluxcd.io/*",
                "config.kubernetes.io/*",
                "internal.config.kubernetes.io/*",
            ),
        }
    ),
    "deletionTimestamp": lost("Kubernetes is deleting it", "do not declare it if it is to go"),
    **same(
        _BY_KUBERNETES,
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "selfLink",
    ),
    "generateName": lost("Kubernetes makes its name up", "write metadata.name"),
}
_HEADER: Keys = {
    "apiVersion": harmless("it says which of Strimzi's formats it is"),
    "kind": harmless("it says which table this is"),
}
_RESOURCE: Keys = {
    **_HEADER,
    "metadata": declared(_METADATA),
    "status": harmless("Strimzi's operator writes there what it found"),
}
_CERTIFICATES = harmless("certificates are in Kubernetes' secrets, and nothing of them on brokers")
_ACL: Keys = {
    "resource": declared(same(declared(), "type", "name", "patternType")),
    **same(declared(), "type", "operations", "operation", "host"),
}
_USER: Keys = {
    "authentication": declared(
        {
            **same(declared(), "type", "password"),
            **same(_CERTIFICATES, "validityDays", "renewalDays"),
        }
    ),
    "authorization": declared({"type": declared(), "acls": declared(_ACL)}),
    "quotas": declared(),
    "template": harmless("labels of the secret that Strimzi's operator makes in Kubernetes"),
}
# Around resources: Kubernetes' lists, and OpenShift's templates.
_INSIDE = {"List": "items", "Template": "objects"}
TABLES: Mapping[str, Keys] = {
    "KafkaTopic": {
        **_RESOURCE,
        "spec": declared(same(declared(), "topicName", "partitions", "replicas", "config")),
    },
    "KafkaUser": {**_RESOURCE, "spec": declared(_USER)},
    "List": {**_HEADER, "metadata": _BY_KUBERNETES, "items": declared()},
    "Template": {
        **_HEADER,
        "metadata": _BY_KUBERNETES,
        "objects": declared(),
        "message": harmless("OpenShift shows it"),
        "parameters": harmless("what has a parameter is a template, and is lost"),
        "labels": lost("OpenShift gives them to all objects", "write them into each"),
    },
}


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
        inside = document.at(_INSIDE.get(header(document)[1], ""))
        if inside is not None:
            yield from inside.items()
        else:
            yield document


def _is_strimzi(document: Value) -> bool:
    return header(document)[0].startswith(_GROUPS)


def _label(document: Value, names: Iterable[str]) -> str | None:
    labels = document.at("metadata", "labels")
    texts = (labels.text_at(name) for name in names) if labels is not None else ()
    return next(filter(None, texts), None)


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
    for document in file.documents:
        kind = header(document)[1]
        if document.at(_INSIDE.get(kind, "")) is not None:
            yield from _lost_around(document, kind)
    for resource in filter(_is_strimzi, _resources(file.documents)):
        yield _object(resource, several=several)


def _lost_around(document: Value, kind: str) -> Iterator[SourceObject]:
    """The list or template around Strimzi's resources, if anything of it is lost."""
    if any(map(_is_strimzi, _resources([document]))):
        builder = ObjectBuilder(kind, "", document)
        builder.read(TABLES[kind]).items(_INSIDE[kind])
        if builder.losses:
            yield builder.build([])


def _object(value: Value, *, several: bool) -> SourceObject:
    api, kind = header(value)
    builder = ObjectBuilder(kind, metadata_name(value), value)
    if not is_known_version(api):
        return builder.refuse(f"kgitops does not know {api}", "convert it by hand")
    convert_one = _KINDS.get(kind)
    if convert_one is None:
        return builder.refuse("kgitops has no such kind", "keep it with Strimzi's operator")
    fields = builder.read(TABLES[kind])
    metadata = fields.fields("metadata")
    metadata.take("name")
    labels = metadata.texts("labels")
    cluster = next((labels.pop(key) for key in _CLUSTER if key in labels), None)
    builder.label(labels)
    managed = metadata.fields("annotations").take(_MANAGED)
    if managed is not None and managed.flag() is not True:
        return builder.refuse(
            "Strimzi does not manage it (strimzi.io/managed)", "write a Topic to manage it here"
        )
    known = bool(cluster) and not TEMPLATE.search(cluster or "")
    if several and cluster and not known:
        problem = f"{builder}: its cluster {cluster!r} is a template"
        builder.lose(value, problem, "it is declared on every cluster; write clusters there")
    convert_one(builder, fields.fields("spec"), (cluster,) if several and cluster and known else ())
    # In the other parts are the namespace and the cluster, which are reached otherwise here.
    parts = (value.at("metadata", "name"), value.at("spec"))
    return builder.build([part for part in parts if part is not None])


def _topic(builder: ObjectBuilder, spec: KeyedFields, clusters: tuple[str, ...]) -> None:
    # What topicName names is the topic; the resource is named otherwise where Kubernetes has to.
    name = spec.text("topicName") or builder.name
    declare_topic(
        builder,
        name,
        TopicSource(
            partitions=spec.integer("partitions"),
            replication_factor=spec.integer("replicas"),
            configs=dict(spec.entries("config")),
        ),
        clusters=clusters,
    )


def _user(builder: ObjectBuilder, spec: KeyedFields, clusters: tuple[str, ...]) -> None:
    authentication = spec.fields("authentication")
    kind_value, password = authentication.take("type"), authentication.take("password")
    kind = kind_value.text() if kind_value is not None else None
    if kind == "scram-sha-512":
        credential = CredentialSource(kind, _ITERATIONS, password, generated=True)
        declare_user(builder, builder.name, [credential], clusters=clusters)
    elif password is not None:
        problem = f"{builder}: only scram-sha-512 uses a password"
        builder.lose(password, problem, "remove it there")
    if kind_value is not None and kind not in _AUTHENTICATIONS:
        problem = f"{builder}: the authentication {kind_value.shown} is none that Strimzi has"
        builder.lose(kind_value, problem, "its principal is taken for that of a certificate")
    name = builder.name if kind in _NOT_CERTIFICATES else f"CN={builder.name}"
    acls = _acls(builder, spec, f"User:{name}")
    declare_acls(builder, acls, clusters=clusters)
    quotas = {CAMEL_CASE.get(key, key): value for key, value in spec.entries("quotas")}
    if quotas:
        declare_quota(builder, {"user": name}, quotas, clusters=clusters)
    if not acls and not quotas and kind != "scram-sha-512" and not builder.losses:
        builder.lose(
            builder.value,
            f"{builder} has neither ACLs nor quotas, so there is nothing to declare",
            "leave it with Strimzi's operator",
        )


def _acls(builder: ObjectBuilder, spec: KeyedFields, principal: str) -> list[AclSource]:
    authorization = spec.fields("authorization")
    kind = authorization.take("type")
    if kind is not None and kind.text() != "simple":
        builder.lose(kind, f"{builder}: authorization by {kind.shown} is not Kafka's", "leave it")
    acls = [_acl(builder, fields, principal) for fields in authorization.mappings("acls", "an ACL")]
    return list(filter(None, acls))


def _acl(builder: ObjectBuilder, fields: KeyedFields, principal: str) -> AclSource | None:
    resource = fields.fields("resource", "a resource")
    return read_acl(
        builder,
        principal,
        AclFields(
            at=fields.value or builder.value,
            type=resource.take("type"),
            name=resource.text("name"),
            pattern=resource.take("patternType"),
            permission=fields.take("type"),
            operations=[*fields.items("operations"), *fields.items("operation")],
            host=fields.text_or("host", "*"),
        ),
    )


_KINDS = {"KafkaTopic": _topic, "KafkaUser": _user}
