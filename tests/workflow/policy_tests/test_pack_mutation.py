"""The pack's tests in YAML notice the mistakes that are made in its policies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgitops.policies
from kgitops.workflow.policy_tests.report import PolicyTestReport
from kgitops.workflow.policy_tests.testing import PolicyTestOptions, run_policy_tests
from kgitops.workflow.project.selection import Selection, open_workspace

ROOT = Path(__file__).parents[3]
LEAST = 90.0


@pytest.fixture(scope="module")
def report() -> Iterator[PolicyTestReport]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        workspace = open_workspace(Selection(paths=[Path("tests/pack")], offline=True))
        yield run_policy_tests(
            workspace, PolicyTestOptions(coverage=True, mutate=True, least_score=LEAST)
        )


def test_every_case_of_the_pack_passes(report: PolicyTestReport) -> None:
    failures = [
        f"{failure.source}: {failure.expected}; {failure.came}"
        for suite in report.suites
        for case in suite.failed
        for failure in case.failures
    ]
    assert failures == []
    assert report.cases > 150


def test_every_rule_of_every_policy_denies_and_lets_pass(report: PolicyTestReport) -> None:
    assert [item for item in report.covered or () if not (item.fired and item.silent)] == []


def test_nine_of_ten_mutants_of_the_pack_are_caught(report: PolicyTestReport) -> None:
    assert report.mutation is not None
    survivors = "\n".join(f"{one.source}: {one.what}" for one in report.mutation.survivors)
    assert report.mutation.score >= LEAST, survivors
    assert report.mutation.total > 200


def test_every_policy_of_the_pack_has_a_test(report: PolicyTestReport) -> None:
    """By the rules that were covered: each class of the pack has some."""
    tested = {suite.policy.partition(" (")[0].replace("-", "") for suite in report.suites}
    assert {name.lower() for name in kgitops.policies.__all__} - tested == set()
