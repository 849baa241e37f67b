"""What became of a plan: every step is done, failed or not attempted."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgitops.model.verdict import ExitCode, Reason, Verdict, decide

_SIGNALS = {2: ExitCode.INTERRUPTED, 15: ExitCode.TERMINATED}


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


def judge(
    *,
    done: int,
    planned: int,
    sent: bool,
    signal: int | None,
    failures: Sequence[Reason],
    reasons: Sequence[Reason],
) -> Verdict:
    """The verdict of a run: success only when every step is done and nothing else is wrong."""
    found = [*reasons, *failures]
    if done < planned:
        count = f"{done} of {planned} steps are done"
        if signal is not None:
            code = _SIGNALS.get(signal, ExitCode.TERMINATED)
            stopped = f"stopped by signal {signal} after what was on its way: {count}"
            found.insert(0, Reason(exit=code, sentence=f"{stopped}; {_next(sent=sent)}"))
        if sent:
            sentence = f"the plan was partly applied: {count}; {_next(sent=sent)}"
            found.insert(0, Reason(exit=ExitCode.PARTIAL, sentence=sentence))
    return decide(found, changes=False)


def _next(*, sent: bool) -> str:
    if sent:
        return "`kgitops apply --resume` goes on with it"
    return "apply the plan again"
