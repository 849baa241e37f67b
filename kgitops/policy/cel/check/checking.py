"""What the checks of all kinds of node share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from kgitops.policy.cel.check.problems import Problem
from kgitops.policy.cel.check.wording import named, shown, shown_root
from kgitops.policy.cel.nodes import Literal, Node
from kgitops.policy.cel.types import ANY, Type, fits


class Checking(ABC):
    """The check of one expression; ``problems`` and ``types`` collect.

    ``scope`` is what each name means at the moment. ``following`` is from a field to what follows
    it: the key of a config is often written as if it were fields.
    """

    def __init__(self, roots: Mapping[str, Type]) -> None:
        self.problems: list[Problem] = []
        self.types: dict[Node, Type] = {}
        self.scope: dict[str, Type] = dict(roots)
        self.following: dict[Node, str] = {}

    @abstractmethod
    def check(self, node: Node) -> Type:
        """The type of ``node``; ANY where it is not known."""

    def add(self, node: Node, text: str, advice: str, *, weak: bool = False) -> Type:
        """Add a problem; nothing is known of its node then."""
        self.problems.append(Problem(node, text, advice, weak))
        return ANY

    def want(self, node: Node, wanted: Type, what: str) -> None:
        """Check a node that must be of a type; ``what`` names its place."""
        type_ = self.check(node)
        if not fits(type_, wanted):
            text = f"{what} must be true or false, and {shown(node)} is {named(type_)}"
            self.add(node, text, "compare it with something")

    def null(self, node: Node) -> Type:
        """Add that null stands where it can't."""
        if isinstance(node, Literal):
            advice = "compare with == null or != null"
            return self.add(node, "null stands where a value is needed", advice)
        text = f"{shown_root(node)} is null"
        return self.add(node, text, "match other requests, or ask for null first", weak=True)

    def may_be_null(self, node: Node, type_: Type) -> None:
        """Add that the node may be null, where it may."""
        if type_.nullable:
            name = shown(node)
            self.add(node, f"{name} may be null", f"ask {name} != null first", weak=True)
