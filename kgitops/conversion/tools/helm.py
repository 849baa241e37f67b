"""Topics in `provisioning.topics` of Helm values, which Bitnami's chart of Kafka creates."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kgitops.conversion.objects import Conversion, SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import (
    SourceFolder,
    YamlFile,
    converted_file,
    documents_of,
    read_yaml_files,
    with_text,
)
from kgitops.conversion.reading.keys import Keys, declared, harmless, lost, same, setting
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.model.source import Source

_SECTION = "provisioning"
_DEEPEST = 3
"""A chart that has Kafka's as a part writes its values under the part's name."""
_CHARTS_SIZE = 1
"""The number of partitions, and of replicas, where none is written."""
_JOB = harmless("it is about the job that creates the topics")
_COMMANDS = lost("convert runs no commands", "declare by hand what they create")
_TOPIC: Keys = same(declared(), "name", "partitions", "replicationFactor", "config")
_PROVISIONING: Keys = {
    "topics": declared(_TOPIC),
    **same(setting("its topics"), "numPartitions", "replicationFactor"),
    "enabled": declared(),
    **same(_COMMANDS, "extraProvisioningCommands", "preScript", "postScript"),
    **same(
        _JOB,
        "args",
        "auth",
        "automountServiceAccountToken",
        "command",
        "containerSecurityContext",
        "enableServiceLinks",
        "extraEnvVars",
        "extraEnvVarsCM",
        "extraEnvVarsSecret",
        "extraVolumeMounts",
        "extraVolumes",
        "initContainers",
        "nodeSelector",
        "parallel",
        "podAnnotations",
        "podLabels",
        "podSecurityContext",
        "resources",
        "resourcesPreset",
        "schedulerName",
        "serviceAccount",
        "sidecars",
        "tolerations",
        "useHelmHooks",
        "waitForKafka",
    ),
}
TABLES: Mapping[str, Keys] = {
    "values": {
        _SECTION: declared(_PROVISIONING),
        "*": harmless("it is about how Kafka runs"),
    }
}


class _Sizes(Struct, frozen=True):
    partitions: int | None
    replication_factor: int | None


def count(folder: SourceFolder) -> int:
    """The number of sections that provision topics."""
    return len(offers(folder))


def offers(folder: SourceFolder) -> list[tuple[Source, str]]:
    """The places of topics to convert, and the words for them."""
    documents = documents_of(read_yaml_files(with_text(folder, _SECTION), Dialect.GO))
    word = f"{_SECTION}.topics"
    return [(section.source, word) for item in documents for section in _sections(item)]


def convert(folder: SourceFolder) -> Conversion:
    """Read the topics; the other values are about how Kafka runs."""
    files = read_yaml_files(folder, Dialect.GO)
    return Conversion(
        tool="helm", files=tuple(converted_file(file, _objects(file)) for file in files)
    )


def _sections(document: Value, depth: int = 0) -> Iterator[Value]:
    for name, value in document.entries():
        topics = value.at("topics") if name == _SECTION else None
        if topics is not None and any(item.is_mapping() for item in topics.items()):
            yield value
        elif depth + 1 < _DEEPEST:
            yield from _sections(value, depth + 1)


def _objects(file: YamlFile) -> Iterator[SourceObject]:
    for document in file.documents:
        for section in _sections(document):
            yield from _section(section)


def _section(section: Value) -> Iterator[SourceObject]:
    builder = ObjectBuilder(_SECTION, "", section)
    fields = builder.read(_PROVISIONING)
    enabled = fields.take("enabled")
    if enabled is not None and enabled.flag() is not True:
        problem = "Helm creates its topics only where enabled is true"
        yield builder.refuse(problem, "set it, or remove the section")
        return
    sizes = _Sizes(
        *(
            fields.integer(name) if name in fields else _CHARTS_SIZE
            for name in ("numPartitions", "replicationFactor")
        )
    )
    for item in fields.items("topics"):
        yield _topic(item, sizes)
    builder.becomes_settings("what its topics have in common")
    yield builder.build([])


def _topic(value: Value, sizes: _Sizes) -> SourceObject:
    builder = ObjectBuilder("topic", value.text_at("name") or "", value)
    topic = builder.read(_TOPIC)
    topic.take("name")
    partitions, replicas = topic.integer("partitions"), topic.integer("replicationFactor")
    declare_topic(
        builder,
        builder.name,
        TopicSource(
            partitions=sizes.partitions if partitions is None else partitions,
            replication_factor=sizes.replication_factor if replicas is None else replicas,
            configs=dict(topic.entries("config")),
        ),
    )
    return builder.build()
