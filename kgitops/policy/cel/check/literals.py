"""Values that are written out: literals, lists and maps."""

from collections.abc import Iterable

from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.wording import shown
from kgitops.policy.cel.nodes import ListOf, Literal, MapOf, Node
from kgitops.policy.cel.types import (
    ANY,
    BOOL,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Kind,
    Type,
    joined,
    list_of,
    map_of,
)

_LITERALS = {"null": NULL, "bool": BOOL, "int": INT, "double": DOUBLE, "string": STRING}


def literal_type(checking: Checking, node: Literal) -> Type:
    """The type of a literal."""
    if node.kind == "uint":
        return checking.add(node, f"{node.text} is an unsigned number", "write it without the u")
    if node.kind == "bytes":
        return checking.add(node, f"{node.text} is bytes", "write text, without the b")
    return _LITERALS[node.kind]


def list_type(checking: Checking, node: ListOf) -> Type:
    """The type of ``[a, b]``."""
    return list_of(_joined_type(checking, node.items))


def map_type(checking: Checking, node: MapOf) -> Type:
    """The type of ``{a: b}``."""
    keys, values = [key for key, _ in node.entries], [value for _, value in node.entries]
    for key in keys:
        if checking.check(key).kind not in (Kind.STRING, Kind.INT, Kind.BOOL, Kind.ANY):
            checking.add(key, f"{shown(key)} can't be a key", "write text as the key")
    return map_of(_joined_type(checking, values), key=_joined_type(checking, keys))


def _joined_type(checking: Checking, nodes: Iterable[Node]) -> Type:
    types = [checking.check(node) for node in nodes]
    found = types[0] if types else ANY
    for other in types[1:]:
        found = joined(found, other)
    return found
