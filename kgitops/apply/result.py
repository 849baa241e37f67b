"""The result of an apply: every step is done, failed or not attempted."""

from collections.abc import Sequence

from msgspec import Struct

from kgitops.apply.progress import Progress
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.model.wording import resume_command

_SIGNALS = {2: ExitCode.INTERRUPTED, 15: ExitCode.TERMINATED}


class StepFailure(Struct, frozen=True, kw_only=True):
    """A step that is not done, with a sentence: the object, the broker's answer, the next step."""

    step: str
    address: str
    sentence: str


class ApplyResult(Struct, frozen=True, kw_only=True):
    """The outcome of an apply or a resume.

    A step is named by its request's id, or by the address of a change that only the registry
    records. ``earlier`` are the steps of ``done`` that were done before this resume began.
    """

    run_id: str
    done: tuple[str, ...] = ()
    failed: tuple[StepFailure, ...] = ()
    not_attempted: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    verdict: Verdict

    @property
    def planned(self) -> int:
        """The number of steps of the plan."""
        return len(self.done) + len(self.failed) + len(self.not_attempted)


def conclude(
    progress: Progress,
    *,
    run_id: str,
    begun: bool,
    signal: int | None,
    earlier: tuple[str, ...] = (),
    reasons: Sequence[Reason] = (),
) -> ApplyResult:
    """Build the result of a run that ends here: the outcome of every step, and the verdict.

    ``begun`` tells that something was sent. ``signal`` interrupted the run, if it is not None, and
    ``reasons`` stopped it.
    """
    failures = [(step, progress.failures[step]) for step in progress.failed]
    own = [outcome for _, outcome in failures if not (outcome.of_run and reasons)]
    verdict_reasons = [
        *reasons,
        *(Reason(exit=outcome.exit, sentence=outcome.sentence) for outcome in own),
    ]
    done = progress.done
    if len(done) < len(progress.steps):
        count = f"{len(done)} of {_steps(len(progress.steps))} done; {_next(begun=begun)}"
        if signal is not None:
            code = _SIGNALS.get(signal, ExitCode.TERMINATED)
            stopped = f"stopped by signal {signal} after what was on its way: {count}"
            verdict_reasons.insert(0, Reason(exit=code, sentence=stopped))
        if begun:
            sentence = f"the plan was partly applied: {count}"
            verdict_reasons.insert(0, Reason(exit=ExitCode.PARTIAL, sentence=sentence))
    return ApplyResult(
        run_id=run_id,
        done=done,
        failed=tuple(
            StepFailure(step=step, address=progress.steps[step].address, sentence=outcome.sentence)
            for step, outcome in failures
        ),
        not_attempted=progress.not_attempted,
        earlier=earlier,
        verdict=decide(verdict_reasons, changes=False),
    )


def _steps(count: int) -> str:
    return "1 step is" if count == 1 else f"{count} steps are"


def _next(*, begun: bool) -> str:
    if begun:
        return f"`{resume_command()}` continues it"
    return "apply the plan again"
