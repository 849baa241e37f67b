"""Fields, keys and items: ``a.b`` and ``a[b]``."""

from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.wording import bare, named, nearest, shown
from kgitops.policy.cel.nodes import Index, Literal, Node, Select
from kgitops.policy.cel.types import ANY, INT, Kind, Type, fits


def select_type(checking: Checking, node: Select) -> Type:
    """The type of ``operand.field``."""
    checking.following[node.operand] = f".{node.field}{checking.following.get(node, '')}"
    return _field_type(checking, node, node.operand, checking.check(node.operand), node.field)


def index_type(checking: Checking, node: Index) -> Type:
    """The type of ``operand[index]``."""
    operand, index = checking.check(node.operand), checking.check(node.index)
    match operand.kind:
        case Kind.ANY:
            return ANY
        case Kind.NULL:
            return checking.null(node)
        case Kind.LIST:
            checking.may_be_null(node.operand, operand)
            if not fits(index, INT):
                advice = "write the number of an item, from 0"
                return checking.add(
                    node, f"a list is indexed by a number, not by {named(index)}", advice
                )
            return operand.items
        case Kind.MAP:
            checking.may_be_null(node.operand, operand)
            if not fits(index, operand.keys):
                advice = f"its keys are {bare(operand.keys)}"
                return checking.add(
                    node, f"{shown(node.operand)} has no key that is {named(index)}", advice
                )
            return operand.items
        case Kind.RECORD:
            if isinstance(node.index, Literal) and node.index.kind == "string":
                return _field_type(checking, node, node.operand, operand, node.index.text[1:-1])
            return ANY
        case _:
            text = f"{shown(node.operand)} is {named(operand)}, which has no parts"
            return checking.add(node, text, "remove the brackets")


def _field_type(checking: Checking, node: Node, operand: Node, type_: Type, field: str) -> Type:
    match type_.kind:
        case Kind.ANY:
            return ANY
        case Kind.NULL:
            return checking.null(node)
        case Kind.RECORD:
            checking.may_be_null(operand, type_)
            fields = type_.fields or {}
            if field in fields:
                return fields[field]
            return checking.add(
                node,
                f"{shown(operand)} has no field {field}",
                nearest(field, fields, f"{type_.name} has"),
            )
        case Kind.MAP if type_.keys.kind is Kind.STRING or type_.keys.kind is Kind.ANY:
            checking.may_be_null(operand, type_)
            return type_.items
        case _:
            return _no_field(checking, node, operand, type_, field)


def _no_field(checking: Checking, node: Node, operand: Node, type_: Type, field: str) -> Type:
    """Most likely a config key with its dots, written as if they were fields."""
    problem = f"{shown(operand)} is {named(type_)}, which has no field {field}"
    dotted, parts = node, [field]
    while isinstance(dotted, Select) and isinstance(dotted.operand, Select):
        dotted = dotted.operand
        if checking.types.get(dotted.operand, ANY).kind is Kind.MAP:
            key = ".".join([dotted.field, *reversed(parts)]) + checking.following.get(node, "")
            advice = f"write {shown(dotted.operand)}['{key}']"
            return checking.add(node, problem, advice)
        parts.append(dotted.field)
    return checking.add(node, problem, f"remove .{field}")
