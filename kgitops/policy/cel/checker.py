"""Finds the type of every part of an expression, and what can't be meant."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kgitops.policy.cel.functions import FUNCTIONS, OTHERS
from kgitops.policy.cel.nodes import (
    LOOPS,
    Call,
    Chain,
    Conditional,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    Unary,
    text_of,
)
from kgitops.policy.cel.operators import Mismatch, arithmetic, comparison
from kgitops.policy.cel.types import (
    ANY,
    BOOL,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Kind,
    Type,
    comparable,
    fits,
    joined,
    list_of,
    map_of,
)
from kgitops.policy.cel.variables import ROOTS, VARIABLES

_LITERALS = {"null": NULL, "bool": BOOL, "int": INT, "double": DOUBLE, "string": STRING}
# The names that Kubernetes' policies use for what is called otherwise here.
_ELSEWHERE = {
    "object": "requested",
    "oldObject": "current",
    "self": "requested",
    "oldSelf": "current",
    "topic": "requested",
    "namespaceObject": "cluster",
    "authorizer": "principal",
    "params": "a literal, or ${var:NAME} of the cluster's variables",
}
MAX_SHOWN = 60


@dataclass(frozen=True)
class Problem:
    """What can't be meant. ``weak``: only where it is reached; running a sample tells."""

    node: Node
    text: str
    advice: str
    weak: bool = False


class Checker:
    """Checks one expression for one kind of request; ``problems`` collects."""

    def __init__(self, roots: Mapping[str, Type]) -> None:
        self.problems: list[Problem] = []
        self.types: dict[Node, Type] = {}
        self._scope: dict[str, Type] = dict(roots)
        # A field to what follows it: the key of a config is often written as if it were fields.
        self._following: dict[Node, str] = {}

    def check(self, node: Node) -> Type:
        """The type of ``node``; ANY where it is not known."""
        found = self.types[node] = self._type(node)
        return found

    def _type(self, node: Node) -> Type:
        match node:
            case Literal():
                return self._literal(node)
            case Name():
                return self._name(node)
            case Select(operand=operand, field=field):
                self._following[operand] = f".{field}{self._following.get(node, '')}"
                return self._field(node, operand, self.check(operand), field)
            case Index():
                return self._index(node)
            case Call():
                return self._call(node)
            case ListOf(items=items):
                return list_of(self._join(items))
            case MapOf(entries=entries):
                return self._map(entries)
            case Unary():
                return self._unary(node)
            case Chain():
                return self._chain(node)
            case Conditional(condition=condition, yes=yes, no=no):
                self._want(condition, BOOL, "the condition before ?")
                return joined(self.check(yes), self.check(no))
            case _:
                raise TypeError(type(node).__name__)

    def _add(self, node: Node, text: str, advice: str, *, weak: bool = False) -> Type:
        self.problems.append(Problem(node, text, advice, weak))
        return ANY

    def _literal(self, node: Literal) -> Type:
        if node.kind == "uint":
            return self._add(node, f"{node.text} is an unsigned number", "write it without the u")
        if node.kind == "bytes":
            return self._add(node, f"{node.text} is bytes", "write text, without the b")
        return _LITERALS[node.kind]

    def _name(self, node: Name) -> Type:
        if node.name in self._scope:
            return self._scope[node.name]
        if node.name == VARIABLES:
            return self._add(node, "variables stands alone", "write variables.NAME")
        if node.name in FUNCTIONS or node.name in OTHERS:
            return self._add(node, f"{node.name} is a function", f"write {node.name}(…)")
        meant = _ELSEWHERE.get(node.name)
        advice = f"write {meant}" if meant else nearest(node.name, self._scope, "it may be")
        return self._add(node, f"there is no variable {node.name}", advice)

    def _field(self, node: Node, operand: Node, type_: Type, field: str) -> Type:
        match type_.kind:
            case Kind.ANY:
                return ANY
            case Kind.NULL:
                return self._null(node)
            case Kind.RECORD:
                self._may_be_null(operand, type_)
                fields = type_.fields or {}
                if field in fields:
                    return fields[field]
                return self._add(
                    node,
                    f"{_text(operand)} has no field {field}",
                    nearest(field, fields, f"{type_.name} has"),
                )
            case Kind.MAP if type_.keys.kind is Kind.STRING or type_.keys.kind is Kind.ANY:
                self._may_be_null(operand, type_)
                return type_.items
            case _:
                return self._no_field(node, operand, type_, field)

    def _no_field(self, node: Node, operand: Node, type_: Type, field: str) -> Type:
        """Most likely a config key with its dots, written as if they were fields."""
        problem = f"{_text(operand)} is {_a(type_)}, which has no field {field}"
        dotted, parts = node, [field]
        while isinstance(dotted, Select) and isinstance(dotted.operand, Select):
            dotted = dotted.operand
            if self.types.get(dotted.operand, ANY).kind is Kind.MAP:
                key = ".".join([dotted.field, *reversed(parts)]) + self._following.get(node, "")
                advice = f"write {_text(dotted.operand)}['{key}']"
                return self._add(node, problem, advice)
            parts.append(dotted.field)
        return self._add(node, problem, f"remove .{field}")

    def _index(self, node: Index) -> Type:
        operand, index = self.check(node.operand), self.check(node.index)
        match operand.kind:
            case Kind.ANY:
                return ANY
            case Kind.NULL:
                return self._null(node)
            case Kind.LIST:
                self._may_be_null(node.operand, operand)
                if not fits(index, INT):
                    advice = "write the number of an item, from 0"
                    return self._add(
                        node, f"a list is indexed by a number, not by {_a(index)}", advice
                    )
                return operand.items
            case Kind.MAP:
                self._may_be_null(node.operand, operand)
                if not fits(index, operand.keys):
                    advice = f"its keys are {_bare(operand.keys)}"
                    return self._add(
                        node, f"{_text(node.operand)} has no key that is {_a(index)}", advice
                    )
                return operand.items
            case Kind.RECORD:
                if isinstance(node.index, Literal) and node.index.kind == "string":
                    return self._field(node, node.operand, operand, node.index.text[1:-1])
                return ANY
            case _:
                text = f"{_text(node.operand)} is {_a(operand)}, which has no parts"
                return self._add(node, text, "remove the brackets")

    def _call(self, node: Call) -> Type:
        if node.function == "has" and node.target is None:
            self.check(node.arguments[0])
            return BOOL
        if node.loop_name is not None:
            return self._loop(node, node.loop_name)
        own = node.arguments if node.target is None else (node.target, *node.arguments)
        given = [self.check(argument) for argument in own]
        function = FUNCTIONS.get(node.function)
        if function is None:
            return self._no_function(node)
        if not function.is_called(method=node.target is not None, arguments=len(node.arguments)):
            text = f"{node.function}() is called in another way"
            return self._add(node, text, f"write {function.form}")
        for argument, type_, takes in zip(own, given, (function.takes, (STRING,)), strict=False):
            if type_.kind is Kind.NULL:
                return self._null(argument)
            if not any(fits(type_, one) for one in takes):
                wanted = " or ".join(dict.fromkeys(_a(one) for one in takes))
                text = f"{node.function}() takes {wanted}, and {_text(argument)} is {_a(type_)}"
                return self._add(node, text, _conversion(type_, takes))
            self._may_be_null(argument, type_)
        return function.gives

    def _no_function(self, node: Call) -> Type:
        known = [*FUNCTIONS, *LOOPS, "has"]
        near = difflib.get_close_matches(node.function, [*known, *OTHERS], n=1, cutoff=0.75)
        advice = OTHERS.get(near[0] if near else "") or nearest(node.function, known, "there are")
        return self._add(node, f"there is no function {node.function}()", advice)

    def _loop(self, node: Call, name: str) -> Type:
        assert node.target is not None  # noqa: S101 (a loop has one)
        looped = self.check(node.target)
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
                return self._null(node)
            case _:
                text = f"{node.function}() goes over a list or a map, and {_text(node.target)}"
                return self._add(node, f"{text} is {_a(looped)}", "name a list or a map")
        self._may_be_null(node.target, looped)
        if name in ROOTS or name == VARIABLES or name.startswith("__"):
            text = f"the item of {node.function}() is called {name}, like a variable"
            return self._add(node, text, "give it another name, such as item")
        before = self._scope.get(name)
        self._scope[name] = item
        given = self._loop_result(node, item)
        if before is None:
            del self._scope[name]
        else:
            self._scope[name] = before
        return given

    def _loop_result(self, node: Call, item: Type) -> Type:
        *conditions, last = node.arguments[1:]
        for condition in conditions:
            self._want(condition, BOOL, f"what {node.function}() filters by")
        if node.function == "map":
            return list_of(self.check(last))
        self._want(last, BOOL, f"what {node.function}() asks of each item")
        return list_of(item) if node.function == "filter" else BOOL

    def _map(self, entries: Iterable[tuple[Node, Node]]) -> Type:
        keys, values = [key for key, _ in entries], [value for _, value in entries]
        for key in keys:
            if self.check(key).kind not in (Kind.STRING, Kind.INT, Kind.BOOL, Kind.ANY):
                self._add(key, f"{_text(key)} can't be a key", "write text as the key")
        return map_of(self._join(values), key=self._join(keys))

    def _join(self, nodes: Iterable[Node]) -> Type:
        types = [self.check(node) for node in nodes]
        found = types[0] if types else ANY
        for other in types[1:]:
            found = joined(found, other)
        return found

    def _unary(self, node: Unary) -> Type:
        if node.operator == "!":
            self._want(node.operand, BOOL, "what ! turns round")
            return BOOL
        type_ = self.check(node.operand)
        if type_.kind is Kind.NULL:
            return self._null(node.operand)
        if not (type_.numeric or type_.kind is Kind.ANY):
            text = f"- stands before {_a(type_)}, which is no number"
            return self._add(node, text, _conversion(type_, (INT,)))
        self._may_be_null(node.operand, type_)
        return type_

    def _chain(self, node: Chain) -> Type:
        if node.operators[0] in ("&&", "||"):
            for operand in node.operands:
                self._want(operand, BOOL, f"each side of {node.operators[0]}")
            return BOOL
        left, type_ = node.operands[0], self.check(node.operands[0])
        for operator, right in zip(node.operators, node.operands[1:], strict=True):
            type_ = self._binary(operator, left, type_, right)
            left = right
        return type_

    def _binary(self, operator: str, left: Node, type_: Type, right: Node) -> Type:
        other = self.check(right)
        if operator in ("==", "!="):
            if not comparable(type_, other):
                text = f"{_text(left)} {operator} {_text(right)} compares {_a(type_)} with "
                self._add(
                    right, f"{text}{_a(other)}, which are never equal", _conversion(type_, (other,))
                )
            return BOOL
        if operator == "in":
            return self._in(left, type_, right, other)
        for side, side_type in ((left, type_), (right, other)):
            if side_type.kind is Kind.NULL:
                return self._null(side)
            self._may_be_null(side, side_type)
        try:
            decide = comparison if operator[0] in "<>" else arithmetic
            return decide(operator, type_, other)
        except Mismatch as mismatch:
            does = "compares" if decide is comparison else "mixes"
            text = f"{_text(left)} {operator} {_text(right)} {does} {_a(type_)} with {_a(other)}"
            return self._add(right, text, mismatch.advice)

    def _in(self, left: Node, type_: Type, right: Node, other: Type) -> Type:
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
                return self._null(right)
            case _:
                text = f"in looks into a list or a map, and {_text(right)} is {_a(other)}"
                text_advice = f"write {_text(right)}.contains({_text(left)})"
                advice = text_advice if other.kind is Kind.STRING else "name a list or a map"
                return self._add(right, text, advice)
        self._may_be_null(right, other)
        if not comparable(type_, held):
            text = f"{_text(right)} holds {_bare(held)}, and {_text(left)} is {_a(type_)}"
            self._add(right, f"{text}, so it is never in there", _conversion(type_, (held,)))
        return BOOL

    def _want(self, node: Node, wanted: Type, what: str) -> None:
        type_ = self.check(node)
        if not fits(type_, wanted):
            text = f"{what} must be true or false, and {_text(node)} is {_a(type_)}"
            self._add(node, text, "compare it with something")

    def _null(self, node: Node) -> Type:
        if isinstance(node, Literal):
            advice = "compare with == null or != null"
            return self._add(node, "null stands where a value is needed", advice)
        text = f"{_root_text(node)} is null"
        return self._add(node, text, "match other requests, or ask for null first", weak=True)

    def _may_be_null(self, node: Node, type_: Type) -> None:
        if type_.nullable:
            name = _text(node)
            self._add(node, f"{name} may be null", f"ask {name} != null first", weak=True)


def wrong_result(type_: Type, wanted: Type) -> tuple[str, str] | None:
    """What is wrong with an expression of this type where another is wanted; None if nothing."""
    if fits(type_, wanted) and type_.kind is not Kind.NULL:
        return None
    if wanted is BOOL:
        return f"it gives {_a(type_)} where true or false is needed", "compare it with something"
    advice = "write string(…) around it" if type_.numeric else "make it text"
    return f"it gives {_a(type_)} where text is needed", advice


def _conversion(given: Type, wanted: tuple[Type, ...]) -> str:
    """What turns one type into another."""
    kinds = [one.kind for one in wanted]
    if given.kind is Kind.STRING and Kind.INT in kinds:
        return "convert the text by int(…)"
    if given.kind is Kind.STRING and Kind.DOUBLE in kinds:
        return "convert the text by double(…)"
    if given.numeric and Kind.STRING in kinds:
        return "convert the number by string(…), or the text by int(…)"
    if given.kind is Kind.BOOL and Kind.STRING in kinds:
        return "write (… ? 'true' : 'false')"
    return f"give {' or '.join(dict.fromkeys(_a(one) for one in wanted))}"


def nearest(name: str, known: Iterable[str], these: str) -> str:
    """The known name that was meant, or all of them, as advice."""
    names = sorted(known)
    folded = {one.casefold(): one for one in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[near[0]]}?" if near else f"{these} {', '.join(names)}"


def _a(type_: Type) -> str:
    text = str(type_)
    if type_.kind in (Kind.STRING, Kind.NULL):
        return text.replace("string", "text", 1)
    if type_.kind is Kind.ANY:
        return "anything"
    if type_.kind is Kind.RECORD:
        return text
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def _bare(type_: Type) -> str:
    return _a(type_) if type_.kind is Kind.STRING else str(type_)


def _root_text(node: Node) -> str:
    while isinstance(node, Select | Index | Call):
        below = node.target if isinstance(node, Call) else node.operand
        if below is None:
            break
        node = below
    return _text(node)


def _text(node: Node) -> str:
    text = " ".join(text_of(node).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
