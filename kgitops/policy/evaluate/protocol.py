"""The one thing that whoever judges requests needs: a session that is asked about them in order."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.evaluate.judgement import Judgement


class Judging(Protocol):
    """Judges requests; in this process (``judge.Judge``) or in a bounded one (``worker``).

    A session begins with a state. Requests are judged on what that state and the requests
    accepted since make of the cluster (P201-35, P201-41).
    """

    @property
    def sound(self) -> bool:
        """Whether the next state will be judged as if this session had just been opened."""
        ...

    def begin(self, state: ClusterState, *, principal: str) -> None:
        """Judge from now on for ``principal``, on ``state``."""
        ...

    def judge(
        self, request: Request, *, broker_configs: Mapping[str, str] | None = None
    ) -> Judgement:
        """What the policies say of ``request``; nothing is remembered of it.

        ``broker_configs`` are those of the node that evaluates (P201-40), where it is known; of
        the broker itself where its configs are altered.
        """
        ...

    def accept(self, request: Request) -> None:
        """``request`` is going to be carried out: what comes after it sees its result."""
        ...

    def judge_all(self, requests: Sequence[Request]) -> Sequence[Judgement]:
        """Judge one after another, and accept each that nothing stops (P201-41)."""
        ...

    def close(self) -> None:
        """Close the policies, once; later calls do nothing (P201-45)."""
        ...
