"""What policies say of a plan, as parts of it."""

from dataclasses import dataclass

from kgitops.model.source import Source
from kgitops.policy.evaluate.rules import Level
from kgitops.policy.evaluate.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPolicy:
    """A policy that judged the plan, at the level it has on the plan's cluster.

    ``digest`` covers what it decides; the rest is what reports tell about it.
    """

    name: str
    level: Level
    digest: str
    description: str = ""
    remediation: str = ""
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverUse:
    """The waiver that lifted a denial; ``expires`` is its last UTC day, as ``2026-12-31``."""

    name: str
    owner: str
    reason: str
    ticket: str
    expires: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResult:
    """What a policy says of a change: one row where it passed, one for each violation otherwise.

    ``request`` is the id of the judged request, ``field`` the part of the object that is wrong and
    ``source`` where that is written; all three are None where the policy passed.
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
        """Whether the plan may not be applied because of this."""
        return self.outcome is Outcome.DENIED and self.level.denies


def denial_sentence(
    address: str, place: Source | None, result: PolicyResult, remediation: str = ""
) -> str:
    """Where, which policy, what is wrong, and what to do next, on one line."""
    why = " ".join(result.message.split())
    denies = f"the {result.level} policy {result.policy} denies {address}"
    if result.fingerprint is None:  # the policy failed, and its own words say all
        said = why or f"{denies}; correct the policy"
    else:
        said = _joined(f"{denies}: {why}" if why else denies, _way_on(result, remediation))
    return f"{place}: {said}" if place else said


def _joined(problem: str, advice: str) -> str:
    """One sentence; two where the policy's own words end with a full stop, for they are kept."""
    if problem.endswith("."):
        return f"{problem} {advice[:1].upper()}{advice[1:]}"
    shouts = advice[1:2].isupper()
    return f"{problem}; {advice if shouts else advice[:1].lower() + advice[1:]}"


def _way_on(result: PolicyResult, remediation: str) -> str:
    way = " ".join(remediation.split()).rstrip(".") or "change the document"
    if result.level is Level.SOFT:
        return f"{way}, or waive it: `kgitops policy explain {result.policy}` shows how"
    return way if remediation else f"{way}, or see `kgitops policy explain {result.policy}`"
