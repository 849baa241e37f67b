"""topicctl's configs: topics with their placement, ACLs, and the clusters they are for."""

import re
from collections.abc import Iterable, Iterator

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
from kgitops.conversion.objects import Conversion, ConvertedCluster, SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    converted_file,
    documents_of,
    lost_document,
    read_yaml_files,
)
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import TEMPLATE, Fields, Value
from kgitops.conversion.topics import TopicSource, declare_topic, read_assignments
from kgitops.model.registry import Json

_MINUTE_MS = 60_000
# Passed over: how fast and by what way topicctl works, not what the cluster holds.
_WAYS = ("migration", "zkAddrs", "zkPrefix", "zkLockPath", "clusterID", "defaultThrottleMB")
_MECHANISMS = {
    "plain": "PLAIN",
    "scram-sha-256": "SCRAM-SHA-256",
    "scram-sha-512": "SCRAM-SHA-512",
}


def count(folder: SourceFolder) -> int:
    """The number of topicctl's documents."""
    return sum(
        _kind(item) is not None for item in documents_of(read_yaml_files(folder, Dialect.GO))
    )


def convert(folder: SourceFolder) -> Conversion:
    """Read all of topicctl's documents; others are lost."""
    files = read_yaml_files(folder, Dialect.GO)
    documents = list(documents_of(files))
    several = len({name for item in documents if (name := _cluster_of(item))}) > 1
    return Conversion(
        tool="topicctl",
        files=tuple(converted_file(file, _objects(file, several=several)) for file in files),
        clusters=_clusters(documents),
    )


def _kind(document: Value) -> str | None:
    """The kind of a document, by what its spec holds; None if it is none of topicctl's."""
    fields = Fields(document, [])
    meta, spec = fields.take("meta"), fields.take("spec")
    if meta is None or spec is None:
        return None
    keys = {key for key, _ in spec.entries()}
    for kind, words in _WORDS.items():
        if keys & words:
            return kind
    return None


_WORDS = {
    "cluster": {"bootstrapAddrs", "zkAddrs"},
    "acl": {"acls"},
    "topic": {"partitions", "placement", "replicationFactor", "settings"},
}


def _cluster_of(document: Value) -> str | None:
    """The cluster that a document is of: its own name if it is one."""
    meta = Fields(document, []).fields("meta")
    return meta.text("name" if _kind(document) == "cluster" else "cluster")


def _clusters(documents: Iterable[Value]) -> tuple[ConvertedCluster, ...]:
    clusters: list[ConvertedCluster] = []
    for document in documents:
        name = _cluster_of(document)
        if _kind(document) != "cluster" or not name or any(item.name == name for item in clusters):
            continue
        spec = Fields(document, []).fields("spec")
        addresses = [item.text() or "" for item in spec.items("bootstrapAddrs")]
        text = ",".join(addresses)
        if addresses and not TEMPLATE.search(text) and "$" not in text:
            clusters.append(
                ConvertedCluster(name=name, bootstrap_servers=text, configs=_configs(name, spec))
            )
    return tuple(clusters)


def _configs(name: str, spec: Fields) -> dict[str, str]:
    """Librdkafka's configs for a cluster; its secrets come from the environment."""
    tls, sasl = spec.fields("tls"), spec.fields("sasl")
    secure = tls.text("enabled") == "true"
    logs_in = sasl.text("enabled") == "true"
    word = re.sub(r"\W", "_", name).upper()
    configs = {}
    if secure or logs_in:
        protocol = ("SASL_" if logs_in else "") + ("SSL" if secure else "PLAINTEXT")
        configs["security.protocol"] = protocol
    files = (("caCertPath", "ssl.ca.location"), ("certPath", "ssl.certificate.location"),
             ("keyPath", "ssl.key.location"))  # fmt: skip
    for key, config in files:
        if path := tls.text(key):
            configs[config] = f"${{env:{word}_{key.upper()}}}" if TEMPLATE.search(path) else path
    if logs_in:
        mechanism = sasl.text("mechanism") or ""
        configs["sasl.mechanism"] = _MECHANISMS.get(mechanism.lower(), mechanism)
        user = sasl.text("username") or ""
        known = user and not TEMPLATE.search(user)
        configs["sasl.username"] = user if known else f"${{env:{word}_USERNAME}}"
        configs["sasl.password"] = f"${{env:{word}_PASSWORD}}"
    return configs


def _objects(file: YamlFile, *, several: bool) -> Iterator[SourceObject]:
    for document in file.documents:
        kind = _kind(document)
        if kind is None:
            problem = "the document has no meta and spec of a topic, cluster or ACL"
            yield lost_document(document, problem, "convert it by hand")
        else:
            yield _object(document, kind, several=several)


def _object(value: Value, kind: str, *, several: bool) -> SourceObject:
    name = Fields(value, []).fields("meta").text("name") or ""
    builder = ObjectBuilder(kind, name, value)
    fields = builder.fields()
    meta, spec = fields.fields("meta"), fields.fields("spec")
    spec.skip(*_WAYS)
    if kind == "cluster":
        _cluster(builder, spec)
        return builder.build(())
    cluster = meta.text("cluster")
    clusters = (cluster,) if several and cluster else ()
    labels = meta.texts("labels")
    labels |= {key: text for key in ("environment", "region") if (text := meta.text(key))}
    description = meta.text("description")
    meta.skip("name")
    meta.lose_rest(f"meta of {builder}")
    if kind == "topic":
        _topic(builder, spec, labels, clusters)
    else:
        _acls(builder, spec, clusters)
    spec.lose_rest(str(builder))
    fields.lose_rest(str(builder))
    if description:
        builder.note(description)
    return builder.build()


def _cluster(builder: ObjectBuilder, spec: Fields) -> None:
    if not spec.items("bootstrapAddrs"):
        builder.lose(
            builder.value,
            f"{builder} is reached by ZooKeeper alone, which Kafka 4 does not have",
            "write its bootstrapAddrs",
        )
        return
    password = spec.fields("sasl").take("password")
    if password is not None and password.template() is None:
        builder.lose(
            password,
            f"{builder}: sasl.password stands in the file, which is a secret and is not copied",
            "put it in the environment as the project asks, and out of the file",
        )
    spec.entries()  # how it is reached: ``_configs``
    builder.becomes_settings(f"spec.clusters.{builder.name}")


def _topic(
    builder: ObjectBuilder, spec: Fields, labels: dict[str, str], clusters: tuple[str, ...]
) -> None:
    configs = dict(spec.fields("settings").entries())
    minutes = spec.take("retentionMinutes")
    placement = spec.fields("placement")
    strategy = placement.take("strategy")
    assignments = read_assignments(placement.items("staticAssignments"))
    placement.skip("picker")
    if strategy is not None and strategy.text() not in ("any", "static"):
        builder.lose(
            strategy,
            f"{builder}: kgitops does not place replicas by the strategy {strategy.shown}",
            "they stay where they are; write assignments where the place matters",
        )
        placement.skip("staticRackAssignments")
    placement.lose_rest(f"placement of {builder}")
    topic = TopicSource(
        partitions=spec.integer("partitions"),
        replication_factor=spec.integer("replicationFactor"),
        assignments=assignments,
        configs=configs,
    )
    number = minutes.integer() if minutes is not None else None
    if minutes is not None and number is None:
        builder.lose(minutes, f"{builder}: retentionMinutes is {minutes.shown}", "correct it there")
    retention: dict[str, Json] = {"retention.ms": number * _MINUTE_MS} if number else {}
    builder.label(labels)
    declare_topic(
        builder,
        builder.name,
        topic,
        clusters=clusters,
        configs=retention,
    )


def _acls(builder: ObjectBuilder, spec: Fields, clusters: tuple[str, ...]) -> None:
    acls: list[AclSource | None] = []
    for entry in spec.items("acls"):
        fields = builder.fields(entry)
        resource = fields.fields("resource")
        acls.append(
            read_acl(
                builder,
                resource.text("principal") or "",
                AclFields(
                    at=entry,
                    type=resource.take("type"),
                    name=resource.text("name"),
                    pattern=resource.take("patternType"),
                    permission=resource.take("permission"),
                    operations=fields.items("operations"),
                    host=resource.text("host"),
                ),
            )
        )
        resource.lose_rest(f"a resource of {builder}")
        fields.lose_rest(f"an ACL of {builder}")
    declare_acls(builder, acls, clusters=clusters)
    builder.lose_if_empty(acls, "grants nothing")
