"""topicctl's configs: topics with their placement, ACLs, and the clusters they are for."""

import re
from collections.abc import Iterator, Mapping

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
from kgitops.conversion.reading.keys import (
    KeyedFields,
    Keys,
    declared,
    harmless,
    lost,
    same,
    setting,
)
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import TEMPLATE, Value
from kgitops.conversion.topics import TopicSource, declare_topic, read_assignments
from kgitops.model.registry import Json

_MINUTE_MS = 60_000
_VARIABLE = re.compile(rf"{TEMPLATE.pattern}|\$\w")
"""Variables of the environment, which topicctl replaces also without braces: ``$NAME``."""
_PLACEMENT = "kgitops does not place replicas by strategies"
_STAY = "they stay where they are; write assignments where the place matters"
_CLUSTER = "spec.clusters"
_NO_ZOOKEEPER = harmless("Kafka 4 has no ZooKeeper, and kgitops's lock is on the cluster")
_META: Keys = {
    **same(declared(), "name", "description"),
    **same(
        harmless("it describes the cluster; topicctl compares its topics with it"),
        "environment",
        "region",
        "shard",
        "labels",
    ),
}
_OF_A_CLUSTER: Keys = {
    **same(declared(), "name", "cluster", "environment", "region", "description", "labels"),
    "consumers": harmless("it documents who reads the topic, and gives no right"),
}
_TLS: Keys = {
    **same(setting(_CLUSTER), "enabled", "caCertPath", "certPath", "keyPath", "skipVerify"),
    "serverName": lost(
        "librdkafka compares a certificate with the address's own name",
        "use an address that is in the certificate, or set "
        "ssl.endpoint.identification.algorithm: none",
    ),
}
_SASL: Keys = {
    **same(setting(_CLUSTER), "enabled", "mechanism", "username", "password"),
    "secretsManagerArn": lost(
        "kgitops reads no secret of AWS", "put user and password into the environment"
    ),
}
TABLES: Mapping[str, Keys] = {
    "cluster": {
        "meta": declared(_META),
        "spec": declared(
            {
                **same(setting(_CLUSTER), "bootstrapAddrs", "clusterID"),
                **same(_NO_ZOOKEEPER, "zkAddrs", "zkPrefix", "zkLockPath"),
                "defaultThrottleMB": lost(
                    "the replication throttle is the project's, not the cluster's",
                    "set spec.safety.replicationThrottle in bytes a second (default 52428800)",
                ),
                "defaultRetentionDropStepDuration": lost(
                    "kgitops lowers retention in one step",
                    "lower it by several plans where that matters",
                ),
                "tls": setting(_CLUSTER, _TLS),
                "sasl": setting(_CLUSTER, _SASL),
            }
        ),
    },
    "topic": {
        "meta": declared(_OF_A_CLUSTER),
        "spec": declared(
            {
                **same(
                    declared(), "partitions", "replicationFactor", "retentionMinutes", "settings"
                ),
                "placement": declared(
                    {
                        **same(declared(), "strategy", "staticAssignments"),
                        "picker": harmless("it chooses among places that a strategy allows"),
                        "staticRackAssignments": lost(_PLACEMENT, _STAY),
                    }
                ),
                "migration": harmless("how topicctl moves replicas, not where they are"),
            }
        ),
    },
    "acl": {
        "meta": declared(
            {**_OF_A_CLUSTER, "name": harmless("an Acl is named by the rights that it gives")}
        ),
        "spec": declared(
            {
                "acls": declared(
                    {
                        "resource": declared(
                            same(
                                declared(),
                                "type",
                                "name",
                                "patternType",
                                "principal",
                                "host",
                                "permission",
                            )
                        ),
                        "operations": declared(),
                    }
                )
            }
        ),
    },
}
_MECHANISMS = {
    "aws-msk-iam": "AWS_MSK_IAM",
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
    files = read_yaml_files(folder, Dialect.GO, _VARIABLE)
    several = len({name for item in documents_of(files) if (name := _cluster_of(item))}) > 1
    clusters: dict[str, ConvertedCluster] = {}
    converted = [converted_file(file, _objects(file, clusters, several=several)) for file in files]
    return Conversion(tool="topicctl", files=tuple(converted), clusters=tuple(clusters.values()))


def _kind(document: Value) -> str | None:
    """The kind of a document, by what its spec holds; None if it is none of topicctl's."""
    meta, spec = document.at("meta"), document.at("spec")
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
    return document.text_at("meta", "name" if _kind(document) == "cluster" else "cluster")


def _objects(
    file: YamlFile, clusters: dict[str, ConvertedCluster], *, several: bool
) -> Iterator[SourceObject]:
    for document in file.documents:
        kind = _kind(document)
        if kind is None:
            problem = "the document has no meta and spec of a topic, cluster or ACL"
            yield lost_document(document, problem, "convert it by hand")
        elif kind == "cluster":
            yield _cluster(document, clusters)
        else:
            yield _object(document, kind, several=several)


def _object(value: Value, kind: str, *, several: bool) -> SourceObject:
    builder = ObjectBuilder(kind, value.text_at("meta", "name") or "", value)
    fields = builder.read(TABLES[kind])
    meta, spec = fields.fields("meta"), fields.fields("spec")
    if kind == "topic":
        meta.take("name")
    cluster = meta.text("cluster")
    clusters = (cluster,) if several and cluster else ()
    builder.label(meta.texts("labels"))
    builder.label({key: text for key in ("environment", "region") if (text := meta.text(key))})
    if description := meta.text("description"):
        builder.note(description)
    if kind == "topic":
        _topic(builder, spec, clusters)
    else:
        _acls(builder, spec, clusters)
    return builder.build()


def _cluster(value: Value, clusters: dict[str, ConvertedCluster]) -> SourceObject:
    """A cluster, which is added to ``clusters`` if its address is known."""
    builder = ObjectBuilder("cluster", value.text_at("meta", "name") or "", value)
    fields = builder.read(TABLES["cluster"])
    meta, spec = fields.fields("meta"), fields.fields("spec")
    meta.take("name")
    if description := meta.text("description"):
        builder.note(description)
    addresses = [item.text() or "" for item in spec.items("bootstrapAddrs")]
    if not addresses:
        problem = "it is reached by ZooKeeper alone, which Kafka 4 does not have"
        return builder.refuse(problem, "write its bootstrapAddrs")
    if any(not text or _VARIABLE.search(text) for text in addresses):
        problem = "one of its bootstrapAddrs is not known here"
        return builder.refuse(problem, "write the cluster's address in kgitops.yaml")
    cluster_id = spec.text("clusterID")
    if cluster_id and _VARIABLE.search(cluster_id):
        problem = f"{builder}: its clusterID is not known here"
        builder.lose(value, problem, "write clusterId in kgitops.yaml")
        cluster_id = None
    cluster = ConvertedCluster(
        name=builder.name,
        cluster_id=cluster_id,
        bootstrap_servers=",".join(addresses),
        configs=_configs(builder, spec.fields("tls"), spec.fields("sasl")),
    )
    if not builder.name:
        return builder.refuse("it has no name", "name it there")
    if clusters.setdefault(builder.name, cluster) != cluster:
        problem = "another file says something else of the cluster"
        return builder.refuse(problem, "keep one of the two")
    builder.becomes_settings(f"spec.clusters.{builder.name}")
    return builder.build(())


def _configs(builder: ObjectBuilder, tls: KeyedFields, sasl: KeyedFields) -> dict[str, str]:
    """Librdkafka's configs for a cluster; its secrets come from the environment."""
    secure, logs_in = bool(tls.flag("enabled")), bool(sasl.flag("enabled"))
    word = re.sub(r"\W", "_", builder.name).upper()
    configs = {}
    if secure or logs_in:
        protocol = ("SASL_" if logs_in else "") + ("SSL" if secure else "PLAINTEXT")
        configs["security.protocol"] = protocol
    if tls.flag("skipVerify") and secure:
        configs["enable.ssl.certificate.verification"] = "false"
    files = (("caCertPath", "ssl.ca.location"), ("certPath", "ssl.certificate.location"),
             ("keyPath", "ssl.key.location"))  # fmt: skip
    for key, config in files:
        if (path := tls.text(key)) and secure:
            known = not _VARIABLE.search(path)
            configs[config] = path if known else f"${{env:{word}_{key.upper()}}}"
    mechanism = (sasl.text("mechanism") or "").lower()
    user, password = sasl.text("username") or "", sasl.take("password")
    if logs_in:
        configs["sasl.mechanism"] = _MECHANISMS.get(mechanism, mechanism)
    if logs_in and configs["sasl.mechanism"] != "AWS_MSK_IAM":
        known = bool(user) and not _VARIABLE.search(user)
        configs["sasl.username"] = user if known else f"${{env:{word}_USERNAME}}"
        configs["sasl.password"] = f"${{env:{word}_PASSWORD}}"
    if password is not None and not password.template():
        builder.lose(
            password,
            f"{builder}: sasl.password stands in the file, which is a secret and is not copied",
            "put it in the environment as the project asks, and out of the file",
        )
    return configs


def _topic(builder: ObjectBuilder, spec: KeyedFields, clusters: tuple[str, ...]) -> None:
    configs = dict(spec.entries("settings"))
    minutes = spec.integer("retentionMinutes")
    placement = spec.fields("placement")
    strategy, rows = placement.take("strategy"), placement.take("staticAssignments")
    name = "any" if strategy is None else strategy.text()
    if strategy is not None and name not in ("any", "static"):
        builder.lose(
            strategy,
            f"{builder}: kgitops does not place replicas by the strategy {strategy.shown}",
            _STAY,
        )
    if rows is not None and name != "static":
        problem = f"{builder}: only the strategy static uses staticAssignments"
        builder.lose(rows, problem, "remove them there")
    assignments = read_assignments(rows.items()) if rows is not None and name == "static" else None
    topic = TopicSource(
        partitions=spec.integer("partitions"),
        replication_factor=spec.integer("replicationFactor"),
        assignments=assignments,
        configs=configs,
    )
    retention: dict[str, Json] = {"retention.ms": minutes * _MINUTE_MS} if minutes else {}
    declare_topic(builder, builder.name, topic, clusters=clusters, configs=retention)


def _acls(builder: ObjectBuilder, spec: KeyedFields, clusters: tuple[str, ...]) -> None:
    acls: list[AclSource | None] = []
    for fields in spec.mappings("acls", "an ACL"):
        resource = fields.fields("resource", "a resource")
        acls.append(
            read_acl(
                builder,
                resource.text("principal") or "",
                AclFields(
                    at=fields.value or builder.value,
                    type=resource.take("type"),
                    name=resource.text("name"),
                    pattern=resource.take("patternType"),
                    permission=resource.take("permission"),
                    operations=fields.items("operations"),
                    host=resource.text_or("host", "*"),
                ),
            )
        )
    declare_acls(builder, acls, clusters=clusters)
    builder.lose_if_empty(acls, "grants nothing")
