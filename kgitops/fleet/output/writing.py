"""What became of a unit: its rows, written in batches, and the summary that the driver sees."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from kgitops.fleet.output import counting
from kgitops.fleet.output.digests import RunningDigests, body_of
from kgitops.fleet.output.files import UnitFiles
from kgitops.fleet.output.rows import (
    change_rows,
    encodable,
    finding_rows,
    request_rows,
    violation_rows,
)
from kgitops.fleet.output.tables import PLANS, Status, Table
from kgitops.fleet.summary import Counts, UnitSummary
from kgitops.fleet.units.unit import Unit
from kgitops.model import clock
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.verdict import Reason, decide, reason_to_json
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.document.to_json import bodies_of, change_bytes
from kgitops.workflow.pipeline import PLAN_HOLDS

_BATCH = 8192


def write_plan(
    plan: Plan, unit: Unit, out: Path, *, captured_at: str, created: datetime, objects: Counts
) -> UnitSummary:
    """Write a plan's rows below ``out``, the run's folder.

    What ``kgitops plan`` would seal can be made of them again, with the same digests. Memory
    beside the plan's own is that of a batch of changes.

    Args:
        plan: the plan.
        unit: what it is of; a unit without a nonce is given one.
        out: the run's folder.
        captured_at: when the cluster was read.
        created: when the plan was made; it holds as long as any plan.
        objects: what is declared, by kind.

    Raises:
        KgitopsError: there is no room, or no right to write.
    """
    body = body_of(plan)
    digests = RunningDigests(body)
    envelope = {
        "captured_at": captured_at,
        "created": clock.to_text(created),
        "expires": clock.to_text(created + PLAN_HOLDS),
        "nonce": unit.nonce or secrets.token_hex(16),
    }
    with UnitFiles(unit.cluster, unit.project, out) as files:
        for start in range(0, len(plan.changes), _BATCH):
            changes = plan.changes[start : start + _BATCH]
            bodies = [bodies_of(change) for change in changes]
            texts = list(map(change_bytes, changes, bodies))
            digests.add(texts)
            files.add(Table.CHANGES, change_rows(unit.project, start, changes, texts))
            files.add(Table.REQUESTS, request_rows(unit.project, changes, bodies))
            _write_violations(plan, unit, changes, files)
        files.add(Table.FINDINGS, finding_rows(unit.project, (*plan.findings, *plan.warnings)))
        plan_digest, digest = digests.finish(envelope)
        row: dict[str, object] = {
            "identity": plan.desired.identity,
            "status": Status.PLANNED,
            "plan": canonical_json(body).decode(),
            "plan_digest": plan_digest,
            **envelope,
            "digest": digest,
        }
        verdict = plan.verdict
        files.add(Table.PLANS, _plan_row(unit, row, verdict.exit, verdict.reasons))
    return counting.planned(plan, unit, captured_at=captured_at, objects=objects, files=files.names)


def failed_unit(unit: Unit, error: KgitopsError, out: Path) -> UnitSummary:
    """Write down why a unit has no plan: its findings are rows, as those of a plan are.

    Raises:
        KgitopsError: there is no room, or no right to write.
    """
    reasons = counting.reasons_of(error)
    findings = error.findings if isinstance(error, FindingsError) else ()
    with UnitFiles(unit.cluster, unit.project, out) as files:
        files.add(Table.FINDINGS, finding_rows(unit.project, findings))
        code = decide(reasons, changes=False).exit
        files.add(Table.PLANS, _plan_row(unit, {"status": Status.FAILED}, code, reasons))
    return counting.failed(unit, reasons, findings, files.names)


def _write_violations(plan: Plan, unit: Unit, changes: Sequence[Change], files: UnitFiles) -> None:
    advice = {policy.name: policy.remediation for policy in plan.policies_loaded}
    violations = list(counting.violations_of(changes))
    files.add(Table.VIOLATIONS, violation_rows(unit.project, violations, advice))


def _plan_row(
    unit: Unit, row: Mapping[str, object], code: int, reasons: Sequence[Reason]
) -> pa.RecordBatch:
    said = [
        {**reason_to_json(reason), "sentence": encodable(reason.sentence)} for reason in reasons
    ]
    whole = {**row, "project": unit.project, "exit": int(code), "reasons": said}
    return pa.RecordBatch.from_pylist([whole], schema=PLANS)
