"""Topics in `KAFKA_CREATE_TOPICS` of a compose file, as images of Kafka create them."""

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
from kgitops.conversion.reading.keys import Keys
from kgitops.conversion.reading.scalars import Dialect
from kgitops.conversion.reading.values import Value, text_value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.model.source import Source

TABLES: Mapping[str, Keys] = {}
"""A compose file is no mapping of objects: one variable of a service has them."""
VARIABLE = "KAFKA_CREATE_TOPICS"
_SEPARATOR = "KAFKA_CREATE_TOPICS_SEPARATOR"
_FORM = "NAME:PARTITIONS:REPLICAS or NAME:PARTITIONS:REPLICAS:POLICY"


class _Topics(Struct, frozen=True):
    """The text of a service's variable, at its place."""

    at: Value
    text: str
    separator: str


def count(folder: SourceFolder) -> int:
    """The number of services that create topics."""
    return len(offers(folder))


def offers(folder: SourceFolder) -> list[tuple[Source, str]]:
    """The places of topics to convert, and the words for them."""
    documents = documents_of(read_yaml_files(with_text(folder, VARIABLE), Dialect.GO))
    return [(topics.at.source, VARIABLE) for item in documents for topics in _services(item)]


def convert(folder: SourceFolder) -> Conversion:
    """Read the topics; the rest of a compose file is not about objects of Kafka."""
    files = read_yaml_files(folder, Dialect.GO)
    return Conversion(
        tool="compose", files=tuple(converted_file(file, _objects(file)) for file in files)
    )


def _services(document: Value) -> Iterator[_Topics]:
    services = document.at("services")
    for _, service in services.entries() if services is not None else ():
        found = _environment(service.at("environment"))
        if VARIABLE in found and found[VARIABLE][1].strip():
            at, text = found[VARIABLE]
            separator = found[_SEPARATOR][1] if _SEPARATOR in found else ""
            yield _Topics(at, text, separator or ",")


def _environment(value: Value | None) -> dict[str, tuple[Value, str]]:
    """The variables of a service, from a mapping or a list of `NAME=TEXT`."""
    if value is None:
        return {}
    pairs = [(name, item, item.text() or "") for name, item in value.entries()]
    for item in value.items():
        name, _, text = (item.text() or "").partition("=")
        pairs.append((name, item, text))
    return {name: (item, text) for name, item, text in pairs}


def _objects(file: YamlFile) -> Iterator[SourceObject]:
    for document in file.documents:
        for topics in _services(document):
            for part in topics.text.split(topics.separator):
                if part.strip():
                    yield _topic(topics.at, part.strip())


def _topic(at: Value, part: str) -> SourceObject:
    name, *rest = (word.strip() for word in part.split(":"))
    builder = ObjectBuilder("topic", name, text_value(at, part))
    if len(rest) not in (2, 3) or not all(size.isdigit() for size in rest[:2]):
        if builder.value.template() is None:
            builder.lose(at, f"topic {part!r}: the form is {_FORM}", "correct it there")
        return builder.build()
    policy = rest[2] if len(rest) > 2 else ""
    declare_topic(
        builder,
        name,
        TopicSource(
            partitions=int(rest[0]),
            replication_factor=int(rest[1]),
            configs={"cleanup.policy": text_value(at, policy)} if policy else {},
        ),
    )
    return builder.build()
