"""Julie's configuration file: what of it decides on a cluster, and how the cluster is reached."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from kgitops.conversion.objects import ConvertedCluster, Loss, SourceObject
from kgitops.conversion.reading.folder import SourceFolder
from kgitops.conversion.reading.keys import Fate, Keys, find_key, harmless, lost, same, setting
from kgitops.conversion.reading.values import TEMPLATE
from kgitops.model.errors import UsageError
from kgitops.model.source import Source
from kgitops.workflow.project.java_properties import read_properties

_NAME = "main"
_ALGORITHM = "ssl.endpoint.identification.algorithm"
_OWN = ("topology.", "julie.", "allow.delete.", "ccloud.", "platform.server")
_CLUSTER = setting("spec.clusters.main")
_NAMES = setting("names of topics and ACLs")
_STATE = harmless("Julie keeps its state so; kgitops's is on the cluster")
_MODE = harmless("how Julie works, warns or logs")
_CLIENT = harmless("how Julie's Kafka client waits and tries again")
_CAREFUL = harmless("kgitops deletes nothing that no project owns, and asks before it deletes")
_SECRET = setting("the environment")
_DEAD_LETTERS = harmless("it is about dead letter topics, which each topology reports")
_CLOUD = lost(
    "Confluent Cloud's API is not Kafka's", "write the cluster and its login in kgitops.yaml"
)
_ELSEWHERE = lost("it is about another server than Kafka's brokers", "keep it in Julie")
_PREFIXES = lost(
    "Julie manages only what begins so, and here all is declared",
    "remove what begins otherwise",
    unless=("", "[]"),
)
SETTINGS: Keys = {
    **same(
        _CLUSTER,
        "bootstrap.servers",
        "security.protocol",
        "sasl.mechanism",
        "ssl.truststore.location",
        "ssl.keystore.location",
        _ALGORITHM,
    ),
    **same(
        _SECRET,
        "sasl.jaas.config",
        "ssl.truststore.password",
        "ssl.keystore.password",
        "ssl.key.password",
    ),
    **same(
        _NAMES,
        "topology.topic.prefix.format",
        "topology.project.prefix.format",
        "topology.topic.prefix.separator",
        "topology.acls.optimized",
        "topology.connector.allow.topic.create",
        "topology.dlq.topics.generate",
        "confluent.monitoring.topic",
        "confluent.command.topic",
        "confluent.metrics.topic",
    ),
    **same(
        _DEAD_LETTERS,
        "topology.dlq.topics.allow.list*",
        "topology.dlq.topics.deny.list*",
        "topology.topic.dlq.*",
    ),
    "topology.builder.access.control.class": lost(
        "Julie makes role bindings or Confluent Cloud's ACLs with it, and here all are Kafka's",
        "look at the ACLs of the first plan",
        unless=("com.purbon.kafka.topology.roles.SimpleAclsProvider",),
    ),
    **same(
        _PREFIXES,
        "topology.topic.managed.prefixes*",
        "topology.group.managed.prefixes*",
        "topology.service.accounts.managed.prefixes*",
    ),
    **same(
        lost("Julie translates names of principals to Confluent Cloud's ids", "write the ids"),
        "topology.translation.principal.enabled",
        "julie.enable.principal.management",
    ),
    "topology.validations*": lost("it is a rule about topologies", "write a policy for it"),
    **same(
        _ELSEWHERE,
        "schema.registry.*",
        "topology.subject.managed.prefixes*",
        "topology.builder.mds.*",
        "platform.server*",
    ),
    "ccloud.*": _CLOUD,
    **same(_CAREFUL, "allow.delete.*", "kafka.internal.topic.prefixes*"),
    **same(
        harmless("kgitops removes no ACL that no project owns"),
        "julie.internal.principal",
        "topology.builder.internal.principal",
    ),
    "julie.roles": harmless("roles are found among the files"),
    **same(
        _STATE,
        "topology.builder.state.processor.class",
        "topology.builder.redis.*",
        "topology.state.*",
        "julie.s3.*",
        "julie.gcp.*",
        "julie.kafka.*",
        "julie.instance.id",
        "julie.verify.remote.state",
    ),
    **same(
        _MODE,
        "topology.file.type",
        "topology.features.experimental",
        "julie.multiple.context.per.dir.enabled",
        "julie.audit.*",
        "julie.debug.mode",
        "julie.http.*",
        "projects.warn-if.*",
        "streams.warn-if.*",
    ),
    **same(
        _CLIENT,
        "client.id",
        "request.timeout.ms",
        "default.api.timeout.ms",
        "retries",
        "retry.backoff.ms",
        "retry.backoff.max.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
    ),
}
"""The properties of Julie's configuration file."""
_LOGIN = {"sasl.username": "${env:KAFKA_USER}", "sasl.password": "${env:KAFKA_PASSWORD}"}
_FILES = {
    "ssl.truststore.location": ("ssl.ca.location", "${env:KAFKA_CA_FILE}"),
    "ssl.keystore.location": ("ssl.keystore.location", "${env:KAFKA_KEYSTORE_FILE}"),
}


class Settings(Struct, frozen=True):
    """Julie's configuration file, as far as it decides what is on a cluster; ``file``, its name.

    ``lines`` has the line of each property; ``others`` are further files, which are not read.
    """

    file: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    def text(self, name: str, default: str = "") -> str:
        """A property; ``default`` if it is not set."""
        return self.properties.get(name, default)

    def is_set(self, name: str, *, default: bool = False) -> bool:
        """A property that is true or false."""
        return self.text(name, str(default)).lower() == "true"


def read_settings(folder: SourceFolder) -> Settings:
    """The first file that has one of Julie's properties, else the first with an address."""
    found: list[tuple[bool, str, dict[str, str], dict[str, int]]] = []
    for file in folder.with_suffix(".properties"):
        try:
            properties = dict(read_properties(file.path))
            lines = file.path.read_text(encoding="utf-8").splitlines()
        except (UsageError, OSError):
            continue  # of another tool
        own = any(key.startswith(_OWN) for key in properties)
        if own or "bootstrap.servers" in properties:
            places = {
                re.split(r"[\s=:]", line.strip(), maxsplit=1)[0]: number
                for number, line in enumerate(lines, start=1)
            }
            found.append((not own, file.name, properties, places))
    if not found:
        return Settings()
    (_, name, properties, places), *others = sorted(found, key=lambda item: item[:2])
    return Settings(name, properties, places, tuple(name for _, name, _, _ in others))


def settings_object(settings: Settings) -> SourceObject:
    """The configuration file as an object; passwords in it are told of, and not copied."""
    losses = [
        loss
        for key, value in settings.properties.items()
        for loss in _losses(Source(settings.file, settings.lines.get(key, 1), 1), key, value)
    ]
    source = Source(settings.file, 1, 1)
    for other in settings.others:
        problem = f"{other} is not read, as {settings.file} is"
        losses.append(
            Loss(source=Source(other, 1, 1), problem=problem, advice="keep one of the two")
        )
    return SourceObject(
        kind="settings",
        name=source.file,
        source=source,
        settings=f"spec.clusters.{_NAME}, and names of topics and ACLs",
        losses=tuple(losses),
    )


def _losses(source: Source, name: str, value: str) -> Iterable[Loss]:
    key = find_key(SETTINGS, name)
    if ("password" in name or name == "sasl.jaas.config") and not TEMPLATE.search(value):
        yield Loss(
            source=source,
            problem=f"{name} has a secret, which is not copied",
            advice="put it in the environment as kgitops.yaml asks, and out of the file",
        )
    elif key is None:
        yield Loss(
            source=source,
            problem=f"{name} of the settings has no counterpart",
            advice="it is left out",
        )
    elif key.fate is Fate.LOST and value not in key.unless:
        yield Loss(source=source, problem=f"settings: {name}: {key.why}", advice=key.advice)
    elif key is _CLUSTER and name not in _FILES and TEMPLATE.search(value):
        yield Loss(
            source=source,
            problem=f"settings: {name} is a template, whose value is not known here",
            advice="write it in kgitops.yaml",
        )


def settings_cluster(settings: Settings) -> ConvertedCluster | None:
    """The cluster; None if its address is not written there."""
    servers = settings.text("bootstrap.servers")
    if not servers or TEMPLATE.search(servers):
        return None
    configs = {
        config: settings.text(key)
        for key, config in (
            ("security.protocol", "security.protocol"),
            ("sasl.mechanism", "sasl.mechanism"),
        )
        if settings.text(key) and not TEMPLATE.search(settings.text(key))
    }
    if configs.get("security.protocol", "").startswith("SASL"):
        configs |= _LOGIN
    algorithm = settings.properties.get(_ALGORITHM)
    if algorithm is not None and not TEMPLATE.search(algorithm):
        configs[_ALGORITHM] = algorithm.lower() or "none"
    configs |= {config: value for key, (config, value) in _FILES.items() if settings.text(key)}
    return ConvertedCluster(name=_NAME, bootstrap_servers=servers, configs=configs)
