"""What policies say of a plan as JUnit XML, for test reporters: a suite for each policy.

A case is an object that the policy has something to say about. Those that it accepts are one
case together: a plan of 10,000 changes under 20 policies would be 200,000 cases of no news.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from junitparser import Failure, Skipped, TestCase

from kgitops.model.source import Finding
from kgitops.model.wording import counted
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Drift, Plan
from kgitops.policy.evaluate.verdict import Outcome
from kgitops.report.ci.junit_elements import JUnit
from kgitops.report.content.headline import lost_words
from kgitops.report.content.policy_rows import Group, Row, Standing, groups, today_of, with_advice
from kgitops.report.content.statements import drift_sentence, summary_sentence

_OWN = "kgitops"
_JUNIT = JUnit(name=_OWN, longest=1_000)


def render_junit(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """A suite for the plan itself, then one for each policy; every suite has a case."""
    today = today_of(sealed)
    found = groups(plan)
    passed = _passed(plan)
    loaded = (policy.name for policy in plan.policies_loaded)
    suites = {_OWN: list(_own_cases(plan))}
    for name in dict.fromkeys([*loaded, *passed, *(group.policy for group in found)]):
        told = [group for group in found if group.policy == name]
        cases = _cases(name, told, passed.get(name, 0), today)
        suites.setdefault(_JUNIT.safe(name), []).extend(cases)
    return _JUNIT.text(suites.items())


def _passed(plan: Plan) -> dict[str, int]:
    """How many changes each policy accepts."""
    found: dict[str, int] = {}
    for change in plan.changes:
        for result in change.policies:
            if result.outcome is Outcome.PASSED:
                found[result.policy] = found.get(result.policy, 0) + 1
    return found


def _cases(
    policy: str, told: Sequence[Group], passed: int, today: date | None
) -> Iterator[TestCase]:
    by_address: dict[str, list[tuple[Group, Row]]] = {}
    for group in told:
        for row in group.rows:
            by_address.setdefault(row.change.address, []).append((group, row))
    for address, violations in by_address.items():
        yield _of_object(policy, address, violations, today)
    # Always there under one name, so that a reporter which compares runs finds it again.
    case = _JUNIT.case("other changes", policy)
    if not passed and not told:
        case.result = [_JUNIT.skipped("no change is any of its business")]
    case.system_out = f"{counted(passed, 'change')} accepted"
    yield case


def _of_object(
    policy: str, address: str, violations: Sequence[tuple[Group, Row]], today: date | None
) -> TestCase:
    """One case however many violations there are: the groups come worst first."""
    case = _JUNIT.case(address, policy)
    worst, first = violations[0]
    lines = [_line(group, row, today) for group, row in violations]
    more = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
    if worst.standing is Standing.DENIED:
        case.result = [_JUNIT.failure(f"{first.message}{more}", str(worst.level), lines)]
    else:
        case.result = [_JUNIT.skipped(f"{lines[0]}{more}")]
    return case


def _line(group: Group, row: Row, today: date | None) -> str:
    place = f"{row.place}: " if row.place else ""
    said = f"{group.standing} ({group.level}): {place}{row.message}"
    return _JUNIT.safe(with_advice(said, group, row, today))


def _own_cases(plan: Plan) -> Iterator[TestCase]:
    plan_case = _JUNIT.case("plan", _OWN)
    told = ". ".join(filter(None, (lost_words(plan), summary_sentence(plan))))
    plan_case.system_out = _JUNIT.safe(told)
    yield plan_case
    for finding in plan.findings:
        yield _of_finding(finding, _JUNIT.failure(finding.problem, "finding", [str(finding)]))
    for warning in plan.warnings:
        yield _of_finding(warning, _JUNIT.skipped(str(warning)))
    for reason in plan.refusals:
        case = _JUNIT.case(reason.sentence, f"{_OWN}.refusal")
        case.result = [
            _JUNIT.failure(reason.sentence, f"exit {int(reason.exit)}", [reason.sentence]),
        ]
        yield case
    yield from _drifted(plan)


def _drifted(plan: Plan) -> Iterator[TestCase]:
    found: dict[str, list[Drift]] = {}
    for drift in plan.drift:
        found.setdefault(drift.address, []).append(drift)
    for address, drifts in found.items():
        more = f" (and {len(drifts) - 1:,} more)" if len(drifts) > 1 else ""
        case = _JUNIT.case(address, f"{_OWN}.drift")
        case.result = [_JUNIT.skipped(f"{drift_sentence(drifts[0], full=False)}{more}")]
        yield case


def _of_finding(finding: Finding, result: Failure | Skipped) -> TestCase:
    # By file and words, without the line: a reporter that compares runs finds it again.
    name = f"{finding.source.file}: {finding.problem}" if finding.source else finding.problem
    case = _JUNIT.case(name, f"{_OWN}.{finding.severity}")
    case.result = [result]
    return case
