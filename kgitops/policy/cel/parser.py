"""CEL's grammar: the tokens of an expression's text, and their tree, within bounds."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    }
)


class SyntaxProblem(Exception):  # noqa: N818 (a finding is made of it, not an error of ours)
    """A text is not a CEL expression: the problem and the advice."""

    def __init__(self, problem: str, advice: str = "correct the expression") -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Token(Struct, frozen=True):
    """``kind``: name, null, bool, int, uint, double, string, bytes, operator or end."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The index after it."""
        return self.start + len(self.text)

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the expression"
        shown = self.text if len(self.text) <= _SHOWN else f"{self.text[: _SHOWN - 1]}…"
        return f"'{shown}' at character {self.start + 1}"


_SHOWN = 30
_QUOTED = (
    r"'''(?:[^\\]|\\[\s\S])*?'''",
    r'"""(?:[^\\]|\\[\s\S])*?"""',
    r"'(?:[^'\\\r\n]|\\.)*'",
    r'"(?:[^"\\\r\n]|\\.)*"',
)
_RAW = (r"'''[\s\S]*?'''", r'"""[\s\S]*?"""', r"'[^'\r\n]*'", r'"[^"\r\n]*"')
_STRING = f"(?:[rR](?:{'|'.join(_RAW)})|(?:{'|'.join(_QUOTED)}))"
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n\f]+|//[^\n]*)"
    rf"|(?P<bytes>[bB]{_STRING})"
    rf"|(?P<string>{_STRING})"
    r"|(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
    r"|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)"
    r"|(?P<operator>&&|\|\||==|!=|<=|>=|[-<>+*/%!?:.,()\[\]{}])"
)
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\?\"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|(.))",
    re.DOTALL,
)
_KEYWORDS = {"true": "bool", "false": "bool", "null": "null", "in": "operator"}
# Operators of other languages, and what to write in CEL.
_ADVICE = {
    "=": "write == to compare",
    "&": "write && for and",
    "|": "write || for or",
    "'": "close the quotes",
    '"': "close the quotes",
    "`": "write the name in brackets: configs['retention.ms']",
    "$": "write variables.NAME for a variable of the policy",
    "“": 'write straight quotes: "',
    "”": 'write straight quotes: "',
    "‘": "write straight quotes: '",  # noqa: RUF001
    "’": "write straight quotes: '",  # noqa: RUF001
}


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of ``text``, without space and comments; the last is of kind end.

    Raises:
        SyntaxProblem: a character that begins no token.
    """
    index = 0
    while index < len(text):
        match = _TOKEN.match(text, index)
        if match is None:
            character = text[index]
            raise SyntaxProblem(
                f"{character!r} at character {index + 1} has no meaning in CEL",
                _ADVICE.get(character, "correct the expression"),
            )
        kind = match.lastgroup or ""
        if kind == "name":
            kind = _KEYWORDS.get(match[0], kind)
        if kind in ("string", "bytes"):
            _check_escapes(match[0], index)
        if kind != "space":
            yield Token(kind, match[0], index)
        index = match.end()
    yield Token("end", "", index)


def _check_escapes(quoted: str, start: int) -> None:
    if "r" in quoted[:2].lower():
        return
    for escape in _ESCAPE.finditer(quoted):
        if escape[1] is not None:
            raise SyntaxProblem(
                f"'{escape[0]}' at character {start + escape.start() + 1} is not an escape of CEL",
                f"write r{quoted[:1]}…{quoted[:1]} for text in which a backslash is one",
            )


class SyntaxNode(Struct, frozen=True, eq=False):
    """A part of an expression; ``start`` and ``end`` are its place in the text."""

    start: int
    end: int


class Literal(SyntaxNode, frozen=True, eq=False):
    """A value as it is written; ``kind``: null, bool, int, uint, double, string or bytes."""

    kind: str
    text: str


class Name(SyntaxNode, frozen=True, eq=False):
    """A variable, or a loop's own name."""

    name: str


class Select(SyntaxNode, frozen=True, eq=False):
    """``operand.field``."""

    operand: SyntaxNode
    field: str


class Index(SyntaxNode, frozen=True, eq=False):
    """``operand[index]``."""

    operand: SyntaxNode
    index: SyntaxNode


class Call(SyntaxNode, frozen=True, eq=False):
    """``function(arguments)``, or ``target.function(arguments)``; also has() and the loops."""

    target: SyntaxNode | None
    function: str
    arguments: tuple[SyntaxNode, ...]

    @property
    def loop_name(self) -> str | None:
        """The name that a loop gives to each item; None for any other call."""
        if self.target is None or self.function not in LOOPS or len(self.arguments) < 2:
            return None
        first = self.arguments[0]
        return first.name if isinstance(first, Name) else None


class ListOf(SyntaxNode, frozen=True, eq=False):
    """``[a, b]``."""

    items: tuple[SyntaxNode, ...]


class MapOf(SyntaxNode, frozen=True, eq=False):
    """``{a: b}``; keys and values."""

    entries: tuple[tuple[SyntaxNode, SyntaxNode], ...]


class Unary(SyntaxNode, frozen=True, eq=False):
    """``!a`` or ``-a``."""

    operator: str
    operand: SyntaxNode


class Chain(SyntaxNode, frozen=True, eq=False):
    """``a + b - c``: operators of one rank, from left to right."""

    operands: tuple[SyntaxNode, ...]
    operators: tuple[str, ...]


class Conditional(SyntaxNode, frozen=True, eq=False):
    """``condition ? yes : no``."""

    condition: SyntaxNode
    yes: SyntaxNode
    no: SyntaxNode


LOOPS = frozenset({"all", "exists", "exists_one", "map", "filter"})


def children(node: SyntaxNode) -> tuple[SyntaxNode, ...]:
    """The parts of the node; the name of a loop's item is left out."""
    match node:
        case Select(operand=operand) | Unary(operand=operand):
            return (operand,)
        case Index(operand=operand, index=index):
            return operand, index
        case Call(target=target, arguments=arguments):
            own = arguments[1:] if node.loop_name is not None else arguments
            return own if target is None else (target, *own)
        case ListOf(items=items):
            return items
        case MapOf(entries=entries):
            return tuple(part for entry in entries for part in entry)
        case Chain(operands=operands):
            return operands
        case Conditional(condition=condition, yes=yes, no=no):
            return condition, yes, no
        case _:
            return ()


def walk(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def depth(node: SyntaxNode) -> int:
    """The depth of the tree, counted without recursion, for trees that are far too deep."""
    deepest = 0
    below = [(node, 1)]
    while below:
        current, level = below.pop()
        deepest = max(deepest, level)
        below += [(child, level + 1) for child in children(current)]
    return deepest


def replaced(
    node: SyntaxNode, change: Callable[[SyntaxNode, SyntaxNode], SyntaxNode]
) -> SyntaxNode:
    """Rebuild the tree from its leaves up.

    ``change`` gets each node before, and with its rebuilt parts; it returns the node to use.
    """

    def below(child: SyntaxNode) -> SyntaxNode:
        return replaced(child, change)

    made = node
    match node:
        case Select(operand=operand) | Unary(operand=operand):
            made = replace(node, operand=below(operand))
        case Index(operand=operand, index=index):
            made = replace(node, operand=below(operand), index=below(index))
        case Call(target=target, arguments=arguments):
            own = arguments[:1] if node.loop_name is not None else ()
            rest = tuple(map(below, arguments[len(own) :]))
            made = replace(node, target=target and below(target), arguments=(*own, *rest))
        case ListOf(items=items):
            made = replace(node, items=tuple(map(below, items)))
        case MapOf(entries=entries):
            made = replace(node, entries=tuple((below(key), below(item)) for key, item in entries))
        case Chain(operands=operands):
            made = replace(node, operands=tuple(map(below, operands)))
        case Conditional(condition=condition, yes=yes, no=no):
            made = replace(node, condition=below(condition), yes=below(yes), no=below(no))
        case _:
            pass
    return change(node, made)


def text_of(node: SyntaxNode) -> str:
    """The expression as text: it means the same, without comments."""
    match node:
        case Literal(text=text):
            return text
        case Name(name=name):
            return name
        case Select(operand=operand, field=field):
            return f"{_operand(operand)}.{field}"
        case Index(operand=operand, index=index):
            return f"{_operand(operand)}[{text_of(index)}]"
        case Call(target=target, function=function, arguments=arguments):
            receiver = f"{_operand(target)}." if target is not None else ""
            return f"{receiver}{function}({', '.join(map(text_of, arguments))})"
        case ListOf(items=items):
            return f"[{', '.join(map(text_of, items))}]"
        case MapOf(entries=entries):
            return f"{{{', '.join(f'{text_of(key)}: {text_of(item)}' for key, item in entries)}}}"
        case Unary(operator=operator, operand=operand):
            return operator + _operand(operand)
        case Chain(operands=operands, operators=operators):
            rest = (
                f" {operator} {_operand(operand)}"
                for operator, operand in zip(operators, operands[1:], strict=True)
            )
            return _operand(operands[0]) + "".join(rest)
        case Conditional(condition=condition, yes=yes, no=no):
            return f"{_operand(condition)} ? {_operand(yes)} : {_operand(no)}"
        case _:
            raise TypeError(type(node).__name__)


def _operand(node: SyntaxNode) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, Chain | Conditional | Unary) else text


MAX_LENGTH = 4_096
MAX_DEPTH = 50

_RANKS: tuple[frozenset[str], ...] = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!=", "<", "<=", ">", ">=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_LITERALS = frozenset({"null", "bool", "int", "uint", "double", "string", "bytes"})
_OTHER_LANGUAGES = {"and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}


def parse(text: str) -> SyntaxNode:
    """Parse an expression.

    Raises:
        SyntaxProblem: it is not CEL, too long, or nested too deeply.
    """
    if len(text) > MAX_LENGTH:
        raise SyntaxProblem(
            f"the expression is {len(text)} characters long, more than {MAX_LENGTH}",
            "split it into several validations or variables",
        )
    node = _Parser(text).whole()
    if depth(node) > MAX_DEPTH:
        raise too_deep()
    return node


def too_deep() -> SyntaxProblem:
    """The problem of a tree that is too deep."""
    return SyntaxProblem(
        f"the expression is nested more than {MAX_DEPTH} deep",
        "split it into several validations",
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(tokenize(text))
        self._next = 0
        self._depth = 0

    def whole(self) -> SyntaxNode:
        if self._token.kind == "end":
            raise SyntaxProblem("the expression is empty", "write what must be true")
        node = self._expression()
        if self._token.kind != "end":
            raise self._unexpected("an operator")
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _is(self, *operators: str) -> bool:
        return self._token.kind == "operator" and self._token.text in operators

    def _skip(self, operator: str) -> bool:
        if self._is(operator):
            self._next += 1
            return True
        return False

    def _expect(self, operator: str) -> int:
        if not self._is(operator):
            raise self._unexpected(f"'{operator}'")
        return self._take().end

    def _unexpected(self, expected: str) -> SyntaxProblem:
        token = self._token
        if token.kind == "name" and token.text in _OTHER_LANGUAGES:
            return SyntaxProblem(f"CEL has no {token}", f"write {_OTHER_LANGUAGES[token.text]}")
        return SyntaxProblem(f"{expected} is expected, not {token}")

    def _expression(self) -> SyntaxNode:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise too_deep()
        node = self._chain(0)
        if self._skip("?"):
            yes = self._chain(0)
            self._expect(":")
            no = self._expression()
            node = Conditional(node.start, no.end, node, yes, no)
        self._depth -= 1
        return node

    def _chain(self, rank: int) -> SyntaxNode:
        if rank == len(_RANKS):
            return self._unary()
        operands, operators = [self._chain(rank + 1)], []
        while self._token.kind == "operator" and self._token.text in _RANKS[rank]:
            operators.append(self._take().text)
            operands.append(self._chain(rank + 1))
        if not operators:
            return operands[0]
        return Chain(operands[0].start, operands[-1].end, tuple(operands), tuple(operators))

    def _unary(self) -> SyntaxNode:
        signs = []
        while self._is("!", "-"):
            signs.append(self._take())
        node = self._member()
        for sign in reversed(signs):
            node = Unary(sign.start, node.end, sign.text, node)
        return node

    def _member(self) -> SyntaxNode:
        node = self._primary()
        while self._is(".", "["):
            node = self._field(node) if self._skip(".") else self._index(node)
        return node

    def _field(self, node: SyntaxNode) -> SyntaxNode:
        if self._token.kind != "name":
            raise self._unexpected("a name")
        name = self._take()
        if self._is("("):
            arguments, end = self._arguments()
            return _call(Call(node.start, end, node, name.text, arguments))
        return Select(node.start, name.end, node, name.text)

    def _index(self, node: SyntaxNode) -> SyntaxNode:
        self._expect("[")
        index = self._expression()
        return Index(node.start, self._expect("]"), node, index)

    def _arguments(self) -> tuple[tuple[SyntaxNode, ...], int]:
        self._expect("(")
        arguments: list[SyntaxNode] = []
        while not self._is(")"):
            arguments.append(self._expression())
            if not self._skip(","):
                break
        return tuple(arguments), self._expect(")")

    def _primary(self) -> SyntaxNode:
        token = self._token
        if token.kind in _LITERALS:
            self._take()
            return Literal(token.start, token.end, token.kind, token.text)
        if token.kind == "name":
            return self._name()
        if self._skip("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._is("["):
            return self._list()
        if self._is("{"):
            return self._map()
        raise self._unexpected("a value")

    def _name(self) -> SyntaxNode:
        token = self._token
        if token.text in _OTHER_LANGUAGES:
            raise self._unexpected("a value")
        if token.text in RESERVED:
            raise SyntaxProblem(f"{token} is a reserved word of CEL", "use another name")
        self._take()
        if self._is("("):
            arguments, end = self._arguments()
            return _call(Call(token.start, end, None, token.text, arguments))
        return Name(token.start, token.end, token.text)

    def _list(self) -> SyntaxNode:
        start = self._take().start
        items: list[SyntaxNode] = []
        while not self._is("]"):
            items.append(self._expression())
            if not self._skip(","):
                break
        return ListOf(start, self._expect("]"), tuple(items))

    def _map(self) -> SyntaxNode:
        start = self._take().start
        entries: list[tuple[SyntaxNode, SyntaxNode]] = []
        while not self._is("}"):
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
            if not self._skip(","):
                break
        return MapOf(start, self._expect("}"), tuple(entries))


def _call(call: Call) -> Call:
    """Check the form of a call: loops and has() take what no function takes."""
    if call.function == "has" and call.target is None:
        if len(call.arguments) != 1 or not isinstance(call.arguments[0], Select):
            raise SyntaxProblem(
                "has() asks for a field, as in has(requested.configs)",
                "write 'KEY' in MAP to ask for a key",
            )
    elif call.target is not None and call.function in LOOPS:
        most = 3 if call.function == "map" else 2
        if not 2 <= len(call.arguments) <= most or call.loop_name is None:
            raise SyntaxProblem(
                f"{call.function}() takes a name and what is asked of each item",
                f"write LIST.{call.function}(item, …)",
            )
    return call
