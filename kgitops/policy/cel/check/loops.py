"""Loops: all, exists, exists_one, filter and map."""

from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.wording import named, shown
from kgitops.policy.cel.nodes import Call
from kgitops.policy.cel.types import ANY, BOOL, STRING, Kind, Type, list_of
from kgitops.policy.cel.variables import ROOTS, VARIABLES


def loop_type(checking: Checking, node: Call, name: str) -> Type:
    """The type of a loop that calls each item ``name``."""
    assert node.target is not None  # noqa: S101 (a loop has one)
    looped = checking.check(node.target)
    match looped.kind:
        case Kind.LIST:
            item = looped.items
        case Kind.MAP:
            item = looped.keys
        case Kind.RECORD:
            item = STRING
        case Kind.ANY:
            item = ANY
        case Kind.NULL:
            return checking.null(node)
        case _:
            text = f"{node.function}() goes over a list or a map, and {shown(node.target)}"
            return checking.add(node, f"{text} is {named(looped)}", "name a list or a map")
    checking.may_be_null(node.target, looped)
    if name in ROOTS or name == VARIABLES or name.startswith("__"):
        text = f"the item of {node.function}() is called {name}, like a variable"
        return checking.add(node, text, "give it another name, such as item")
    before = checking.scope.get(name)
    checking.scope[name] = item
    given = _result_type(checking, node, item)
    if before is None:
        del checking.scope[name]
    else:
        checking.scope[name] = before
    return given


def _result_type(checking: Checking, node: Call, item: Type) -> Type:
    *conditions, last = node.arguments[1:]
    for condition in conditions:
        checking.want(condition, BOOL, f"what {node.function}() filters by")
    if node.function == "map":
        return list_of(checking.check(last))
    checking.want(last, BOOL, f"what {node.function}() asks of each item")
    return list_of(item) if node.function == "filter" else BOOL
