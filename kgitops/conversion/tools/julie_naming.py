"""Names of topics, plans and roles, which Julie's topologies share."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.folder import SourceFolder
from kgitops.conversion.reading.values import TEMPLATE, Value
from kgitops.conversion.tools.julie_settings import Settings, read_settings

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_DEFAULT = "default"


class Naming(Struct, frozen=True, kw_only=True):
    """The names of a topology's topics: ``context``, the file's other keys, project, topic."""

    parts: Mapping[str, str]
    settings: Settings

    @property
    def unresolved(self) -> str | None:
        """The first text in the names that is a template; None if there is none."""
        return next((text for text in self.parts.values() if TEMPLATE.search(text)), None)

    def topic(self, project: str, name: str, data_type: str | None) -> str:
        """A topic's name on the cluster, in which what a format leaves unknown stays a template."""
        own = {"project": project, "topic": name}
        own |= {"dataType": data_type} if data_type else {}
        pattern = self.settings.text("topology.topic.prefix.format", _DEFAULT)
        if pattern == "name":
            return name
        if pattern != _DEFAULT:
            return self._filled(pattern, own)
        return self._separator.join([*self.parts.values(), *own.values()])

    def prefix(self, project: str) -> str:
        """The beginning of the names of all of a project's topics, also with templates left."""
        pattern = self.settings.text("topology.project.prefix.format", _DEFAULT)
        if pattern != _DEFAULT:
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
            for label, plan in plan_entries(document):
                plans.setdefault(label, plan)
        elif is_roles(document):
            for role in role_entries(document):
                roles.setdefault(role.text_at("name") or "", role)
    return Shared(settings=read_settings(folder), plans=plans, roles=roles)


def is_plans(document: Value) -> bool:
    """Return whether the document is a file of plans."""
    entries = dict(document.entries())
    return set(entries) == {"plans"} and entries["plans"].is_mapping()


def is_roles(document: Value) -> bool:
    """Return whether the document is a file of roles."""
    return [key for key, _ in document.entries()] == ["roles"]


def role_entries(document: Value) -> list[Value]:
    """The roles of a file: a list, in older files below ``rules``."""
    roles = dict(document.entries())["roles"]
    if roles.is_mapping():
        rules = roles.at("rules")
        return rules.items() if rules is not None else []
    return roles.items()


def plan_entries(document: Value) -> list[tuple[str, Value]]:
    """The plans of a file by their labels."""
    plans = document.at("plans")
    return list(plans.entries()) if plans is not None else []


def plan_name(label: str) -> str:
    """The name of the profile that a plan becomes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-") or "plan"


def topic_name_or_loss(builder: ObjectBuilder, naming: Naming, project: str) -> str | None:
    """The name of the topic that ``builder`` reads; a loss if its format is not understood."""
    name, data_type = builder.value.text_at("name"), builder.value.text_at("dataType")
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
