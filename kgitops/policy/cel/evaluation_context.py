"""The fields and functions that expressions read, and the contexts that hold them."""

from typing import TypeGuard

from msgspec import Struct, field

from kgitops.policy.api.interfaces import ClusterState
from kgitops.policy.cel.engine import new_context
from kgitops.policy.cel.functions import PROVIDED, implementations
from kgitops.policy.cel.parser import (
    Call,
    Chain,
    Index,
    Literal,
    Name,
    Select,
    SyntaxNode,
    children,
    walk,
)
from kgitops.policy.cel.variables import ROOTS, Selection, read_variables
from kgitops.policy.evaluate.policy_input import PolicyInput


class References(Struct, frozen=True):
    """The parts of variables that expressions read, and our functions that they call.

    Only these are converted for the library, which is the costly part: a topic has 37
    ``effectiveConfigs``, and a policy names one.
    """

    parts: Selection = field(default_factory=dict)
    functions: frozenset[str] = frozenset()

    def merged(self, other: "References") -> "References":
        """The references of either."""
        return References(_merged(self.parts, other.parts), self.functions | other.functions)


def _merged(one: Selection, other: Selection) -> Selection:
    if one is None or other is None:
        return None
    both = {name: _merged(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **both}


def references_of(node: SyntaxNode) -> References:
    """Find everything that the expression refers to."""
    path = _path(node)
    if path is not None:
        return _part(path)
    if _is_search(node):
        sought, place = node.operands
        path, key = _path(place), _key(sought)
        if path is not None and key is not None:
            return _part((*path, key))
    references = References()
    for child in children(node):
        if _tests_for_null(node) and isinstance(child, Name) and child.name in ROOTS:
            references = references.merged(References({child.name: {}}))
        else:
            references = references.merged(references_of(child))
    if isinstance(node, Call) and node.function in PROVIDED:
        references = references.merged(References(functions=frozenset({node.function})))
    return references


def reads_object(root: SyntaxNode) -> bool:
    """Return whether an expression depends on the kind of request, or on what is null there."""
    return any(
        (isinstance(node, Name) and node.name in ("requested", "current", "change"))
        or (isinstance(node, Select) and node.field == "api")
        for node in walk(root)
    )


_DEPTH = 3
"""A variable, its field, and a key of that: nothing below is left out."""


def _part(path: tuple[str, ...]) -> References:
    selection: Selection = None
    for name in reversed(path[:_DEPTH]):
        selection = {name: selection}
    return References(selection)


def _path(node: SyntaxNode) -> tuple[str, ...] | None:
    """The way from a variable to the part of it that the expression is; None if it is another."""
    key: str | None
    match node:
        case Name(name=name) if name in ROOTS:
            return (name,)
        case Select(operand=operand, field=name):
            path, key = _path(operand), name
        case Index(operand=operand, index=index):
            path, key = _path(operand), _key(index)
        case _:
            return None
    return None if path is None or key is None else (*path, key)


def _key(node: SyntaxNode) -> str | None:
    """The text of a literal that is written without escapes; None for anything else."""
    if not isinstance(node, Literal) or node.kind != "string":
        return None
    quote, text = node.text[:1], node.text[1:-1]
    plain = quote in "\"'" and not {quote, "\\"} & {*text}
    return text if plain else None


def _is_search(node: SyntaxNode) -> TypeGuard[Chain]:
    return isinstance(node, Chain) and node.operators == ("in",)


def _tests_for_null(node: SyntaxNode) -> bool:
    return (
        isinstance(node, Chain)
        and node.operators in (("==",), ("!=",))
        and any(isinstance(side, Literal) and side.kind == "null" for side in node.operands)
    )


class EvaluationContexts:
    """Makes one context for each request, which all policies share, when the first asks for it.

    A context costs far more than an evaluation of an expression in it.
    """

    def __init__(self) -> None:
        self._references = References()
        self._bound = implementations(self._current_cluster)
        self._policy_input: PolicyInput | None = None
        self._cluster: ClusterState | None = None
        self._context: object = None

    def add(self, references: References) -> None:
        """Add the references of more expressions to every context from now on."""
        self._references = self._references.merged(references)
        self._functions = {name: self._bound[name] for name in self._references.functions}
        self._policy_input = None

    def of(self, policy_input: PolicyInput, cluster: ClusterState) -> object:
        """The context for a request."""
        if policy_input is not self._policy_input or cluster is not self._cluster:
            self._policy_input, self._cluster = policy_input, cluster
            self._context = new_context(
                read_variables(policy_input, cluster, self._references.parts), self._functions
            )
        return self._context

    def release(self) -> None:
        """Let go of the cluster: the engine's context holds it, and Python sees no such cycle."""
        self._policy_input = self._cluster = self._context = None

    def _current_cluster(self) -> ClusterState:
        assert self._cluster is not None  # noqa: S101 (set before anything is evaluated)
        return self._cluster
