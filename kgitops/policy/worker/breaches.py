"""Who broke which limit how often, and what is said of it."""

from collections import Counter
from collections.abc import Sequence

from kgitops.policy.evaluate.rules import Policy
from kgitops.policy.worker.limits import Limits
from kgitops.policy.worker.messages import Ban
from kgitops.policy.worker.process import Breach


class Breaches:
    """Counts over a whole run, whatever process it was; ``banned`` holds bans by policy's index."""

    def __init__(self, policies: Sequence[Policy], limits: Limits) -> None:
        self.banned: dict[int, Ban] = {}
        self._policies = policies
        self._limits = limits
        self._count: Counter[int] = Counter()

    def who(self, breach: Breach) -> str:
        """The policy at work, or the process where none was."""
        if self.has_culprit(breach):
            return f"the policy {self._policies[breach.policy].name}"
        return "the process that runs the policies"

    def has_culprit(self, breach: Breach) -> bool:
        """Whether a policy was at work."""
        return 0 <= breach.policy < len(self._policies)

    def blame(self, breach: Breach, address: str) -> str:
        """Why the policy at work denies that request; after too many breaches it is banned."""
        self._count[breach.policy] += 1
        times = self._count[breach.policy]
        if times >= self._limits.breaches:
            why = f"it broke its limits {times} times in this run and is not asked any more"
            self.banned.setdefault(breach.policy, Ban(breach.request, why))
        return (
            f"{self.who(breach)} {breach.what} while it judged {address}, so it denies; correct "
            "the policy"
        )

    @property
    def happened(self) -> bool:
        """Whether there was any."""
        return self._count.total() > 0

    @property
    def are_hopeless(self) -> bool:
        """Whether there were more than all policies together may have: it never ends."""
        return self._count.total() > self._limits.breaches * len(self._policies)
