"""What became of a plan: every step is done, failed or not attempted."""

from dataclasses import dataclass

from kgitops.model.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A step that is not done, and one sentence: the object, what the broker said, what next."""

    step: str
    address: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyResult:
    """The outcome of an apply or a resume.

    A step is a request's id, or the address of a change that only the registry records. ``earlier``
    are those of ``done`` that were done before this resume began.
    """

    run_id: str
    done: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    not_attempted: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    verdict: Verdict

    @property
    def planned(self) -> int:
        """How many steps the plan has."""
        return len(self.done) + len(self.failed) + len(self.not_attempted)
