"""Finds the type of every part of an expression, and what can't be meant."""

from kgitops.policy.cel.check.calls import call_type
from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.literals import list_type, literal_type, map_type
from kgitops.policy.cel.check.loops import loop_type
from kgitops.policy.cel.check.names import name_type
from kgitops.policy.cel.check.operators import chain_type, conditional_type, unary_type
from kgitops.policy.cel.check.selection import index_type, select_type
from kgitops.policy.cel.check.wording import named
from kgitops.policy.cel.nodes import (
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
)
from kgitops.policy.cel.types import BOOL, Kind, Type, fits


class Checker(Checking):
    """Checks one expression for one kind of request."""

    def check(self, node: Node) -> Type:
        """The type of ``node``; ANY where it is not known."""
        found = self.types[node] = self._type(node)
        return found

    def _type(self, node: Node) -> Type:
        match node:
            case Literal():
                return literal_type(self, node)
            case Name():
                return name_type(self, node)
            case Select():
                return select_type(self, node)
            case Index():
                return index_type(self, node)
            case Call(loop_name=None):
                return call_type(self, node)
            case Call(loop_name=str() as name):
                return loop_type(self, node, name)
            case ListOf():
                return list_type(self, node)
            case MapOf():
                return map_type(self, node)
            case Unary():
                return unary_type(self, node)
            case Chain():
                return chain_type(self, node)
            case Conditional():
                return conditional_type(self, node)
            case _:
                raise TypeError(type(node).__name__)


def wrong_result(type_: Type, wanted: Type) -> tuple[str, str] | None:
    """What is wrong with an expression of this type where another is wanted; None if nothing."""
    if fits(type_, wanted) and type_.kind is not Kind.NULL:
        return None
    if wanted is BOOL:
        return f"it gives {named(type_)} where true or false is needed", "compare it with something"
    advice = "write string(…) around it" if type_.numeric else "make it text"
    return f"it gives {named(type_)} where text is needed", advice
