"""Policies' verdicts on a plan, and tests of policies, as JUnit XML for test reporters.

A plan has a suite for each policy, with a case for each object that the policy does not simply
accept. Those that it accepts are one case together: 10,000 changes under 20 policies would be
200,000 cases of no news.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from io import BytesIO

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
from msgspec import Struct

from kgitops.model.source import Finding
from kgitops.model.wording import counted, shortened
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Drift, Plan
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    ViolationGroup,
    ViolationRow,
    today_of,
    violation_groups,
    with_advice,
)
from kgitops.report.content.safe_text import guarded_line, terminal_text
from kgitops.report.content.statements import (
    drift_sentence,
    loss_summary,
    summary_sentence,
    unfinished_run_sentence,
)
from kgitops.report.text.policy_tests import coverage_sentence, score_sentence
from kgitops.workflow.policy_tests.report import CaseOutcome, PolicyTestReport, SuiteOutcome

_OWN = "kgitops"
_TESTS_NAME = "kgitops policy test"


class JUnit(Struct, frozen=True, kw_only=True):
    """``name`` is the document's own; texts of more than ``longest`` characters are shortened."""

    name: str
    longest: int | None = None

    def text(self, suites: Iterable[tuple[str, Iterable[TestCase]]]) -> str:
        """The document; the names of its suites are safe already."""
        root = JUnitXml(name=self.name)
        for name, cases in suites:
            suite = TestSuite(name=name)
            suite.add_testcases(list(cases))
            root.add_testsuite(suite)
        # Set by hand: a count of skipped tests on the root is more than Jenkins's schema allows.
        root.tests = sum(suite.tests for suite in root)
        root.failures = sum(suite.failures for suite in root)
        root.errors = sum(suite.errors for suite in root)
        written = BytesIO()
        root.write(written, pretty=True)
        # As character references, so that the document is right in any encoding it is printed in.
        return written.getvalue().decode().encode("ascii", "xmlcharrefreplace").decode()

    def case(self, name: str, classname: str) -> TestCase:
        """A case that passes as long as it gets no other result."""
        return TestCase(name=self.safe(name), classname=self.safe(classname), time=0)

    def failure(self, message: str, kind: str, lines: Iterable[str]) -> Failure:
        """The failure of a case, in one sentence and line by line."""
        failure = Failure(self.safe(message), kind)
        failure.text = "\n".join(map(self.safe, lines))
        return failure

    def skipped(self, message: str) -> Skipped:
        """The reason for which a case neither fails nor passes."""
        return Skipped(self.safe(message))

    def safe(self, text: str) -> str:
        """The text with escapes for characters that act, hide, or have no place in XML."""
        line = terminal_text(text)
        if self.longest is not None:
            line = shortened(line, self.longest)
        return guarded_line(line) or "(empty)"


_PLAN = JUnit(name=_OWN, longest=1_000)
_TESTS = JUnit(name=_TESTS_NAME)


def render_junit(plan: Plan, *, sealed: SealedPlan | None = None) -> str:
    """A suite for the plan itself, then one for each policy; every suite has a case."""
    today = today_of(sealed)
    violations = violation_groups(plan)
    passed = _passed(plan)
    loaded = (policy.name for policy in plan.policies_loaded)
    suites = {_OWN: [*_own_cases(plan), *_of_unfinished_run(sealed)]}
    for name in dict.fromkeys([*loaded, *passed, *(group.policy for group in violations)]):
        policy_groups = [group for group in violations if group.policy == name]
        cases = _cases(name, policy_groups, passed.get(name, 0), today)
        suites.setdefault(_PLAN.safe(name), []).extend(cases)
    return _PLAN.text(suites.items())


def _passed(plan: Plan) -> dict[str, int]:
    """The number of changes that each policy accepts."""
    counts: dict[str, int] = {}
    for change in plan.changes:
        for result in change.policies:
            if result.outcome is Outcome.PASSED:
                counts[result.policy] = counts.get(result.policy, 0) + 1
    return counts


def _cases(
    policy: str, policy_groups: Sequence[ViolationGroup], passed: int, today: date | None
) -> Iterator[TestCase]:
    by_address: dict[str, list[tuple[ViolationGroup, ViolationRow]]] = {}
    for group in policy_groups:
        for row in group.rows:
            by_address.setdefault(row.change.address, []).append((group, row))
    for address, violations in by_address.items():
        yield _of_object(policy, address, violations, today)
    # Always there under one name, so that a reporter which compares runs finds it again.
    case = _PLAN.case("other changes", policy)
    if not passed and not policy_groups:
        case.result = [_PLAN.skipped("it applies to no change")]
    case.system_out = f"{counted(passed, 'change')} accepted"
    yield case


def _of_object(
    policy: str,
    address: str,
    violations: Sequence[tuple[ViolationGroup, ViolationRow]],
    today: date | None,
) -> TestCase:
    """One case for all violations of an object; the groups come worst first."""
    case = _PLAN.case(address, policy)
    worst, first = violations[0]
    lines = [_line(group, row, today) for group, row in violations]
    more = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
    if worst.status is PolicyStatus.DENIED:
        case.result = [_PLAN.failure(f"{first.message}{more}", str(worst.level), lines)]
    else:
        case.result = [_PLAN.skipped(f"{lines[0]}{more}")]
    return case


def _line(group: ViolationGroup, row: ViolationRow, today: date | None) -> str:
    place = f"{row.place}: " if row.place else ""
    text = f"{group.status} ({group.level}): {place}{row.message}"
    return _PLAN.safe(with_advice(text, group, row, today))


def _own_cases(plan: Plan) -> Iterator[TestCase]:
    plan_case = _PLAN.case("plan", _OWN)
    text = ". ".join(filter(None, (loss_summary(plan), summary_sentence(plan))))
    plan_case.system_out = _PLAN.safe(text)
    yield plan_case
    for finding in plan.findings:
        yield _of_finding(finding, _PLAN.failure(finding.problem, "finding", [str(finding)]))
    for warning in plan.warnings:
        yield _of_finding(warning, _PLAN.skipped(str(warning)))
    for reason in plan.refusals:
        case = _PLAN.case(reason.sentence, f"{_OWN}.refusal")
        case.result = [
            _PLAN.failure(reason.sentence, f"exit {int(reason.exit)}", [reason.sentence]),
        ]
        yield case
    yield from _drifted(plan)


def _of_unfinished_run(sealed: SealedPlan | None) -> Iterator[TestCase]:
    if unfinished := unfinished_run_sentence(sealed):
        case = _PLAN.case("unfinished run", _OWN)
        case.result = [_PLAN.skipped(unfinished)]
        yield case


def _drifted(plan: Plan) -> Iterator[TestCase]:
    by_address: dict[str, list[Drift]] = {}
    for drift in plan.drift:
        by_address.setdefault(drift.address, []).append(drift)
    for address, drifts in by_address.items():
        more = f" (and {len(drifts) - 1:,} more)" if len(drifts) > 1 else ""
        case = _PLAN.case(address, f"{_OWN}.drift")
        case.result = [_PLAN.skipped(f"{drift_sentence(drifts[0], full=False)}{more}")]
        yield case


def _of_finding(finding: Finding, result: Failure | Skipped) -> TestCase:
    # By file and words, without the line: a reporter that compares runs finds it again.
    name = f"{finding.source.file}: {finding.problem}" if finding.source else finding.problem
    case = _PLAN.case(name, f"{_OWN}.{finding.severity}")
    case.result = [result]
    return case


def render_policy_tests_junit(report: PolicyTestReport) -> str:
    """A suite for each document, then one each for coverage and mutants where asked for.

    A rule that is not covered and a mutant that survived fail only where too many of them do.
    """
    return _TESTS.text(_suites(report))


def _suites(report: PolicyTestReport) -> Iterator[tuple[str, Iterable[TestCase]]]:
    for suite in report.suites:
        yield _TESTS.safe(suite.name), (_test_case(suite, case) for case in suite.cases)
    extra = [*_coverage(report), *_mutation(report)]
    if extra:
        yield _TESTS_NAME, extra


def _test_case(suite: SuiteOutcome, outcome: CaseOutcome) -> TestCase:
    case = _TESTS.case(outcome.name, suite.policy)
    if outcome.failures:
        lines = [
            f"{failure.source}: expected {failure.expected}; came {failure.came}"
            + (f"; {failure.advice}" if failure.advice else "")
            for failure in outcome.failures
        ]
        case.result = [_TESTS.failure(outcome.failures[0].came, "case", lines)]
    return case


def _coverage(report: PolicyTestReport) -> Iterator[TestCase]:
    if report.covered is None:
        return
    case = _TESTS.case("coverage", _TESTS_NAME)
    lines = [
        f"{item.source or item.policy}: {item.rule} of {item.policy} never "
        + ("denied" if item.silent else "let anything pass" if item.fired else "judged")
        for item in report.covered
        if not (item.fired and item.silent)
    ]
    sentence = coverage_sentence(report, report.covered)
    yield _judged(case, sentence, lines, failed=report.uncovered)


def _mutation(report: PolicyTestReport) -> Iterator[TestCase]:
    if report.mutation is None:
        return
    case = _TESTS.case("mutants", _TESTS_NAME)
    lines = [f"{item.source}: {item.what}: {item.excerpt}" for item in report.mutation.survivors]
    sentence = score_sentence(report, report.mutation)
    yield _judged(case, sentence, lines, failed=report.survived)


def _judged(case: TestCase, sentence: str, lines: list[str], *, failed: bool) -> TestCase:
    if failed:
        case.result = [_TESTS.failure(sentence, str(case.name), lines)]
    else:
        case.system_out = "\n".join(map(_TESTS.safe, (sentence, *lines)))
    return case
