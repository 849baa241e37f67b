"""Results of policies as parts of a plan."""

from msgspec import Struct

from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import Level, Outcome


class LoadedPolicy(Struct, frozen=True, kw_only=True):
    """A policy that judged the plan, at the level it has on the plan's cluster.

    ``digest`` covers the rule itself; the other fields describe it in reports.
    """

    name: str
    level: Level
    digest: str
    description: str = ""
    remediation: str = ""
    source: Source | None = None


class WaiverUse(Struct, frozen=True, kw_only=True):
    """The waiver that lifted a denial; ``expires`` is its last UTC day, as ``2026-12-31``."""

    name: str
    owner: str
    reason: str
    ticket: str
    expires: str


class PolicyResult(Struct, frozen=True, kw_only=True):
    """A policy's result for a change: one row if it passed, else one for each violation.

    ``request`` is the id of the judged request, ``field`` the part of the object that is wrong and
    ``source`` its place in the manifests; all three are None if the policy passed.
    """

    policy: str
    level: Level
    outcome: Outcome
    message: str = ""
    request: str | None = None
    field: str | None = None
    source: Source | None = None
    fingerprint: str | None = None
    waiver: WaiverUse | None = None

    @property
    def stops(self) -> bool:
        """True if this result forbids applying the plan."""
        return self.outcome is Outcome.DENIED and self.level.denies


def denial_sentence(
    address: str, place: Source | None, result: PolicyResult, remediation: str = ""
) -> str:
    """Write a denial on one line: the place, the policy, the problem and the next step."""
    why = " ".join(result.message.split())
    denies = f"the {result.level} policy {result.policy} denies {address}"
    if result.fingerprint is None:  # the policy failed, and its message explains it
        sentence = why or f"{denies}; correct the policy"
    else:
        sentence = _joined(f"{denies}: {why}" if why else denies, _next_step(result, remediation))
    return f"{place}: {sentence}" if place else sentence


def _joined(problem: str, advice: str) -> str:
    """Join into one sentence, or two if the policy's message ends with a full stop."""
    if problem.endswith("."):
        return f"{problem} {advice[:1].upper()}{advice[1:]}"
    shouts = advice[1:2].isupper()
    return f"{problem}; {advice if shouts else advice[:1].lower() + advice[1:]}"


def _next_step(result: PolicyResult, remediation: str) -> str:
    step = " ".join(remediation.split()).rstrip(".") or "change the document"
    if result.level is Level.SOFT:
        return f"{step}, or waive it: `kgitops policy explain {result.policy}` shows how"
    return step if remediation else f"{step}, or see `kgitops policy explain {result.policy}`"
