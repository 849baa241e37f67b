"""What an expression reads: only that is converted for the library, which is the costly part."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.policy.cel.functions import GIVEN
from kgitops.policy.cel.nodes import Call, Chain, Literal, Name, Node, Select, children, walk
from kgitops.policy.cel.variables import ROOTS, Wanted


@dataclass(frozen=True)
class Needs:
    """Variables with the fields of them that are read, and functions of ours that are called."""

    fields: Wanted = field(default_factory=dict)
    functions: frozenset[str] = frozenset()

    def merged(self, other: "Needs") -> "Needs":
        """What either needs."""
        fields = dict(self.fields)
        for name, more in other.fields.items():
            held = fields.get(name, frozenset())
            fields[name] = None if held is None or more is None else held | more
        return Needs(fields, self.functions | other.functions)


def needs_of(node: Node) -> Needs:
    """What the expression needs."""
    needs = Needs()
    for child in children(node):
        if not _is_whole(node, child):
            needs = needs.merged(needs_of(child))
    return needs.merged(Needs(_own_fields(node), _own_functions(node)))


def reads_object(root: Node) -> bool:
    """Whether an expression depends on which kind of request it is, or what is null there."""
    return any(
        (isinstance(node, Name) and node.name in ("requested", "current", "change"))
        or (isinstance(node, Select) and node.field == "api")
        for node in walk(root)
    )


def _is_whole(node: Node, child: Node) -> bool:
    """Whether a variable is there only for one of its fields, or to be asked for null."""
    if not isinstance(child, Name) or child.name not in ROOTS:
        return False
    return isinstance(node, Select) or _asks_for_null(node)


def _asks_for_null(node: Node) -> bool:
    return (
        isinstance(node, Chain)
        and node.operators in (("==",), ("!=",))
        and any(isinstance(side, Literal) and side.kind == "null" for side in node.operands)
    )


def _own_fields(node: Node) -> Mapping[str, frozenset[str] | None]:
    match node:
        case Name(name=name) if name in ROOTS:
            return {name: None}
        case Select(operand=Name(name=name), field=field_) if name in ROOTS:
            return {name: frozenset({field_})}
        case Chain(operands=operands) if _asks_for_null(node):
            names = [side.name for side in operands if isinstance(side, Name)]
            return {name: frozenset() for name in names if name in ROOTS}
        case _:
            return {}


def _own_functions(node: Node) -> frozenset[str]:
    called = isinstance(node, Call) and node.function in GIVEN
    return frozenset({node.function}) if isinstance(node, Call) and called else frozenset()
