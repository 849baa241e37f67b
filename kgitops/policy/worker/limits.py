"""The limits on policies, their violations, and the count of these."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from kgitops.policy.evaluate.bundle import Policy
from kgitops.policy.worker.messages import Ban


class Limits(Struct, frozen=True, kw_only=True):
    """The resources that policies may take; a policy that takes more is stopped and denies.

    ``seconds`` are for one policy and one request, ``loading_seconds`` for loading one policy.
    ``memory`` is in bytes, above what the process holds before policies run; only Linux enforces
    it. A policy that broke a limit ``violations`` times is not asked any more. Closing all policies
    may take ``closing_seconds``; a process that doesn't answer for ``idle_seconds`` while no policy
    is at work has failed.
    """

    seconds: float = 10.0
    loading_seconds: float = 30.0
    closing_seconds: float = 5.0
    idle_seconds: float = 120.0
    memory: int = 1 << 30
    violations: int = 3


class LimitViolation(Exception):  # noqa: N818 (an event that is counted, not an error of ours)
    """The worker took too long or too much, or is gone.

    ``policy`` was at work, and ``what`` continues a sentence about it; or it is NO_POLICY, and the
    sentence is about the process. ``request`` is the number of the request.
    """

    def __init__(self, what: str, place: tuple[int, int]) -> None:
        super().__init__(what)
        self.what = what
        self.request, self.policy = place


class LimitViolations:
    """The violations of a whole run, over all its processes; ``banned`` has a ban by policy index.

    After too many violations a policy is banned.
    """

    def __init__(self, policies: Sequence[Policy], limits: Limits) -> None:
        self.banned: dict[int, Ban] = {}
        self._policies = policies
        self._limits = limits
        self._count: Counter[int] = Counter()

    def culprit(self, violation: LimitViolation) -> str:
        """The policy at work as sentences name it, or the process where no policy was at work."""
        if self.has_culprit(violation):
            return f"the policy {self._policies[violation.policy].name}"
        return "the process that runs the policies"

    def has_culprit(self, violation: LimitViolation) -> bool:
        """Return whether a policy was at work."""
        return 0 <= violation.policy < len(self._policies)

    def record(self, violation: LimitViolation, address: str) -> str:
        """Count the violation; the result is the sentence by which the policy denies the request.

        ``address`` is the object of that request.
        """
        self._count[violation.policy] += 1
        times = self._count[violation.policy]
        if times >= self._limits.violations:
            reason = f"it broke its limits {times} times in this run and is not asked any more"
            self.banned.setdefault(violation.policy, Ban(violation.request, reason))
        return (
            f"{self.culprit(violation)} {violation.what} while it judged {address}, so it denies; "
            "correct the policy"
        )

    @property
    def happened(self) -> bool:
        """True after the first violation."""
        return self._count.total() > 0

    @property
    def too_many(self) -> bool:
        """True for more violations than all policies together may have: it would never end."""
        return self._count.total() > self._limits.violations * len(self._policies)
