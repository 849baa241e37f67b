"""The syntax tree of a CEL expression, and its text."""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace


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
