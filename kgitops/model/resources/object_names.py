"""Addresses as people read them: the kind and the full name, never shortened."""

import re
from functools import lru_cache
from urllib.parse import unquote

from msgspec import Struct

from kgitops.model.resources.addresses import split_scoped_address

_ACL_PARTS = 6
_MEMBERS = {
    "topic": "topic",
    "link": "link",
    "user": "user",
    "client": "client id",
    "group": "group",
    "txn": "transactional id",
}
_PLAIN = re.compile(r'[^\s"\\(){}]+')


class ObjectName(Struct, frozen=True):
    """``kind`` is a word, ``name`` what tells objects of the kind apart."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@lru_cache(maxsize=65_536)
def object_name(address: str) -> ObjectName:
    """The name behind an address; the address itself where it is of no known form."""
    found = split_scoped_address(address)
    if found is None:
        return _global(address, *address.split("/", 1))
    scope = "*" if found.virtual_cluster == "*" else _shown(found.virtual_cluster)
    if found.prefixed:
        scope = f"{scope}*"
    match found.segment:
        case "acl":
            return _acl(address, found.tail, f"{scope}/")
        case "quota":
            return ObjectName("quota", f"virtual-cluster={scope}, {_entities(found.tail)}")
        case segment if segment in _MEMBERS:
            return ObjectName(_MEMBERS[segment], f"{scope}/{_shown(unquote(found.tail))}")
        case _:
            return ObjectName("object", _shown(address))


def _global(address: str, kind: str, rest: str = "") -> ObjectName:
    match kind:
        case "topic" if rest:
            return ObjectName("topic", _shown(unquote(rest)))
        case "quota" if rest:
            return ObjectName("quota", _entities(rest))
        case "user" if rest:
            return ObjectName("user", _shown(unquote(rest)))
        case "broker" if rest:
            return ObjectName("broker", _shown(rest))
        case "group" if rest:
            return ObjectName("group", _shown(unquote(rest)))
        case "client-metrics" if rest:
            return ObjectName("client metrics", _shown(unquote(rest)))
        case "broker-config" if rest:
            return ObjectName("broker config", _shown(unquote(rest)))
        case "acl" if rest:
            return _acl(address, rest)
        case "vc" if rest:
            return ObjectName("virtual cluster", _shown(unquote(rest)))
        case _:
            return ObjectName("object", _shown(address))


def _acl(address: str, rest: str, scope: str = "") -> ObjectName:
    parts = rest.split("/")
    if len(parts) != _ACL_PARTS:
        return ObjectName("object", _shown(address))
    principal, permission, operation, resource_type, pattern, last = parts
    name, _, host = last.partition("@")
    where = "" if host == "*" else f" from {_shown(unquote(host))}"
    resource = f"{resource_type} {scope}{_shown(unquote(name))} ({pattern})"
    return ObjectName(
        "acl", f"{_shown(unquote(principal))} {permission} {operation} {resource}{where}"
    )


def _entities(rest: str) -> str:
    parts = (part.partition("=") for part in rest.split(","))
    return ", ".join(f"{entity}={_entity(name)}" for entity, _, name in parts)


def _entity(name: str) -> str:
    return name if name == "<default>" else _shown(unquote(name))


def _shown(name: str) -> str:
    """Quoted where blanks or brackets could be read as part of the sentence around it."""
    if _PLAIN.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
