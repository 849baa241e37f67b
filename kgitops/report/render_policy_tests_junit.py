"""What came of testing policies as JUnit XML, which every build service reads."""

from collections.abc import Iterator
from io import BytesIO

from junitparser import Failure as FailureElement
from junitparser import JUnitXml, TestCase, TestSuite

from kgitops.report.policy_test_report import CaseOutcome, PolicyTestReport, SuiteOutcome
from kgitops.report.render_policy_tests import coverage_sentence, score_sentence
from kgitops.report.safe_text import guarded_line, terminal_text

_OWN = "kgitops policy test"


def render_policy_tests_junit(report: PolicyTestReport) -> str:
    """A suite for each document, then one each for coverage and mutants where asked for.

    A rule that is not covered and a mutant that survived fail only where too many of them do.
    """
    root = JUnitXml(name=_OWN)
    for suite in report.suites:
        root.add_testsuite(_suite(suite.name, (_case(suite, case) for case in suite.cases)))
    extra = [*_coverage(report), *_mutation(report)]
    if extra:
        root.add_testsuite(_suite(_OWN, iter(extra)))
    # Set by hand: a count of skipped tests on the root is more than Jenkins's schema allows.
    root.tests = sum(suite.tests for suite in root)
    root.failures = sum(suite.failures for suite in root)
    root.errors = sum(suite.errors for suite in root)
    written = BytesIO()
    root.write(written, pretty=True)
    # As references, so that it stays what it says it is in whatever encoding it is printed.
    return written.getvalue().decode().encode("ascii", "xmlcharrefreplace").decode()


def _suite(name: str, cases: Iterator[TestCase]) -> TestSuite:
    suite = TestSuite(name=_safe(name))
    suite.add_testcases(list(cases))
    return suite


def _case(suite: SuiteOutcome, outcome: CaseOutcome) -> TestCase:
    case = TestCase(name=_safe(outcome.name), classname=_safe(suite.policy), time=0)
    if outcome.failures:
        lines = [
            f"{failure.source}: expected {failure.expected}; came {failure.came}"
            + (f"; {failure.advice}" if failure.advice else "")
            for failure in outcome.failures
        ]
        case.result = [_failure(outcome.failures[0].came, "case", lines)]
    return case


def _coverage(report: PolicyTestReport) -> Iterator[TestCase]:
    if report.covered is None:
        return
    case = TestCase(name="coverage", classname=_OWN, time=0)
    lines = [
        f"{item.source or item.policy}: {item.rule} of {item.policy} never "
        + ("denied" if item.silent else "let anything pass" if item.fired else "judged")
        for item in report.covered
        if not (item.fired and item.silent)
    ]
    said = coverage_sentence(report, report.covered)
    yield _judged(case, said, lines, failed=report.uncovered)


def _mutation(report: PolicyTestReport) -> Iterator[TestCase]:
    if report.mutation is None:
        return
    case = TestCase(name="mutants", classname=_OWN, time=0)
    lines = [f"{item.source}: {item.what}: {item.excerpt}" for item in report.mutation.survivors]
    said = score_sentence(report, report.mutation)
    yield _judged(case, said, lines, failed=report.survived)


def _judged(case: TestCase, said: str, lines: list[str], *, failed: bool) -> TestCase:
    if failed:
        case.result = [_failure(said, str(case.name), lines)]
    else:
        case.system_out = "\n".join(map(_safe, (said, *lines)))
    return case


def _failure(message: str, kind: str, lines: list[str]) -> FailureElement:
    failure = FailureElement(_safe(message), kind)
    failure.text = "\n".join(map(_safe, lines))
    return failure


def _safe(text: str) -> str:
    return guarded_line(terminal_text(text)) or "(empty)"
