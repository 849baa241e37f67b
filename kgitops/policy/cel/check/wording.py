"""How types and parts of expressions are called in sentences, and what is advised."""

import difflib
from collections.abc import Iterable

from kgitops.policy.cel.nodes import Call, Index, Node, Select, text_of
from kgitops.policy.cel.types import Kind, Type

_MAX_SHOWN = 60


def conversion(given: Type, wanted: tuple[Type, ...]) -> str:
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
    return f"give {' or '.join(dict.fromkeys(named(one) for one in wanted))}"


def nearest(name: str, known: Iterable[str], these: str) -> str:
    """The known name that was meant, or all of them, as advice."""
    names = sorted(known)
    folded = {one.casefold(): one for one in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[near[0]]}?" if near else f"{these} {', '.join(names)}"


def named(type_: Type) -> str:
    """The type as a sentence names it, such as text or a list(int)."""
    text = str(type_)
    if type_.kind in (Kind.STRING, Kind.NULL):
        return text.replace("string", "text", 1)
    if type_.kind is Kind.ANY:
        return "anything"
    if type_.kind is Kind.RECORD:
        return text
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def bare(type_: Type) -> str:
    """The type without its article."""
    return named(type_) if type_.kind is Kind.STRING else str(type_)


def shown(node: Node) -> str:
    """The expression on one line, cut where it is long."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def shown_root(node: Node) -> str:
    """What a chain of fields, keys and calls begins with."""
    while isinstance(node, Select | Index | Call):
        below = node.target if isinstance(node, Call) else node.operand
        if below is None:
            break
        node = below
    return shown(node)
