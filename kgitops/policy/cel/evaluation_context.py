"""The fields and functions that expressions read, and the contexts that hold them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.engine import new_context
from kgitops.policy.cel.functions import PROVIDED, implementations
from kgitops.policy.cel.nodes import Call, Chain, Literal, Name, Select, SyntaxNode, children, walk
from kgitops.policy.cel.records.variables import ROOTS, FieldSelection, read_variables
from kgitops.policy.evaluate.policy_input import PolicyInput


@dataclass(frozen=True)
class References:
    """Variables with the fields of them that are read, and functions of ours that are called."""

    fields: FieldSelection = field(default_factory=dict)
    functions: frozenset[str] = frozenset()

    def merged(self, other: "References") -> "References":
        """What either needs."""
        fields = dict(self.fields)
        for name, more in other.fields.items():
            held = fields.get(name, frozenset())
            fields[name] = None if held is None or more is None else held | more
        return References(fields, self.functions | other.functions)


def references_of(node: SyntaxNode) -> References:
    """What the expression needs."""
    needs = References()
    for child in children(node):
        if not _is_whole(node, child):
            needs = needs.merged(references_of(child))
    return needs.merged(References(_own_fields(node), _own_functions(node)))


def reads_object(root: SyntaxNode) -> bool:
    """Whether an expression depends on which kind of request it is, or what is null there."""
    return any(
        (isinstance(node, Name) and node.name in ("requested", "current", "change"))
        or (isinstance(node, Select) and node.field == "api")
        for node in walk(root)
    )


def _is_whole(node: SyntaxNode, child: SyntaxNode) -> bool:
    """Whether a variable is there only for one of its fields, or to be asked for null."""
    if not isinstance(child, Name) or child.name not in ROOTS:
        return False
    return isinstance(node, Select) or _asks_for_null(node)


def _asks_for_null(node: SyntaxNode) -> bool:
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
        case Chain(operands=operands) if _asks_for_null(node):
            names = [side.name for side in operands if isinstance(side, Name)]
            return {name: frozenset() for name in names if name in ROOTS}
        case _:
            return {}


def _own_functions(node: SyntaxNode) -> frozenset[str]:
    called = isinstance(node, Call) and node.function in PROVIDED
    return frozenset({node.function}) if isinstance(node, Call) and called else frozenset()


class EvaluationContexts:
    """Makes a context when the first policy asks for one, with what all of them read.

    To make one costs far more than to evaluate an expression on it.
    """

    def __init__(self) -> None:
        self._needs = References()
        self._bound = implementations(self._current_cluster)
        self._asked: PolicyInput | None = None
        self._cluster: ClusterState | None = None
        self._context: object = None

    def add(self, needs: References) -> None:
        """Let every context to come also hold what these expressions need."""
        self._needs = self._needs.merged(needs)
        self._functions = {name: self._bound[name] for name in self._needs.functions}
        self._asked = None

    def of(self, asked: PolicyInput, cluster: ClusterState) -> object:
        """The context for a request."""
        if asked is not self._asked or cluster is not self._cluster:
            self._asked, self._cluster = asked, cluster
            self._context = new_context(
                read_variables(asked, cluster, self._needs.fields), self._functions
            )
        return self._context

    def _current_cluster(self) -> ClusterState:
        assert self._cluster is not None  # noqa: S101 (set before anything is evaluated)
        return self._cluster
