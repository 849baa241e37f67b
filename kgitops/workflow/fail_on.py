"""``--fail-on GRADE``: how badly virtual clusters may be kept on a Kafka without them."""

from dataclasses import replace

from kgitops.lowering.report.report import failing_lines
from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Plan


def with_grades_refused(plan: Plan, threshold: Grade | None) -> Plan:
    """The plan, denied where its lowering report has a line as bad as ``threshold`` (§18).

    Each code is said once, with the first that it is about; the report shows every line.
    """
    if threshold is None:
        return plan
    codes: dict[str, list[LoweringLine]] = {}
    for line in failing_lines(plan.lowering, threshold):
        codes.setdefault(line.code, []).append(line)
    reasons = [_reason(found, threshold) for _, found in sorted(codes.items())]
    return replace(plan, refusals=(*plan.refusals, *reasons))


def _reason(found: list[LoweringLine], threshold: Grade) -> Reason:
    line = found[0]
    about = " ".join(part for part in (line.virtual_cluster, line.subject) if part)
    more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
    return Reason(
        exit=ExitCode.DENIED,
        sentence=f"{line.code} {line.grade}{f' {about}' if about else ''}{more}: "
        f"{line.reason.rstrip('.')}; {line.remedy or 'remove it'}, or drop --fail-on {threshold}",
    )
