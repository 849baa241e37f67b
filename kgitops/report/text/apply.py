"""An apply as text: one line an event, and the summary at the end."""

from typing import assert_never

from kgitops.apply.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Noted,
    RegistryUpgraded,
    StepDone,
    StepFailed,
    StepStarted,
    Waiting,
)
from kgitops.apply.result import ApplyResult
from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted
from kgitops.report.content.safe_text import Line, render_lines
from kgitops.report.content.statements import reason_lines

_STEPS_SHOWN = 20


def render_event_text(event: Event) -> str:
    """One line for a person, without a line end."""
    return render_lines([[_sentence(event)]], colour=False, ascii_only=False).rstrip("\n")


def render_summary(result: ApplyResult) -> str:
    """The outcome of every step: done, failed and not attempted add up to the plan."""
    lines: list[Line] = []
    if result.failed:
        lines += [[], [f"FAILED ({len(result.failed):,})"]]
        for failure in result.failed:
            lines.append([f"  ! {object_name(failure.address)}: {failure.sentence}"])
    if result.not_attempted:
        lines += [[], [f"NOT ATTEMPTED ({len(result.not_attempted):,})"]]
        lines += [[f"  {step}"] for step in result.not_attempted[:_STEPS_SHOWN]]
        hidden = len(result.not_attempted) - _STEPS_SHOWN
        if hidden > 0:
            lines.append([f"  and {hidden:,} more"])
    shown = {failure.sentence for failure in result.failed}
    reasons = [reason for reason in result.verdict.reasons if reason.sentence not in shown]
    if reasons:
        lines += [[], ["REASONS"], *([f"  ! {line}"] for line in reason_lines(reasons))]
    lines += [[], [_totals(result)]]
    return render_lines(lines, colour=False, ascii_only=False)


def _sentence(event: Event) -> str:
    match event:
        case ApplyStarted():
            begun = "Going on with" if event.resumed else "Applying"
            earlier = f", {event.earlier:,} done before" if event.earlier else ""
            return f"{begun} {counted(event.planned, 'step')}{earlier} (run {event.run_id})"
        case StepStarted():
            return f"{object_name(event.address)}: {event.api} ..."
        case StepDone():
            return f"{object_name(event.address)}: {event.api} done"
        case StepFailed():
            return f"{object_name(event.address)}: {event.api} failed: {event.sentence}"
        case Waiting() | RegistryUpgraded():
            return event.sentence
        case Noted():
            return f"{object_name(event.address)}: {event.sentence}"
        case ApplyFinished():
            return _counts(event.done, event.failed, event.not_attempted)
        case _:
            assert_never(event)


def _totals(result: ApplyResult) -> str:
    counts = _counts(len(result.done), len(result.failed), len(result.not_attempted))
    earlier = f", {len(result.earlier):,} of them before this resume" if result.earlier else ""
    code = int(result.verdict.exit)
    ending = f" (exit {code})" if result.verdict.stops else ""
    return f"{counts}{earlier}{ending}. Run {result.run_id}."


def _counts(done: int, failed: int, not_attempted: int) -> str:
    planned = done + failed + not_attempted
    if done == planned:
        return f"Applied: {done:,} done"
    counts = ((done, "done"), (failed, "failed"), (not_attempted, "not attempted"))
    parts = ", ".join(f"{count:,} {words}" for count, words in counts if count)
    return f"Not complete: {parts}; {planned:,} planned"
