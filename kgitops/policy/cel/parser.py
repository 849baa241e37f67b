"""CEL's grammar: parses the text of an expression, within bounds."""

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
    Select,
    SyntaxNode,
    Unary,
    depth,
)
from kgitops.policy.cel.tokens import RESERVED, SyntaxProblem, Token, tokenize

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
