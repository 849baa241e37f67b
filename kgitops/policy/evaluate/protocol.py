"""The interfaces of a loaded policy and of a session that asks policies about requests in order."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.api.cluster_state import ClusterState as PolicyClusterState
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.evaluate.policy_input import PolicyInput
from kgitops.policy.evaluate.verdict import Judgement


class PolicyFailed(Exception):  # noqa: N818 (what happened, as PolicyViolation is)
    """A policy can't say whether the request is right, which denies it; the words say why."""


class Rule(Protocol):
    """``name`` and ``level`` are the policy's; what it raises is a crash of the policy."""

    @property
    def name(self) -> str:
        """The policy's name."""
        ...

    @property
    def level(self) -> Level:
        """How binding it is."""
        ...

    def judges(self, asked: PolicyInput) -> bool:
        """Whether the request is any of this policy's business; anything raised denies."""
        ...

    def check(self, asked: PolicyInput, cluster: PolicyClusterState) -> Sequence[RuleViolation]:
        """What is wrong with the request; nothing where it is accepted."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class PolicyEvaluator(Protocol):
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
