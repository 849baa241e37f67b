"""The results of a plan that a SARIF log holds, the worst first."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kgitops.model.resources.addresses import object_name
from kgitops.model.source import Finding, Severity, Source
from kgitops.plan.document.plan import Change, Plan, WaiverUse
from kgitops.plan.document.risks import RiskLevel
from kgitops.policy.evaluate.bundle import Level
from kgitops.report.ci.sarif_rules import Own, SarifLevel, severity_of_policy, severity_of_risk
from kgitops.report.content.details import stake
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    ViolationRow,
    policy_status,
    violation_rows,
)
from kgitops.report.content.statements import drift_sentence, loss_sentence, other_losses

# What comes first where not all can be shown. A denial that is not listed here is a soft one.
_HARD, _FINDING, _REFUSAL, _SOFT, _LOSS, _WARNING, _DRIFT = 0, 2, 3, 4, 5, 7, 10
_BY_RISK = {RiskLevel.DATA_LOSS: 1, RiskLevel.ACCESS_LOSS: 5, RiskLevel.DISRUPTIVE: 9}
_BY_STANDING = {PolicyStatus.WAIVED: 6, PolicyStatus.ADVISED: 8, PolicyStatus.NOTED: 11}


class Result(Struct, frozen=True, kw_only=True):
    """One result; ``rank`` sorts, the worst first, and ``key`` stays when its place moves.

    ``rule`` is a key of ``sarif_rules``; ``source`` None where no document is about it.
    """

    rank: int
    rule: str
    severity: SarifLevel
    message: str
    key: tuple[str, ...]
    source: Source | None = None
    address: str | None = None
    waiver: WaiverUse | None = None


def results(plan: Plan) -> tuple[Result, ...]:
    """Violations, risks that are not safe, findings, refusals and drift."""
    return tuple(sorted(_results(plan), key=lambda result: result.rank))


def results_of(findings: Iterable[Finding]) -> tuple[Result, ...]:
    """Errors, then warnings."""
    sarif_results = [
        _of_finding(finding, Own.FINDING, _FINDING)
        if finding.severity is Severity.ERROR
        else _of_finding(finding, Own.WARNING, _WARNING)
        for finding in findings
    ]
    return tuple(sorted(sarif_results, key=lambda result: result.rank))


def policy_key(name: str) -> str:
    """The key of a policy's rule, distinct from that of a risk code of the same name."""
    return f"policy {name}"


def _results(plan: Plan) -> Iterator[Result]:
    yield from map(_of_row, violation_rows(plan))
    for change in plan.changes:
        yield from _of_risks(change)
    yield from (_of_finding(finding, Own.FINDING, _FINDING) for finding in plan.findings)
    yield from (_of_finding(warning, Own.WARNING, _WARNING) for warning in plan.warnings)
    for reason in plan.refusals:
        yield _own(Own.REFUSAL, SarifLevel.ERROR, _REFUSAL, reason.sentence)
    for loss in other_losses(plan):
        yield _own(Own.ACCESS, SarifLevel.WARNING, _LOSS, loss_sentence(loss))
    for drift in plan.drift:
        yield _own(Own.DRIFT, SarifLevel.NOTE, _DRIFT, drift_sentence(drift, full=False))


def _of_row(row: ViolationRow) -> Result:
    result, address = row.result, row.change.address
    denied = _HARD if result.level is Level.HARD else _SOFT
    return Result(
        rank=_BY_STANDING.get(policy_status(result), denied),
        rule=policy_key(result.policy),
        severity=severity_of_policy(result.level),
        message=f"{object_name(address)}: {row.message}",
        # A policy that failed has no fingerprint: then its words are the same again.
        key=(result.policy, address, result.fingerprint or result.message),
        source=row.place,
        address=address,
        waiver=result.waiver,
    )


def _of_risks(change: Change) -> Iterator[Result]:
    what = f"{' and '.join(change.actions)} {object_name(change.address)}"
    held = f" ({stake(change)})" if stake(change) else ""
    for risk in change.risks:
        more = held if risk == change.risk else ""
        if risk.level is not RiskLevel.SAFE:
            yield Result(
                rank=_BY_RISK[risk.level],
                rule=risk.code,
                severity=severity_of_risk(risk),
                message=f"{what}: {risk.text}{more}. Safer: {risk.safer}.",
                key=(risk.code, change.address),
                source=change.source,
                address=change.address,
            )


def _of_finding(finding: Finding, own: Own, rank: int) -> Result:
    return Result(
        rank=rank,
        rule=str(own),
        severity=SarifLevel.ERROR if own is Own.FINDING else SarifLevel.WARNING,
        message=f"{finding.problem}; {finding.advice}",
        key=(str(own), finding.source.file if finding.source else "", finding.problem),
        source=finding.source,
    )


def _own(own: Own, severity: SarifLevel, rank: int, sentence: str) -> Result:
    return Result(
        rank=rank, rule=str(own), severity=severity, message=sentence, key=(str(own), sentence)
    )
