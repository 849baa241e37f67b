"""Writes a unit's rows in batches, and sums them up for the driver.

The two digests of the plan's file are computed while its changes pass by, so that none is kept.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from msgspec.structs import asdict, replace

from kgitops.fleet.output.rows import (
    change_rows,
    encodable,
    finding_rows,
    request_rows,
    violation_rows,
)
from kgitops.fleet.output.tables import PLANS, Status, Table, UnitFiles
from kgitops.fleet.summary import Counts, UnitSummary, ViolationCount
from kgitops.fleet.units.unit import Unit
from kgitops.model import clock
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.requests import api_name
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import Reason, decide
from kgitops.plan.document.documents import EnvelopeDocument, change_document, plan_document
from kgitops.plan.document.file import RunningDigests
from kgitops.plan.document.losses import losses
from kgitops.plan.document.plan import Change, Plan, PolicyResult
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.workflow.pipeline import PLAN_HOLDS

_BATCH = 8192


def write_plan(
    plan: Plan, unit: Unit, out: Path, *, captured_at: str, created: datetime, objects: Counts
) -> UnitSummary:
    """Write a plan's rows below ``out``, the run's folder.

    The plan that ``kgitops plan`` would seal can be made of them again, with the same digests. It
    takes no more memory than the plan and a batch of changes.

    Args:
        plan: the plan.
        unit: the plan's unit; one without a nonce is given one.
        out: the run's folder.
        captured_at: when the cluster was read.
        created: when the plan was made; it holds as long as any plan.
        objects: what is declared, by kind.

    Raises:
        KgitopsError: there is no room, or no right to write.
    """
    document = plan_document(plan)
    digests = RunningDigests(document)
    envelope = EnvelopeDocument(
        captured_at=captured_at,
        created=clock.to_text(created),
        expires=clock.to_text(created + PLAN_HOLDS),
        nonce=unit.nonce or secrets.token_hex(16),
    )
    with UnitFiles(unit.cluster, unit.project, out) as files:
        for start in range(0, len(plan.changes), _BATCH):
            changes = plan.changes[start : start + _BATCH]
            documents = list(map(change_document, changes))
            texts = list(map(canonical_json, documents))
            bodies = [
                [canonical_json(request.body) for request in document.requests]
                for document in documents
            ]
            digests.add(texts)
            files.add(Table.CHANGES, change_rows(unit.project, start, changes, texts))
            files.add(Table.REQUESTS, request_rows(unit.project, changes, bodies))
            _write_violations(plan, unit, changes, files)
        files.add(Table.FINDINGS, finding_rows(unit.project, (*plan.findings, *plan.warnings)))
        plan_digest, digest = digests.finish(envelope)
        row: dict[str, object] = {
            "identity": plan.desired.identity,
            "status": Status.PLANNED,
            "plan": canonical_json(document).decode(),
            "plan_digest": plan_digest,
            **asdict(replace(envelope, digest=digest)),
        }
        verdict = plan.verdict
        files.add(Table.PLANS, _plan_row(unit, row, verdict.exit, verdict.reasons))
    return plan_summary(plan, unit, captured_at=captured_at, objects=objects, files=files.names)


def failed_unit(unit: Unit, error: KgitopsError, out: Path) -> UnitSummary:
    """Write why a unit has no plan; its findings become rows, like those of a plan.

    Raises:
        KgitopsError: there is no room, or no right to write.
    """
    reasons = error_reasons(error)
    findings = error.findings if isinstance(error, FindingsError) else ()
    with UnitFiles(unit.cluster, unit.project, out) as files:
        files.add(Table.FINDINGS, finding_rows(unit.project, findings))
        code = decide(reasons, changes=False).exit
        files.add(Table.PLANS, _plan_row(unit, {"status": Status.FAILED}, code, reasons))
    return failure_summary(unit, reasons, findings, files.names)


def _write_violations(plan: Plan, unit: Unit, changes: Sequence[Change], files: UnitFiles) -> None:
    advice = {policy.name: policy.remediation for policy in plan.policies_loaded}
    violations = list(violations_of(changes))
    files.add(Table.VIOLATIONS, violation_rows(unit.project, violations, advice))


def _plan_row(
    unit: Unit, row: Mapping[str, object], code: int, reasons: Sequence[Reason]
) -> pa.RecordBatch:
    reason_rows = [
        {"exit": int(reason.exit), "sentence": encodable(reason.sentence)} for reason in reasons
    ]
    whole = {**row, "project": unit.project, "exit": int(code), "reasons": reason_rows}
    return pa.RecordBatch.from_pylist([whole], schema=PLANS)


_SHOWN = 100


def plan_summary(
    plan: Plan, unit: Unit, *, captured_at: str, objects: Counts, files: tuple[str, ...]
) -> UnitSummary:
    """The summary of a plan; ``risks`` and ``levels`` count the worst of each change."""
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
        # Each renderer makes it safe for its format.
        lost=losses(plan, name=str),
        exit=verdict.exit,
        reasons=verdict.reasons[:_SHOWN],
        reason_count=len(verdict.reasons),
        findings=tuple(findings[:_SHOWN]),
        finding_count=_errors(findings),
        warning_count=len(findings) - _errors(findings),
        files=files,
    )


def failure_summary(
    unit: Unit, reasons: Sequence[Reason], findings: Sequence[Finding], files: tuple[str, ...]
) -> UnitSummary:
    """The summary of a unit without a plan, with the reasons."""
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


def error_reasons(error: KgitopsError) -> tuple[Reason, ...]:
    """The reasons, the decisive one first; one for each finding that stops."""
    if not isinstance(error, FindingsError):
        return decide(error.reasons, changes=False).reasons
    stopping = [finding for finding in error.findings if finding.severity is Severity.ERROR]
    reasons = tuple(Reason(exit=error.exit, sentence=str(finding)) for finding in stopping)
    return reasons or error.reasons


def violations_of(changes: Iterable[Change]) -> Iterator[tuple[Change, PolicyResult]]:
    """The results that did not pass, in the order of the changes."""
    for change in changes:
        for result in change.policies:
            if result.outcome is not Outcome.PASSED:
                yield change, result


def _count_violations(changes: Iterable[Change]) -> tuple[ViolationCount, ...]:
    counts = Counter(
        (result.policy, str(result.level), str(result.outcome))
        for _, result in violations_of(changes)
    )
    return tuple(
        ViolationCount(policy=policy, level=level, outcome=outcome, count=count)
        for (policy, level, outcome), count in sorted(counts.items())
    )


def _count(keys: Iterable[str]) -> Counts:
    return {str(key): number for key, number in sorted(Counter(keys).items())}


def _errors(findings: Sequence[Finding]) -> int:
    return sum(finding.severity is Severity.ERROR for finding in findings)
