"""A policy that is loaded and ready to judge, whichever form it was written in."""

from collections.abc import Sequence
from typing import Protocol

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.violation import Violation
from kgitops.policy.evaluate.policy_input import Asked
from kgitops.policy.evaluate.rules import Level


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

    def judges(self, asked: Asked) -> bool:
        """Whether the request is any of this policy's business; anything raised denies."""
        ...

    def check(self, asked: Asked, cluster: ClusterState) -> Sequence[Violation]:
        """What is wrong with the request; nothing where it is accepted."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...
