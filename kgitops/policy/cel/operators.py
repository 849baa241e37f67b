"""CEL's operators: the types that they take and give, and their check.

No operator converts a value by itself.
"""

from abc import ABC, abstractmethod

from kgitops.policy.cel.nodes import Chain, Literal, SyntaxNode, Unary
from kgitops.policy.cel.problems import Problem, bare, conversion, named, shown, shown_root
from kgitops.policy.cel.types import (
    ANY,
    BOOL,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Type,
    TypeKind,
    comparable,
    fits,
    joined,
    list_of,
)

LITERAL_TYPES = {"null": NULL, "bool": BOOL, "int": INT, "double": DOUBLE, "string": STRING}
"""By the kind of a literal; unsigned numbers and bytes are refused."""


class OperandMismatchError(Exception):
    """An operator does not take these types; ``advice`` says what to write."""

    def __init__(self, advice: str) -> None:
        super().__init__(advice)
        self.advice = advice


def comparison_type(operator: str, left: Type, right: Type) -> Type:
    """The type of ``left < right`` and its kin.

    Raises:
        OperandMismatchError: they have no order.
    """
    if TypeKind.ANY in (left.kind, right.kind) or (left.numeric and right.numeric):
        return BOOL
    if left.kind is right.kind and left.kind is TypeKind.STRING:
        return BOOL
    if TypeKind.STRING in (left.kind, right.kind) and (left.numeric or right.numeric):
        raise OperandMismatchError("convert the text by int(…) or double(…)")
    raise OperandMismatchError(f"{operator} compares numbers with numbers and text with text")


def arithmetic_type(operator: str, left: Type, right: Type) -> Type:
    """The type of ``left + right`` and its kin.

    Raises:
        OperandMismatchError: the operator can't compute with them.
    """
    if TypeKind.ANY in (left.kind, right.kind):
        return ANY
    if left.kind is right.kind and left.numeric:
        if operator == "%" and left.kind is TypeKind.DOUBLE:
            raise OperandMismatchError("% takes whole numbers: convert them by int(…)")
        return INT if left.kind is TypeKind.INT else DOUBLE
    if left.numeric and right.numeric:
        raise OperandMismatchError(
            "convert the whole number by double(…), or write it with a point: 1.0"
        )
    if operator != "+":
        raise OperandMismatchError(f"{operator} takes numbers: convert text by int(…) or double(…)")
    if left.kind is right.kind is TypeKind.STRING:
        return STRING
    if left.kind is right.kind is TypeKind.LIST:
        return list_of(joined(left.items, right.items))
    if TypeKind.STRING in (left.kind, right.kind) and (left.numeric or right.numeric):
        raise OperandMismatchError("write string(…) around the number, or int(…) around the text")
    raise OperandMismatchError("+ adds numbers, and joins text with text and lists with lists")


def item_type(collection: Type) -> Type | None:
    """The type of what a loop goes over and ``in`` looks for; None if it is not a collection."""
    match collection.kind:
        case TypeKind.LIST:
            return collection.items
        case TypeKind.MAP:
            return collection.keys
        case TypeKind.RECORD:
            return STRING
        case TypeKind.ANY:
            return ANY
        case _:
            return None


def literal_problem(literal: Literal) -> tuple[str, str]:
    """The problem of a literal that has no type here, and the advice."""
    if literal.kind == "uint":
        return f"{literal.text} is an unsigned number", "write it without the u"
    return f"{literal.text} is bytes", "write text, without the b"


def result_problem(actual: Type, expected: Type) -> tuple[str, str] | None:
    """The problem of an expression that gives the wrong type, and the advice; None if it fits."""
    if fits(actual, expected) and actual.kind is not TypeKind.NULL:
        return None
    if expected is BOOL:
        return (
            f"it gives {named(actual)} where true or false is needed",
            "compare it with something",
        )
    advice = "write string(…) around it" if actual.numeric else "make it text"
    return f"it gives {named(actual)} where text is needed", advice


class OperatorChecker(ABC):
    """Checks the operators of an expression; ``problems`` and ``types`` collect."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.types: dict[SyntaxNode, Type] = {}

    @abstractmethod
    def check(self, node: SyntaxNode) -> Type:
        """Check the node and all below it, and return its type; ANY where it is not known."""

    def _unary(self, node: Unary) -> Type:
        if node.operator == "!":
            self._require_bool(node.operand, "what ! turns round")
            return BOOL
        type_ = self.check(node.operand)
        if type_.kind is TypeKind.NULL:
            return self._add_null(node.operand)
        if not (type_.numeric or type_.kind is TypeKind.ANY):
            text = f"- stands before {named(type_)}, which is not a number"
            return self._add(node, text, conversion(type_, (INT,)))
        self._check_nullable(node.operand, type_)
        return type_

    def _chain(self, node: Chain) -> Type:
        if node.operators[0] in ("&&", "||"):
            for operand in node.operands:
                self._require_bool(operand, f"each side of {node.operators[0]}")
            return BOOL
        left, type_ = node.operands[0], self.check(node.operands[0])
        for operator, right in zip(node.operators, node.operands[1:], strict=True):
            type_ = self._binary(operator, left, type_, right)
            left = right
        return type_

    def _binary(self, operator: str, left: SyntaxNode, left_type: Type, right: SyntaxNode) -> Type:
        right_type = self.check(right)
        both = f"{shown(left)} {operator} {shown(right)}"
        if operator in ("==", "!="):
            if not comparable(left_type, right_type):
                text = f"{both} compares {named(left_type)} with {named(right_type)}, which are "
                self._add(right, f"{text}never equal", conversion(left_type, (right_type,)))
            return BOOL
        if operator == "in":
            return self._in(left, left_type, right, right_type)
        for side, side_type in ((left, left_type), (right, right_type)):
            if side_type.kind is TypeKind.NULL:
                return self._add_null(side)
            self._check_nullable(side, side_type)
        compares = operator[0] in "<>"
        try:
            rule = comparison_type if compares else arithmetic_type
            return rule(operator, left_type, right_type)
        except OperandMismatchError as mismatch:
            verb = "compares" if compares else "mixes"
            text = f"{both} {verb} {named(left_type)} with {named(right_type)}"
            return self._add(right, text, mismatch.advice)

    def _in(self, left: SyntaxNode, left_type: Type, right: SyntaxNode, right_type: Type) -> Type:
        if right_type.kind is TypeKind.ANY:
            return BOOL
        if right_type.kind is TypeKind.NULL:
            return self._add_null(right)
        item = item_type(right_type)
        if item is None:
            text = f"in looks into a list or a map, and {shown(right)} is {named(right_type)}"
            contains = f"write {shown(right)}.contains({shown(left)})"
            advice = contains if right_type.kind is TypeKind.STRING else "name a list or a map"
            return self._add(right, text, advice)
        self._check_nullable(right, right_type)
        if not comparable(left_type, item):
            text = f"{shown(right)} holds {bare(item)}, and {shown(left)} is {named(left_type)}"
            self._add(right, f"{text}, so it is never in there", conversion(left_type, (item,)))
        return BOOL

    def _add(self, node: SyntaxNode, text: str, advice: str, *, weak: bool = False) -> Type:
        """Add a problem; the type of its node is not known then."""
        self.problems.append(Problem(node, text, advice, weak))
        return ANY

    def _add_null(self, node: SyntaxNode) -> Type:
        """Add that there is null where a value is needed."""
        if isinstance(node, Literal):
            advice = "compare with == null or != null"
            return self._add(node, "null stands where a value is needed", advice)
        text = f"{shown_root(node)} is null"
        return self._add(node, text, "match other requests, or ask for null first", weak=True)

    def _check_nullable(self, node: SyntaxNode, type_: Type) -> None:
        if type_.nullable:
            name = shown(node)
            self._add(node, f"{name} may be null", f"ask {name} != null first", weak=True)

    def _require_bool(self, node: SyntaxNode, place: str) -> None:
        type_ = self.check(node)
        if not fits(type_, BOOL):
            text = f"{place} must be true or false, and {shown(node)} is {named(type_)}"
            self._add(node, text, "compare it with something")
