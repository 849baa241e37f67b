"""Operators: what they are given, and what of it they don't take."""

from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.operands import Mismatch, arithmetic, comparison
from kgitops.policy.cel.check.wording import bare, conversion, named, shown
from kgitops.policy.cel.nodes import Chain, Conditional, Node, Unary
from kgitops.policy.cel.types import BOOL, INT, STRING, Kind, Type, comparable, joined


def unary_type(checking: Checking, node: Unary) -> Type:
    """The type of ``!a`` or ``-a``."""
    if node.operator == "!":
        checking.want(node.operand, BOOL, "what ! turns round")
        return BOOL
    type_ = checking.check(node.operand)
    if type_.kind is Kind.NULL:
        return checking.null(node.operand)
    if not (type_.numeric or type_.kind is Kind.ANY):
        text = f"- stands before {named(type_)}, which is no number"
        return checking.add(node, text, conversion(type_, (INT,)))
    checking.may_be_null(node.operand, type_)
    return type_


def chain_type(checking: Checking, node: Chain) -> Type:
    """The type of ``a + b - c``."""
    if node.operators[0] in ("&&", "||"):
        for operand in node.operands:
            checking.want(operand, BOOL, f"each side of {node.operators[0]}")
        return BOOL
    left, type_ = node.operands[0], checking.check(node.operands[0])
    for operator, right in zip(node.operators, node.operands[1:], strict=True):
        type_ = _binary_type(checking, operator, left, type_, right)
        left = right
    return type_


def conditional_type(checking: Checking, node: Conditional) -> Type:
    """The type of ``condition ? yes : no``."""
    checking.want(node.condition, BOOL, "the condition before ?")
    return joined(checking.check(node.yes), checking.check(node.no))


def _binary_type(checking: Checking, operator: str, left: Node, type_: Type, right: Node) -> Type:
    other = checking.check(right)
    if operator in ("==", "!="):
        if not comparable(type_, other):
            text = f"{shown(left)} {operator} {shown(right)} compares {named(type_)} with "
            checking.add(
                right, f"{text}{named(other)}, which are never equal", conversion(type_, (other,))
            )
        return BOOL
    if operator == "in":
        return _in_type(checking, left, type_, right, other)
    for side, side_type in ((left, type_), (right, other)):
        if side_type.kind is Kind.NULL:
            return checking.null(side)
        checking.may_be_null(side, side_type)
    try:
        decide = comparison if operator[0] in "<>" else arithmetic
        return decide(operator, type_, other)
    except Mismatch as mismatch:
        does = "compares" if decide is comparison else "mixes"
        text = f"{shown(left)} {operator} {shown(right)} {does} {named(type_)} with {named(other)}"
        return checking.add(right, text, mismatch.advice)


def _in_type(checking: Checking, left: Node, type_: Type, right: Node, other: Type) -> Type:
    match other.kind:
        case Kind.LIST:
            held = other.items
        case Kind.MAP:
            held = other.keys
        case Kind.RECORD:
            held = STRING
        case Kind.ANY:
            return BOOL
        case Kind.NULL:
            return checking.null(right)
        case _:
            text = f"in looks into a list or a map, and {shown(right)} is {named(other)}"
            text_advice = f"write {shown(right)}.contains({shown(left)})"
            advice = text_advice if other.kind is Kind.STRING else "name a list or a map"
            return checking.add(right, text, advice)
    checking.may_be_null(right, other)
    if not comparable(type_, held):
        text = f"{shown(right)} holds {bare(held)}, and {shown(left)} is {named(type_)}"
        checking.add(right, f"{text}, so it is never in there", conversion(type_, (held,)))
    return BOOL
