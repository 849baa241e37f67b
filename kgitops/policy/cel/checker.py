"""The check of an expression: the type of every part, and the mistakes in it.

No operator converts a value by itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from kgitops.model.wording import nearest
from kgitops.policy.cel.functions import (
    ANY,
    BOOL,
    DOUBLE,
    FOREIGN_FUNCTIONS,
    FUNCTIONS,
    INT,
    NULL,
    STRING,
    Type,
    TypeKind,
    comparable,
    fits,
    joined,
    list_of,
    map_of,
)
from kgitops.policy.cel.parser import (
    LOOPS,
    Call,
    Chain,
    Conditional,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Select,
    SyntaxNode,
    Unary,
)
from kgitops.policy.cel.problems import Problem, bare, conversion, meant, named, shown, shown_root
from kgitops.policy.cel.variables import ROOTS, VARIABLES

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


_KUBERNETES_NAMES = {
    "object": "requested",
    "oldObject": "current",
    "self": "requested",
    "oldSelf": "current",
    "topic": "requested",
    "namespaceObject": "cluster",
    "authorizer": "principal",
    "params": "a literal, or ${var:NAME} of the cluster's variables",
}
"""Names that Kubernetes' policies use, and what to write here."""


class Checker(OperatorChecker):
    """Checks one expression for one kind of request.

    ``_scope`` holds the type of each name at the moment. ``_following`` maps a field to the fields
    behind it: the key of a config is often written as if it were fields.
    """

    def __init__(self, roots: Mapping[str, Type]) -> None:
        super().__init__()
        self._scope: dict[str, Type] = dict(roots)
        self._following: dict[SyntaxNode, str] = {}

    def check(self, node: SyntaxNode) -> Type:
        """Check the node and all below it, and return its type; ANY where it is not known."""
        type_ = self.types[node] = self._type(node)
        return type_

    def _type(self, node: SyntaxNode) -> Type:
        match node:
            case Literal():
                if node.kind in LITERAL_TYPES:
                    return LITERAL_TYPES[node.kind]
                return self._add(node, *literal_problem(node))
            case Name():
                return self._name(node)
            case Select(operand=operand, field=field):
                self._following[operand] = f".{field}{self._following.get(node, '')}"
                return self._field(node, operand, self.check(operand), field)
            case Index():
                return self._index(node)
            case Call(loop_name=None):
                return self._call(node)
            case Call(loop_name=str() as name):
                return self._loop(node, name)
            case ListOf(items=items):
                return list_of(self._joined(items))
            case MapOf():
                return self._map(node)
            case Unary():
                return self._unary(node)
            case Chain():
                return self._chain(node)
            case Conditional(condition=condition, yes=yes, no=no):
                self._require_bool(condition, "the condition before ?")
                return joined(self.check(yes), self.check(no))
            case _:
                raise TypeError(type(node).__name__)

    # Names, fields and items

    def _name(self, node: Name) -> Type:
        name = node.name
        if name in self._scope:
            return self._scope[name]
        if name == VARIABLES:
            return self._add(node, "variables stands alone", "write variables.NAME")
        if name in FUNCTIONS or name in FOREIGN_FUNCTIONS:
            return self._add(node, f"{name} is a function", f"write {name}(…)")
        here = _KUBERNETES_NAMES.get(name)
        advice = f"write {here}" if here else meant(name, self._scope, "it may be")
        return self._add(node, f"there is no variable {name}", advice)

    def _field(self, node: SyntaxNode, operand: SyntaxNode, type_: Type, field: str) -> Type:
        match type_.kind:
            case TypeKind.ANY:
                return ANY
            case TypeKind.NULL:
                return self._add_null(node)
            case TypeKind.RECORD:
                self._check_nullable(operand, type_)
                fields = type_.fields or {}
                if field in fields:
                    return fields[field]
                text = f"{shown(operand)} has no field {field}"
                return self._add(node, text, meant(field, fields, f"{type_.name} has"))
            case TypeKind.MAP if (
                type_.keys.kind is TypeKind.STRING or type_.keys.kind is TypeKind.ANY
            ):
                self._check_nullable(operand, type_)
                return type_.items
            case _:
                text = f"{shown(operand)} is {named(type_)}, which has no field {field}"
                return self._add(node, text, self._dotted_key(node, field) or f"remove .{field}")

    def _dotted_key(self, node: SyntaxNode, field: str) -> str | None:
        """Advice for a config key that is written as if its dots separated fields."""
        parts = [field]
        dotted = node
        while isinstance(dotted, Select) and isinstance(dotted.operand, Select):
            dotted = dotted.operand
            if self.types.get(dotted.operand, ANY).kind is TypeKind.MAP:
                key = ".".join([dotted.field, *reversed(parts)]) + self._following.get(node, "")
                return f"write {shown(dotted.operand)}['{key}']"
            parts.append(dotted.field)
        return None

    def _index(self, node: Index) -> Type:
        operand, index = self.check(node.operand), self.check(node.index)
        match operand.kind:
            case TypeKind.ANY:
                return ANY
            case TypeKind.NULL:
                return self._add_null(node)
            case TypeKind.LIST:
                self._check_nullable(node.operand, operand)
                if not fits(index, INT):
                    text = f"a list is indexed by a number, not by {named(index)}"
                    return self._add(node, text, "write the number of an item, from 0")
                return operand.items
            case TypeKind.MAP:
                self._check_nullable(node.operand, operand)
                if not fits(index, operand.keys):
                    text = f"{shown(node.operand)} has no key that is {named(index)}"
                    return self._add(node, text, f"its keys are {bare(operand.keys)}")
                return operand.items
            case TypeKind.RECORD:
                if isinstance(node.index, Literal) and node.index.kind == "string":
                    return self._field(node, node.operand, operand, node.index.text[1:-1])
                return ANY
            case _:
                text = f"{shown(node.operand)} is {named(operand)}, which has no parts"
                return self._add(node, text, "remove the brackets")

    # Lists, maps and calls

    def _map(self, node: MapOf) -> Type:
        keys, values = [key for key, _ in node.entries], [value for _, value in node.entries]
        for key in keys:
            if self.check(key).kind not in (
                TypeKind.STRING,
                TypeKind.INT,
                TypeKind.BOOL,
                TypeKind.ANY,
            ):
                self._add(key, f"{shown(key)} can't be a key", "write text as the key")
        return map_of(self._joined(values), key=self._joined(keys))

    def _joined(self, nodes: Iterable[SyntaxNode]) -> Type:
        types = [self.check(node) for node in nodes]
        type_ = types[0] if types else ANY
        for other in types[1:]:
            type_ = joined(type_, other)
        return type_

    def _call(self, node: Call) -> Type:
        if node.function == "has" and node.target is None:
            self.check(node.arguments[0])
            return BOOL
        arguments = node.arguments if node.target is None else (node.target, *node.arguments)
        types = [self.check(argument) for argument in arguments]
        function = FUNCTIONS.get(node.function)
        if function is None:
            return self._unknown_function(node)
        if not function.is_called(method=node.target is not None, arguments=len(node.arguments)):
            text = f"{node.function}() is called in another way"
            return self._add(node, text, f"write {function.form}")
        for argument, type_, takes in zip(
            arguments, types, (function.takes, (STRING,)), strict=False
        ):
            if type_.kind is TypeKind.NULL:
                return self._add_null(argument)
            if not any(fits(type_, taken) for taken in takes):
                expected = " or ".join(dict.fromkeys(named(taken) for taken in takes))
                text = f"{node.function}() takes {expected}, and {shown(argument)} is "
                return self._add(node, f"{text}{named(type_)}", conversion(type_, takes))
            self._check_nullable(argument, type_)
        return function.gives

    def _unknown_function(self, node: Call) -> Type:
        names = [*FUNCTIONS, *LOOPS, "has"]
        near = nearest(node.function, [*FOREIGN_FUNCTIONS, *names], cutoff=0.75)
        advice = FOREIGN_FUNCTIONS.get(near or "") or meant(node.function, names, "there are")
        return self._add(node, f"there is no function {node.function}()", advice)

    def _loop(self, node: Call, name: str) -> Type:
        assert node.target is not None  # noqa: S101 (a loop has one)
        collection = self.check(node.target)
        if collection.kind is TypeKind.NULL:
            return self._add_null(node)
        item = item_type(collection)
        if item is None:
            text = f"{node.function}() goes over a list or a map, and {shown(node.target)}"
            return self._add(node, f"{text} is {named(collection)}", "name a list or a map")
        self._check_nullable(node.target, collection)
        if name in ROOTS or name == VARIABLES or name.startswith("__"):
            text = f"the item of {node.function}() is called {name}, like a variable"
            return self._add(node, text, "give it another name, such as item")
        before = self._scope.get(name)
        self._scope[name] = item
        result = self._loop_result(node, item)
        if before is None:
            del self._scope[name]
        else:
            self._scope[name] = before
        return result

    def _loop_result(self, node: Call, item: Type) -> Type:
        *conditions, last = node.arguments[1:]
        for condition in conditions:
            self._require_bool(condition, f"what {node.function}() filters by")
        if node.function == "map":
            return list_of(self.check(last))
        self._require_bool(last, f"what {node.function}() asks of each item")
        return list_of(item) if node.function == "filter" else BOOL
