"""What expressions are evaluated on: one context a request, shared by its policies."""

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.engine import new_context
from kgitops.policy.cel.functions import bound_to
from kgitops.policy.cel.needs import Needs
from kgitops.policy.cel.variables import read
from kgitops.policy.evaluate.policy_input import Asked


class Contexts:
    """Makes a context when the first policy asks for one, with what all of them read.

    To make one costs far more than to evaluate an expression on it.
    """

    def __init__(self) -> None:
        self._needs = Needs()
        self._bound = bound_to(self._current_cluster)
        self._asked: Asked | None = None
        self._cluster: ClusterState | None = None
        self._context: object = None

    def add(self, needs: Needs) -> None:
        """Let every context to come also hold what these expressions need."""
        self._needs = self._needs.merged(needs)
        self._functions = {name: self._bound[name] for name in self._needs.functions}
        self._asked = None

    def of(self, asked: Asked, cluster: ClusterState) -> object:
        """The context for a request."""
        if asked is not self._asked or cluster is not self._cluster:
            self._asked, self._cluster = asked, cluster
            self._context = new_context(read(asked, cluster, self._needs.fields), self._functions)
        return self._context

    def _current_cluster(self) -> ClusterState:
        assert self._cluster is not None  # noqa: S101 (set before anything is evaluated)
        return self._cluster
