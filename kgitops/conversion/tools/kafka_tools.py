"""The output of Kafka's own tools: `kafka-topics --describe` and `kafka-acls --list`."""

import re
from collections.abc import Iterator, Mapping

from kgitops.conversion.acls import AclFields, AclSource, declare_acls, read_acl
from kgitops.conversion.objects import Conversion, ConvertedFile, SourceObject
from kgitops.conversion.reading.budget import Budget, TooMuchError
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.comments import Comments
from kgitops.conversion.reading.folder import (
    FoundFile,
    SourceFolder,
    beyond_budget,
    broken_document,
    read_source,
)
from kgitops.conversion.reading.keys import Keys
from kgitops.conversion.reading.values import SourceFile, Value, line_value, text_value
from kgitops.conversion.topics import TopicSource, declare_topic
from kgitops.model.resources.names import is_internal
from kgitops.model.source import Finding, Source

TABLES: Mapping[str, Keys] = {}
"""The output has lines, and no mappings."""
_SUFFIXES = (".txt", ".out", ".log", ".lst")
_TOPIC = re.compile(
    r"Topic:\s*(?P<name>\S+)\s+(?:TopicId:\s*\S*\s+)?PartitionCount:\s*(?P<partitions>\d+)\s+"
    r"ReplicationFactor:\s*(?P<replicas>\d+)(?:\s+Configs:[ \t]*(?P<configs>.*?))?"
    r"(?P<deleted>\s+MarkedForDeletion:\s*true)?\s*"
)
_PARTITION = re.compile(r"\s+Topic:\s*\S+\s+Partition:\s*\d+\s.*")
_CONFIG = re.compile(r",(?=[a-z][a-z0-9.]*=)")
"""A comma between two configs, not between the items of a list."""
_RESOURCE = re.compile(
    r"Current ACLs for resource [`'](?:ResourcePattern\(resourceType=(?P<type>\w+), "
    r"name=(?P<name>.*), patternType=(?P<pattern>\w+)\)|"
    r"(?P<old_type>\w+):(?P<old_pattern>LITERAL|PREFIXED):(?P<old_name>.*))[`']:\s*"
)
_BINDING = re.compile(
    r"\s+\(principal=(?P<principal>.*), host=(?P<host>\S*), operation=(?P<operation>\w+), "
    r"permissionType=(?P<permission>\w+)\)\s*"
)
_OLD_BINDING = re.compile(
    r"\s+(?P<principal>\S.*) has (?P<permission>\w+) permission for operations: "
    r"(?P<operation>\w+) from hosts: (?P<host>\S*)\s*"
)
_NOISE = re.compile(r"\s*|\[\d{4}-\d\d-\d\d.*|SLF4J.*|[$#>].*|(?:OpenJDK|Java HotSpot).*warning.*")
"""Empty lines, messages of the tool's log, and the command itself."""


def count(folder: SourceFolder) -> int:
    """The number of files with such output."""
    return len(offers(folder))


def offers(folder: SourceFolder) -> list[tuple[Source, str]]:
    """The files with such output, and the words for them."""
    return [(Source(file.name, 1, 1), "output of Kafka's tools") for file in _outputs(folder)]


def convert(folder: SourceFolder) -> Conversion:
    """Read each line of such files; what is no line of the two tools is lost."""
    files = _outputs(folder)
    return Conversion(tool="kafka-tools", files=tuple(map(_converted, files)))


def _outputs(folder: SourceFolder) -> list[FoundFile]:
    """The files with a line of one of the tools; a single file may have any name."""
    found = []
    for file in folder.files:
        if file.relative.endswith(_SUFFIXES) or file.path == folder.given:
            text = read_source(file)
            lines = () if isinstance(text, Finding) else text.text.splitlines()
            if any(_TOPIC.fullmatch(line) or _RESOURCE.fullmatch(line) for line in lines):
                found.append(file)
    return found


def _converted(found: FoundFile) -> ConvertedFile:
    text = read_source(found)
    if isinstance(text, Finding):
        return ConvertedFile(path=found.relative, objects=(broken_document(text, found.name),))
    file = SourceFile(text, found.relative, Comments(), budget=Budget(len(text.text)))
    objects: list[SourceObject] = []
    try:
        objects.extend(_objects(file))
    except TooMuchError as error:
        objects.append(beyond_budget(error))
    return ConvertedFile(path=found.relative, objects=tuple(objects))


def _objects(file: SourceFile) -> Iterator[SourceObject]:
    resource: re.Match[str] | None = None
    at: Value | None = None
    bindings: list[re.Match[str]] = []
    for value, line in _lines(file):
        binding = _BINDING.fullmatch(line) or _OLD_BINDING.fullmatch(line)
        if binding is not None and resource is not None:
            bindings.append(binding)
            continue
        if _NOISE.fullmatch(line) or _PARTITION.fullmatch(line):
            continue
        if resource is not None and at is not None:
            yield _acls(at, resource, bindings)
        resource, at, bindings = _RESOURCE.fullmatch(line), value, []
        topic = _TOPIC.fullmatch(line)
        if topic is not None:
            yield _topic(value, topic)
        elif resource is None:
            builder = ObjectBuilder("line", "", value)
            problem = "the line is none that kafka-topics --describe or kafka-acls --list writes"
            builder.lose(value, problem, "remove it")
            yield builder.build([])
    if resource is not None and at is not None:
        yield _acls(at, resource, bindings)


def _lines(file: SourceFile) -> Iterator[tuple[Value, str]]:
    start = 0
    for line in file.text.text.splitlines(keepends=True):
        yield line_value(file, line, start), line.rstrip("\r\n")
        start += len(line)


def _topic(at: Value, line: re.Match[str]) -> SourceObject:
    name = line["name"]
    builder = ObjectBuilder("topic", name, at)
    if is_internal(name):
        builder.becomes_settings("nothing: the brokers create it")
        return builder.build([])
    if line["deleted"]:
        return builder.refuse("it is being deleted", "remove the line")
    pairs = (pair.partition("=") for pair in _CONFIG.split(line["configs"] or "") if pair)
    declare_topic(
        builder,
        name,
        TopicSource(
            partitions=int(line["partitions"]),
            replication_factor=int(line["replicas"]),
            configs={key.strip(): text_value(at, text.strip()) for key, _, text in pairs},
        ),
    )
    return builder.build([])


def _acls(at: Value, resource: re.Match[str], bindings: list[re.Match[str]]) -> SourceObject:
    kind = resource["type"] or resource["old_type"]
    name = resource["name"] if resource["name"] is not None else resource["old_name"]
    pattern = resource["pattern"] or resource["old_pattern"]
    builder = ObjectBuilder("acls", f"of {kind.lower()} {name}", at)
    acls: list[AclSource | None] = [
        read_acl(
            builder,
            binding["principal"],
            AclFields(
                at=at,
                type=text_value(at, kind),
                name=name,
                pattern=text_value(at, pattern),
                permission=text_value(at, binding["permission"]),
                operations=[text_value(at, binding["operation"])],
                host=binding["host"],
            ),
        )
        for binding in bindings
    ]
    declare_acls(builder, acls)
    builder.lose_if_empty(acls, "grant nothing")
    return builder.build([])
