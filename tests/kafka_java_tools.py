"""What Apache Kafka's own command line tools say of a cluster, as values.

They are the witnesses: they share no code with kgitops, and are what administrators believe.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from kgitops.sandbox.sandbox import Sandbox

TOPICS = "org.apache.kafka.tools.TopicCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
CONFIGS = "kafka.admin.ConfigCommand"

Entity = tuple[tuple[str, str | None], ...]

_TOPIC = re.compile(
    r"Topic: (\S+)\tTopicId: (\S+)\tPartitionCount: (\d+)\tReplicationFactor: (\d+)"
)
_PARTITION = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: \S+\tReplicas: ([\d,]+)")
_OF_TOPIC = re.compile(r"Dynamic configs for topic (\S+) are:")
_CONFIG = re.compile(r"  (\S+?)=(.*) sensitive=(?:true|false) synonyms=\{(.*)\}")
_RESOURCE = re.compile(
    r"Current ACLs for resource `ResourcePattern"
    r"\(resourceType=(\w+), name=(.*), patternType=(\w+)\)`:\s*"
)
_ACL = re.compile(r"\t\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)")
_QUOTA = re.compile(r"Quota configs for (.*) are (.*)")
_NAMED = re.compile(r"(user-principal|client-id|ip) '(.*)'")
_KINDS = {"user-principal": "user", "client-id": "client-id", "ip": "ip"}


class Topic(Struct, frozen=True):
    """A topic: its id, replica lists in order, and the configs that it sets itself."""

    topic_id: str
    replicas: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str]


class Acl(Struct, frozen=True, order=True):
    """A binding in the tools' words: ``TOPIC``, ``PREFIXED``, ``DESCRIBE_CONFIGS``, ``ALLOW``."""

    resource: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


def topics(kafka: Sandbox) -> dict[str, Topic]:
    """All topics but those of Kafka and kgitops, by name."""
    configs = _topic_configs(kafka.tool(CONFIGS, "--describe", "--entity-type", "topics"))
    described = kafka.tool(TOPICS, "--describe")
    heads = {found[1]: found for found in _TOPIC.finditer(described)}
    rows: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in heads}
    for found in _PARTITION.finditer(described):
        rows[found[1]][int(found[2])] = tuple(map(int, found[3].split(",")))
    for name, found in heads.items():
        replicas = rows[name]
        assert (len(replicas), len(replicas[0])) == (int(found[3]), int(found[4]))
    return {
        name: Topic(
            topic_id=found[2],
            replicas=tuple(rows[name][partition] for partition in range(len(rows[name]))),
            configs=configs[name],
        )
        for name, found in heads.items()
        if not name.startswith("__")
    }


def _topic_configs(text: str) -> dict[str, dict[str, str]]:
    configs: dict[str, dict[str, str]] = {}
    of: dict[str, str] = {}
    for line in text.splitlines():
        if found := _OF_TOPIC.fullmatch(line):
            of = configs.setdefault(found[1], {})
        elif found := _CONFIG.fullmatch(line):
            assert found[3].startswith(f"DYNAMIC_TOPIC_CONFIG:{found[1]}={found[2]}"), line
            of[found[1]] = found[2]
        else:
            assert not line.strip(), line
    return configs


def acls(kafka: Sandbox) -> set[Acl]:
    """All bindings."""
    found: set[Acl] = set()
    resource: tuple[str, str, str] = ("", "", "")
    for line in kafka.tool(ACLS, "--list").splitlines():
        if head := _RESOURCE.fullmatch(line):
            resource = (head[1], head[2], head[3])
        elif entry := _ACL.fullmatch(line.rstrip()):
            found.add(Acl(*resource, entry[1], entry[2], entry[3], entry[4]))
        else:
            assert not line.strip(), line
    return found


def quotas(kafka: Sandbox) -> dict[Entity, dict[str, float]]:
    """The quotas of every entity: users, clients, both together, ips; None is the default."""
    found: dict[Entity, dict[str, float]] = {}
    for kinds in (("users",), ("clients",), ("users", "clients"), ("ips",)):
        words = [word for kind in kinds for word in ("--entity-type", kind)]
        for line in kafka.tool(CONFIGS, "--describe", *words).splitlines():
            if line.startswith("SCRAM credential configs"):
                continue
            row = _QUOTA.fullmatch(line)
            assert row, line
            entity = tuple(_entity(row[1]))
            assert entity not in found, line
            values = (value.split("=") for value in row[2].split(", "))
            found[entity] = {key: float(value) for key, value in values}
    return found


def _entity(text: str) -> Iterator[tuple[str, str | None]]:
    for part in re.split(r", (?=(?:the default |user-principal '|client-id '|ip '))", text):
        named = _NAMED.fullmatch(part)
        kind = named[1] if named else part.removeprefix("the default ")
        yield _KINDS[kind], named[2] if named else None
