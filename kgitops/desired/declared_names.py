"""The names in declarations: those that ACLs name literally, and those probably misspelt."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any

from msgspec import Struct

from kgitops.desired.state import DesiredState
from kgitops.manifests.kinds.fields import FreeText
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredTopic,
)
from kgitops.model.resources.acls import AclBinding, PatternType, ResourceType
from kgitops.model.resources.addresses import (
    group_address,
    local_topic_address,
    member_address,
    topic_address,
)
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.model.source import Finding, Severity, Source

_NEAR = 0.8
_LONG_WORD = 5
_SEPARATORS = re.compile(r"[._-]")


def near_spelling(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like ``name``; None if none is near."""
    near = get_close_matches(name, sorted(known), n=1, cutoff=_NEAR)
    return near[0] if near else None


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which ``name`` is a typing error, beyond reasonable doubt.

    In a word of some length one letter is wrong, missing or too many, or two are swapped; or only
    case and separators differ. Names that differ by a digit are those of different things, and so
    are those that differ in a short word: ``orders.uk``, ``orders.us``.
    """
    written = _folded(name)
    return next((one for one in sorted(known) if _is_one_slip(written, _folded(one))), None)


def _folded(name: str) -> str:
    return _SEPARATORS.sub(".", name.casefold())


def _is_one_slip(written: str, meant: str) -> bool:
    if written == meant:
        return True
    more = len(written) - len(meant)
    if abs(more) > 1:
        return False
    pairs = enumerate(zip(written, meant, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(written), len(meant)))
    one, other = written[at:], meant[at:]
    if one[:1].isdigit() or other[:1].isdigit() or _word_at(meant, at) < _LONG_WORD:
        return False
    if more:
        return one[1:] == other if more > 0 else one == other[1:]
    return one[1:] == other[1:] or (one[1::-1] == other[:2] and one[2:] == other[2:])


def _word_at(name: str, at: int) -> int:
    """Return the length of the word that has the character."""
    end = name.find(".", at)
    return (len(name) if end < 0 else end) - (name.rfind(".", 0, at) + 1)


class NamedResource(Struct, frozen=True):
    """A topic or group that an ACL names; ``scope`` is its virtual cluster."""

    type: ResourceType
    name: str
    scope: str | None = None

    @property
    def address(self) -> str:
        """The address of the document that would declare it."""
        if self.type is ResourceType.GROUP:
            if self.scope is None:
                return group_address(self.name)
            return member_address(self.scope, EntityType.GROUP, self.name)
        if self.scope is None:
            return topic_address(self.name)
        return local_topic_address(LocalName(self.scope, self.name))

    @property
    def text(self) -> str:
        """``the topic orders in emea.sales``."""
        within = f" in {self.scope}" if self.scope is not None else ""
        return f"the {self.type} {self.name}{within}"


def named_resource(binding: AclBinding) -> NamedResource | None:
    """Return the one topic or group that a binding names; None for patterns and other types."""
    name, literal = binding.resource_name, PatternType.LITERAL
    if binding.pattern_type is not literal or name == "*":
        return None
    if binding.scoped and (
        binding.virtual_cluster == "*" or binding.virtual_cluster_pattern_type is not literal
    ):
        return None
    scope = binding.virtual_cluster if binding.scoped else None
    match binding.resource_type:
        case ResourceType.TOPIC if not (is_internal(name) or topic_name_problem(name)):
            return NamedResource(ResourceType.TOPIC, name, scope)
        case ResourceType.GROUP:
            return NamedResource(ResourceType.GROUP, name, scope)
        case _:
            return None


class DeclaredNames:
    """The names of declared topics, links and groups, each virtual cluster's separate."""

    def __init__(self, desired: DesiredState) -> None:
        names: dict[tuple[ResourceType, str | None], set[str]] = {}

        def add(kind: ResourceType, scope: str | None, name: str) -> None:
            names.setdefault((kind, scope), set()).add(name)

        for topic in desired.of(DesiredTopic):
            add(ResourceType.TOPIC, topic.virtual_cluster, topic.name)
        for link in desired.of(DesiredLink):
            add(ResourceType.TOPIC, link.local.virtual_cluster, link.local.name)
        for group in desired.of(DesiredGroup):
            add(ResourceType.GROUP, None, group.name)
        for member in desired.of(DesiredMember):
            if member.entity_type is EntityType.GROUP:
                add(ResourceType.GROUP, member.virtual_cluster, member.name)
        self._names = names
        self._misspelt: dict[NamedResource, str | None] = {}

    def beside(self, resource: NamedResource) -> frozenset[str] | set[str]:
        """Return the declared names of the resource's type and virtual cluster."""
        return self._names.get((resource.type, resource.scope), frozenset())

    def __contains__(self, resource: NamedResource) -> bool:
        return resource.name in self.beside(resource)

    def meant_by(self, resource: NamedResource) -> str | None:
        """Return the declared name of which an undeclared one is a typing error."""
        if resource in self:
            return None
        if resource not in self._misspelt:
            self._misspelt[resource] = misspelt(resource.name, self.beside(resource))
        return self._misspelt[resource]


def warn_of_misspelt_names(desired: DesiredState) -> tuple[Finding, ...]:
    """Warn of names in ACLs, without a cluster: typing errors, and topics that a Tombstone deletes.

    Other names that no document declares may be those of other projects.
    """
    names = DeclaredNames(desired)
    tombstones = {tombstone.address for tombstone in desired.tombstones}
    found: dict[tuple[Source, str], Finding] = {}
    for acl in desired.of(DesiredAcl):
        resource = named_resource(acl.binding)
        if resource is None:
            continue
        if resource.address in tombstones:
            problem = f"a Tombstone deletes {resource.text}, which is named here"
            _add(found, acl, problem, "remove the rights on it as well")
        elif (meant := names.meant_by(resource)) is not None:
            _add(found, acl, f"no document declares {resource.text}", f"did you mean {meant}?")
    return tuple(found.values())


def _add(
    found: dict[tuple[Source, str], Finding], acl: DesiredAcl, problem: str, advice: str
) -> None:
    """Add a warning at the place of the resource's name: one, however many bindings it makes."""
    place = acl.located.at("spec", "resource", "name")
    found[(place, acl.binding.resource_name)] = Finding(
        source=place, problem=problem, advice=advice, severity=Severity.WARNING
    )


Path = tuple[str | int, ...]


def names_in(declared: object) -> list[tuple[Path, str]]:
    """Return each name with its path; the path of a mapping's key ends in the key."""
    names: list[tuple[Path, str]] = []
    _collect(declared, (), names)
    return names


def _collect(content: object, path: Path, names: list[tuple[Path, str]]) -> None:
    if isinstance(content, str):
        names.append((path, content))
    elif isinstance(content, list | tuple):
        for index, item in enumerate(content):
            _collect(item, (*path, index), names)
    elif isinstance(content, dict):
        for key, item in content.items():
            if isinstance(key, str):
                names.append(((*path, key), key))
            _collect(item, (*path, key), names)
    else:
        model: Any = type(content)
        for name, key in _fields(model):
            value = getattr(content, name)
            if value is not None:
                _collect(value, (*path, key), names)


@cache
def _fields(model: type[Any]) -> tuple[tuple[str, str], ...]:
    """Return the attribute and the key of each field that may hold names; of a number, none."""
    fields = getattr(model, "__pydantic_fields__", {})
    return tuple(
        (name, field.alias or name)
        for name, field in fields.items()
        if not any(isinstance(mark, FreeText) for mark in field.metadata)
    )
