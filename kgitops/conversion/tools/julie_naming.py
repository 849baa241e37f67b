"""Names of topics, settings, their cluster, plans and roles, which Julie's topologies share."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct, field

from kgitops.conversion.objects import ConvertedCluster, Loss, SourceObject
from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import SourceFolder
from kgitops.conversion.reading.values import TEMPLATE, Fields, Value
from kgitops.model.errors import UsageError
from kgitops.model.source import Source
from kgitops.workflow.project.java_properties import read_properties

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_NAME = "main"
_LOGIN = {"sasl.username": "${env:KAFKA_USER}", "sasl.password": "${env:KAFKA_PASSWORD}"}
_FILES = {
    "ssl.truststore.location": ("ssl.ca.location", "${env:KAFKA_CA_FILE}"),
    "ssl.keystore.location": ("ssl.keystore.location", "${env:KAFKA_KEYSTORE_FILE}"),
}


class Settings(Struct, frozen=True):
    """Julie's configuration file, as far as it decides what is on a cluster; ``file``, its name."""

    file: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """A property; ``default`` if it is not set."""
        return self.properties.get(name, default)

    def is_set(self, name: str, *, default: bool = False) -> bool:
        """A property that is true or false."""
        return self.text(name, str(default)).lower() == "true"


def read_settings(folder: SourceFolder) -> Settings:
    """The properties of the first file that has one of Julie's."""
    for file in folder.with_suffix(".properties"):
        try:
            properties = dict(read_properties(file.path))
        except UsageError:
            continue  # of another tool
        if any(key.startswith(("topology.", "julie.")) for key in properties):
            return Settings(file.name, properties)
    return Settings()


class Naming(Struct, frozen=True, kw_only=True):
    """The names of a topology's topics: ``context``, the file's other keys, project, topic."""

    parts: Mapping[str, str]
    settings: Settings

    @property
    def unresolved(self) -> str | None:
        """The first text in the names that is a template; None if there is none."""
        return next((text for text in self.parts.values() if TEMPLATE.search(text)), None)

    def topic(self, project: str, name: str, data_type: str | None) -> str:
        """A topic's name on the cluster, which keeps what a format leaves unknown as it is."""
        own = {"project": project, "topic": name}
        own |= {"dataType": data_type} if data_type else {}
        if pattern := self.settings.text("topology.topic.prefix.format"):
            return self._filled(pattern, own)
        return self._separator.join([*self.parts.values(), *own.values()])

    def prefix(self, project: str) -> str:
        """The beginning of the names of all of a project's topics."""
        if pattern := self.settings.text("topology.project.prefix.format"):
            return self._filled(pattern, {"project": project})
        return self._separator.join([*self.parts.values(), project, ""])

    @property
    def _separator(self) -> str:
        return self.settings.text("topology.topic.prefix.separator", ".")

    def _filled(self, pattern: str, own: Mapping[str, str]) -> str:
        return filled(pattern, {**self.parts, **own})


def filled(pattern: str, names: Mapping[str, str]) -> str:
    """The text with ``{{name}}`` replaced, where the name is known."""
    return _PLACEHOLDER.sub(lambda match: names.get(match[1], match[0]), pattern)


class Shared(Struct, frozen=True, kw_only=True):
    """Settings, plans by label and own roles by name, for all topologies of a folder."""

    settings: Settings
    plans: Mapping[str, Value] = MappingProxyType({})
    roles: Mapping[str, Value] = MappingProxyType({})


def read_shared(folder: SourceFolder, documents: Iterable[Value]) -> Shared:
    """Find the plans and roles among the documents."""
    plans: dict[str, Value] = {}
    roles: dict[str, Value] = {}
    for document in documents:
        if is_plans(document):
            for label, plan in Fields(document, []).fields("plans").entries():
                plans.setdefault(label, plan)
        elif is_roles(document):
            for role in role_entries(document):
                roles.setdefault(Fields(role, []).text("name") or "", role)
    return Shared(settings=read_settings(folder), plans=plans, roles=roles)


def is_plans(document: Value) -> bool:
    """Tell if the document is a file of plans."""
    entries = dict(document.entries())
    return set(entries) == {"plans"} and entries["plans"].is_mapping()


def is_roles(document: Value) -> bool:
    """Tell if the document is a file of roles."""
    return [key for key, _ in document.entries()] == ["roles"]


def role_entries(document: Value) -> list[Value]:
    """The roles of a file: a list, in older files below ``rules``."""
    roles = dict(document.entries())["roles"]
    if roles.is_mapping():
        return Fields(roles, []).items("rules")
    return roles.items()


def plan_name(label: str) -> str:
    """The name of the profile that a plan becomes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-") or "plan"


def topic_name_or_loss(builder: ObjectBuilder, naming: Naming, project: str) -> str | None:
    """The name of the topic that ``builder`` reads; a loss if its format is not understood."""
    fields = Fields(builder.value, [])
    name, data_type = fields.text("name"), fields.text("dataType")
    if not name:
        builder.lose(builder.value, f"{builder} has no name", "name it there")
        return None
    full = naming.topic(project, name, data_type)
    if TEMPLATE.search(full):
        builder.lose(
            builder.value,
            f"{builder}: its name, {full!r}, is a template that kgitops does not fill in",
            "write a Topic by hand",
        )
        return None
    return full


def settings_object(settings: Settings) -> SourceObject:
    """The configuration file as an object; passwords in it are told of, and not copied."""
    source = Source(settings.file, 1, 1)
    losses = tuple(
        Loss(
            source=source,
            problem=f"{key} has a secret, which is not copied",
            advice="put it in the environment as kgitops.yaml asks, and out of the file",
        )
        for key, value in settings.properties.items()
        if ("password" in key or key == "sasl.jaas.config") and not TEMPLATE.search(value)
    )
    return SourceObject(
        kind="settings",
        name=source.file,
        source=source,
        settings=f"spec.clusters.{_NAME}, and names of topics and ACLs",
        losses=losses,
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
    configs |= {config: value for key, (config, value) in _FILES.items() if settings.text(key)}
    return ConvertedCluster(name=_NAME, bootstrap_servers=servers, configs=configs)
