"""The outcome of tests of policies, for a person."""

from collections.abc import Iterator

from kgitops.model.wording import counted
from kgitops.report.content.safe_text import Line, Style, in_columns, render_lines
from kgitops.workflow.policy_tests.report import (
    CaseOutcome,
    Covered,
    Failure,
    MutationOutcome,
    PolicyTestReport,
    SuiteOutcome,
    percent_covered,
)

_OK, _FAILED = (Style.GREEN, "ok  "), (Style.RED_BOLD, "FAIL")


def render_policy_tests(report: PolicyTestReport, *, colour: bool) -> str:
    """One line a document, what failed in full, tables where asked for, and a summary."""
    lines = [line for suite in report.suites for line in _suite(suite)]
    if report.covered is not None:
        lines += ["", *_coverage(report.covered)]
    if report.mutation is not None:
        lines += ["", *_mutation(report.mutation)]
    lines += ["", *([sentence] for sentence in summary(report))]
    return render_lines(lines, colour=colour, ascii_only=False)


def summary(report: PolicyTestReport) -> list[str]:
    """The result in sentences."""
    cases = counted(report.cases, "case")
    suites = counted(len(report.suites), "document")
    if report.failed:
        sentences = [f"{report.failed} of {cases} in {suites} failed."]
    else:
        sentences = [f"All {cases} in {suites} passed." if report.cases > 1 else f"{cases} passed."]
    if report.untested:
        sentences.append(f"No test has: {', '.join(report.untested)}.")
    if report.covered is not None:
        sentences.append(coverage_sentence(report, report.covered))
    if report.not_mutated:
        sentences.append("No mutants were tried: correct what failed first.")
    if report.mutation is not None:
        sentences.append(score_sentence(report, report.mutation))
    return sentences


def _suite(suite: SuiteOutcome) -> Iterator[Line]:
    failed = suite.failed
    counts = (
        f"{len(failed)} of {counted(len(suite.cases), 'case')}"
        if failed
        else counted(len(suite.cases), "case")
    )
    tested = "" if suite.policy == suite.name else f"{suite.policy}  "
    yield [
        _FAILED if failed else _OK,
        f"  {suite.name}  ",
        (Style.DIM, f"{counts}  {tested}{suite.source.file}"),
    ]
    for case in failed:
        for failure in case.failures:
            yield from _failure(case, failure)


def _failure(case: CaseOutcome, failure: Failure) -> Iterator[Line]:
    yield [f"      {failure.source}: ", (Style.BOLD, case.name)]
    yield [f"          expected  {failure.expected}"]
    yield [f"          came      {failure.came}"]
    if failure.advice:
        yield [(Style.DIM, f"          {failure.advice}")]


def _coverage(covered: tuple[Covered, ...]) -> Iterator[Line]:
    rows = [
        (item.policy, item.rule, *(("yes" if was else "no") for was in (item.fired, item.silent)))
        for item in covered
    ]
    head = ("policy", "rule", "fired", "silent")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    yield [(Style.BOLD, in_columns(head, widths))]
    for item, row in zip(covered, rows, strict=True):
        done = item.fired and item.silent
        place = "" if done or item.source is None else f"  {item.source}"
        yield [(Style.PLAIN if done else Style.YELLOW, in_columns(row, widths)), place]


def _mutation(mutation: MutationOutcome) -> Iterator[Line]:
    if not mutation.survivors:
        yield [(Style.BOLD, "No mutant survived.")]
        return
    yield [(Style.BOLD, "Mutants that no test noticed:")]
    for item in mutation.survivors:
        yield [f"  {item.source}: ", (Style.YELLOW, item.what)]
        yield [(Style.DIM, f"      {item.excerpt}")]


def coverage_sentence(report: PolicyTestReport, covered: tuple[Covered, ...]) -> str:
    """The coverage, and the coverage that is required."""
    percent = percent_covered(covered)
    missing = sum(not (item.fired and item.silent) for item in covered)
    sentence = f"Coverage is {_percent(percent)}"
    if missing:
        sentence += f": {counted(missing, 'rule')} did not both deny and let pass"
    if report.uncovered:
        sentence += f"; --min asks for {_percent(report.least_covered or 0)}"
    return f"{sentence}."


def score_sentence(report: PolicyTestReport, mutation: MutationOutcome) -> str:
    """The number of caught mutants, and the score that is required."""
    sentence = f"{mutation.caught} of {counted(mutation.total, 'mutant')} caught: "
    sentence += f"score {_percent(mutation.score)}"
    if mutation.timed_out:
        sentence += f", {mutation.timed_out} of them because they went in circles"
    if report.least_score is not None:
        asked = f"--min-score asks for {_percent(report.least_score)}"
        sentence += f"; {asked}" if report.survived else f" ({asked})"
    return f"{sentence}."


def _percent(number: float) -> str:
    """Never rounded up to what is not reached: 99.96 is 99.9 %."""
    return f"{int(number * 10) / 10:g} %"
