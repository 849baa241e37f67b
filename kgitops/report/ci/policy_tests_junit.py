"""What came of testing policies as JUnit XML, which every build service reads."""

from collections.abc import Iterable, Iterator

from junitparser import TestCase

from kgitops.report.ci.junit_elements import JUnit
from kgitops.report.policies.tests_text import coverage_sentence, score_sentence
from kgitops.workflow.policy_tests.report import CaseOutcome, PolicyTestReport, SuiteOutcome

_OWN = "kgitops policy test"
_JUNIT = JUnit(name=_OWN)


def render_policy_tests_junit(report: PolicyTestReport) -> str:
    """A suite for each document, then one each for coverage and mutants where asked for.

    A rule that is not covered and a mutant that survived fail only where too many of them do.
    """
    return _JUNIT.text(_suites(report))


def _suites(report: PolicyTestReport) -> Iterator[tuple[str, Iterable[TestCase]]]:
    for suite in report.suites:
        yield _JUNIT.safe(suite.name), (_case(suite, case) for case in suite.cases)
    extra = [*_coverage(report), *_mutation(report)]
    if extra:
        yield _OWN, extra


def _case(suite: SuiteOutcome, outcome: CaseOutcome) -> TestCase:
    case = _JUNIT.case(outcome.name, suite.policy)
    if outcome.failures:
        lines = [
            f"{failure.source}: expected {failure.expected}; came {failure.came}"
            + (f"; {failure.advice}" if failure.advice else "")
            for failure in outcome.failures
        ]
        case.result = [_JUNIT.failure(outcome.failures[0].came, "case", lines)]
    return case


def _coverage(report: PolicyTestReport) -> Iterator[TestCase]:
    if report.covered is None:
        return
    case = _JUNIT.case("coverage", _OWN)
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
    case = _JUNIT.case("mutants", _OWN)
    lines = [f"{item.source}: {item.what}: {item.excerpt}" for item in report.mutation.survivors]
    said = score_sentence(report, report.mutation)
    yield _judged(case, said, lines, failed=report.survived)


def _judged(case: TestCase, said: str, lines: list[str], *, failed: bool) -> TestCase:
    if failed:
        case.result = [_JUNIT.failure(said, str(case.name), lines)]
    else:
        case.system_out = "\n".join(map(_JUNIT.safe, (said, *lines)))
    return case
