"""The interfaces of a loaded policy, and of the evaluator that asks policies about requests."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.api.interfaces import ClusterState as PolicyClusterState
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.evaluate.bundle import Level, RequestRulings
from kgitops.policy.evaluate.policy_input import PolicyInput


class PolicyFailed(Exception):  # noqa: N818 (an event, as PolicyViolation is)
    """A policy can't tell if the request is right, which denies it; the message says why."""


class Rule(Protocol):
    """A policy in CEL or Python that is loaded and ready to judge.

    ``name`` and ``level`` are the policy's. Any exception is a crash of the policy, and denies.
    """

    @property
    def name(self) -> str:
        """The policy's name."""
        ...

    @property
    def level(self) -> Level:
        """The policy's level on the cluster."""
        ...

    def judges(self, policy_input: PolicyInput) -> bool:
        """Return whether the policy is for such requests at all."""
        ...

    def check(
        self, policy_input: PolicyInput, cluster: PolicyClusterState
    ) -> Sequence[RuleViolation]:
        """Find the violations of the request; none if it is accepted."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class PolicyEvaluator(Protocol):
    """Judges requests by policies, in this process (``judge``) or in a bounded one (``worker``).

    A session begins with a state. Requests are judged on what that state and the requests
    accepted since make of the cluster (P201-35, P201-41).
    """

    @property
    def sound(self) -> bool:
        """True if the next state will be judged as if the evaluator had just been opened."""
        ...

    def begin(self, state: ClusterState, *, principal: str) -> None:
        """Judge from now on for ``principal``, on ``state``."""
        ...

    def judge(
        self, request: Request, *, broker_configs: Mapping[str, str] | None = None
    ) -> RequestRulings:
        """Judge the request; later requests are judged as if it had not been asked about.

        ``broker_configs`` are those of the node that evaluates (P201-40), where it is known; of
        the broker itself where its configs are altered.
        """
        ...

    def accept(self, request: Request) -> None:
        """Count the request as carried out: later requests are judged on its result."""
        ...

    def judge_all(self, requests: Sequence[Request]) -> Sequence[RequestRulings]:
        """Judge one after another, and accept each that nothing stops (P201-41)."""
        ...

    def close(self) -> None:
        """Close the policies, once; later calls do nothing (P201-45)."""
        ...
