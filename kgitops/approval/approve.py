"""The one gate between a plan and the cluster: an apply executes only plans approved here."""

from dataclasses import InitVar, dataclass
from typing import Final

from kgitops.model.errors import (
    DeniedError,
    FindingsError,
    KgitopsError,
    LockedError,
    SafetyError,
    StaleError,
    UnreachableError,
    UntrustedPlanError,
    UsageError,
)
from kgitops.model.verdict import ExitCode, Verdict
from kgitops.plan.document.file import SealedPlan

_GATE: Final = object()


@dataclass(frozen=True, slots=True)
class ApprovedPlan:
    """A sealed plan that nothing stops; only :func:`approve` creates one."""

    sealed: SealedPlan
    gate: InitVar[object] = None

    def __post_init__(self, gate: object) -> None:
        if gate is not _GATE:
            raise TypeError("an ApprovedPlan comes from approve() only")


def approve(sealed: SealedPlan) -> ApprovedPlan:
    """Approve the plan, so that it can be applied.

    Raises:
        KgitopsError: the plan's own verdict refuses it; the error has the verdict's exit code.
    """
    plan = sealed.plan
    verdict = plan.verdict
    if verdict.stops and len(verdict.reasons) == len(plan.findings):
        raise FindingsError(plan.findings)
    if verdict.stops:
        raise refusal(verdict)
    return ApprovedPlan(sealed, _GATE)


def refusal(verdict: Verdict) -> KgitopsError:
    """Turn a verdict that stops into an error with its exit code and all its sentences."""
    errors: dict[ExitCode, type[KgitopsError]] = {
        error.exit: error
        for error in (
            DeniedError,
            LockedError,
            SafetyError,
            StaleError,
            UnreachableError,
            UntrustedPlanError,
            UsageError,
        )
    }
    sentences = "\n".join(reason.sentence for reason in verdict.reasons)
    return errors.get(verdict.exit, KgitopsError)(sentences, reasons=verdict.reasons)
