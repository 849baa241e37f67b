"""The fields and functions that expressions read, and the contexts that hold them."""

from collections.abc import Mapping

from msgspec import Struct, field

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.engine import new_context
from kgitops.policy.cel.functions import PROVIDED, implementations
from kgitops.policy.cel.nodes import Call, Chain, Literal, Name, Select, SyntaxNode, children, walk
from kgitops.policy.cel.records.variables import ROOTS, FieldSelection, read_variables
from kgitops.policy.evaluate.policy_input import PolicyInput


class References(Struct, frozen=True):
    """The fields of variables that expressions read, and our functions that they call.

    Only these are converted for the library, which is the costly part.
    """

    fields: FieldSelection = field(default_factory=dict)
    functions: frozenset[str] = frozenset()

    def merged(self, other: "References") -> "References":
        """The references of either."""
        fields = dict(self.fields)
        for name, more in other.fields.items():
            held = fields.get(name, frozenset())
            fields[name] = None if held is None or more is None else held | more
        return References(fields, self.functions | other.functions)


def references_of(node: SyntaxNode) -> References:
    """Find everything that the expression refers to."""
    references = References()
    for child in children(node):
        if not _is_root_of(node, child):
            references = references.merged(references_of(child))
    return references.merged(References(_own_fields(node), _own_functions(node)))


def reads_object(root: SyntaxNode) -> bool:
    """Return whether an expression depends on the kind of request, or on what is null there."""
    return any(
        (isinstance(node, Name) and node.name in ("requested", "current", "change"))
        or (isinstance(node, Select) and node.field == "api")
        for node in walk(root)
    )


def _is_root_of(node: SyntaxNode, child: SyntaxNode) -> bool:
    """True if ``child`` is a variable of which only a field is read, or that is tested for null."""
    if not isinstance(child, Name) or child.name not in ROOTS:
        return False
    return isinstance(node, Select) or _tests_for_null(node)


def _tests_for_null(node: SyntaxNode) -> bool:
    return (
        isinstance(node, Chain)
        and node.operators in (("==",), ("!=",))
        and any(isinstance(side, Literal) and side.kind == "null" for side in node.operands)
    )


def _own_fields(node: SyntaxNode) -> Mapping[str, frozenset[str] | None]:
    match node:
        case Name(name=name) if name in ROOTS:
            return {name: None}
        case Select(operand=Name(name=name), field=field_) if name in ROOTS:
            return {name: frozenset({field_})}
        case Chain(operands=operands) if _tests_for_null(node):
            names = [side.name for side in operands if isinstance(side, Name)]
            return {name: frozenset() for name in names if name in ROOTS}
        case _:
            return {}


def _own_functions(node: SyntaxNode) -> frozenset[str]:
    called = isinstance(node, Call) and node.function in PROVIDED
    return frozenset({node.function}) if isinstance(node, Call) and called else frozenset()


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
                read_variables(policy_input, cluster, self._references.fields), self._functions
            )
        return self._context

    def release(self) -> None:
        """Let go of the cluster: the engine's context holds it, and Python sees no such cycle."""
        self._policy_input = self._cluster = self._context = None

    def _current_cluster(self) -> ClusterState:
        assert self._cluster is not None  # noqa: S101 (set before anything is evaluated)
        return self._cluster
