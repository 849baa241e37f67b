"""What a unit came to, counted for the summary."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgitops.fleet.summary import Counts, UnitSummary
from kgitops.fleet.units.unit import Unit
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.requests import api_name
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import Reason, decide
from kgitops.plan.document.losses import losses
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.document.policies import PolicyResult
from kgitops.policy.evaluate.verdict import Outcome

_SHOWN = 100


def planned(
    plan: Plan, unit: Unit, *, captured_at: str, objects: Counts, files: tuple[str, ...]
) -> UnitSummary:
    """The counts of a plan; ``risks`` and ``levels`` count the worst of each change."""
    verdict, changes = plan.verdict, plan.changes
    findings = [*plan.findings, *plan.warnings]
    return UnitSummary(
        cluster=unit.cluster,
        project=unit.project,
        identity=plan.desired.identity,
        captured_at=captured_at,
        objects=objects,
        changes=_count(change.kind for change in changes),
        actions=_count(action for change in changes for action in change.actions),
        risks=_count(change.risks[0].code for change in changes),
        levels=_count(change.risks[0].level for change in changes),
        requests=_count(api_name(request.request) for request in plan.requests),
        drift=_count(drift.rule for drift in plan.drift),
        kept=_count(kept.rule for kept in plan.kept),
        violations=_count_violations(changes),
        # Whoever shows it makes it safe.
        lost=losses(plan, name=str),
        exit=verdict.exit,
        reasons=verdict.reasons[:_SHOWN],
        reason_count=len(verdict.reasons),
        findings=tuple(findings[:_SHOWN]),
        finding_count=_errors(findings),
        warning_count=len(findings) - _errors(findings),
        files=files,
    )


def failed(
    unit: Unit, reasons: Sequence[Reason], findings: Sequence[Finding], files: tuple[str, ...]
) -> UnitSummary:
    """Where there is no plan, and why."""
    return UnitSummary(
        cluster=unit.cluster,
        project=unit.project,
        planned=False,
        exit=decide(reasons, changes=False).exit,
        reasons=tuple(reasons[:_SHOWN]),
        reason_count=len(reasons),
        findings=tuple(findings[:_SHOWN]),
        finding_count=_errors(findings),
        warning_count=len(findings) - _errors(findings),
        files=files,
    )


def reasons_of(error: KgitopsError) -> tuple[Reason, ...]:
    """The reasons, the verdict's first; one for each finding that stops."""
    if not isinstance(error, FindingsError):
        return decide(error.reasons, changes=False).reasons
    wrong = [one for one in error.findings if one.severity is Severity.ERROR]
    said = tuple(Reason(exit=error.exit, sentence=str(one)) for one in wrong)
    return said or error.reasons


def violations_of(changes: Iterable[Change]) -> Iterator[tuple[Change, PolicyResult]]:
    """What did not pass, in the order of the changes."""
    for change in changes:
        for result in change.policies:
            if result.outcome is not Outcome.PASSED:
                yield change, result


def _count_violations(changes: Iterable[Change]) -> Mapping[tuple[str, str, str], int]:
    found = Counter(
        (result.policy, str(result.level), str(result.outcome))
        for _, result in violations_of(changes)
    )
    return dict(sorted(found.items()))


def _count(keys: Iterable[str]) -> Counts:
    return {str(key): number for key, number in sorted(Counter(keys).items())}


def _errors(findings: Sequence[Finding]) -> int:
    return sum(finding.severity is Severity.ERROR for finding in findings)
