"""What is told of runs: what grew, who stands out, what stops."""

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from report.fleet.fleets import (
    FLEETS,
    a_failed_unit,
    a_history,
    a_run,
    a_unit,
    any_history,
    large,
    violations,
)
from tiers import examples

from kgitops.fleet.summary import History
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.fleet.highlights import (
    destructive_plans,
    failures,
    format_delta,
    format_drift_and_warnings,
    format_exit_counts,
    format_outlier,
    headline,
    refusals,
    standing_of,
    violations_by_policy,
)
from kgitops.report.fleet.history import delta_to_previous, run_totals, totals_by_run
from kgitops.report.fleet.outliers import outliers

YESTERDAY = "2026-11-21T03:00:00Z"


def test_a_history_has_a_run() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        History(runs=())
    only = a_history(a_run())
    assert (only.latest, only.previous, delta_to_previous(only)) == (only.runs[0], None, None)


def test_a_night_counts_what_its_units_have() -> None:
    run = a_run(
        a_unit("a", creates=3, drift=2),
        a_unit("a", "billing", updates=1, denied=4, advised=9),
        a_failed_unit("b"),
    )
    totals = run_totals(run)
    assert (totals.clusters, totals.units, totals.failed) == (2, 3, 1)
    assert (totals.changes, totals.drift, totals.denied) == (4, 2, 4)
    assert totals.exit is ExitCode.UNREACHABLE


def test_soft_policies_deny_too_unless_waived() -> None:
    levels = {
        ("cap", "soft", "denied"): 3,
        ("cap", "soft", "waived"): 50,
        ("cap", "advisory", "denied"): 700,
        ("cap", "hard", "denied"): 1,
    }
    assert run_totals(a_run(replace(a_unit(), violations=violations(levels)))).denied == 4


def test_warnings_are_counted_beside_drift() -> None:
    warned = replace(a_unit("a", drift=2), warning_count=3)
    assert format_drift_and_warnings(a_run(warned, a_unit("b"))) == "2 drifted, 14 kept, 3 warnings"
    assert format_drift_and_warnings(a_run()) == ""


def test_drift_grows_only_where_both_runs_know_it() -> None:
    """A cluster that could not be read had no drift that anyone counted, before or after."""
    before = a_run(
        a_unit("grew", drift=1),
        a_unit("shrank", drift=5),
        a_unit("same", drift=7),
        a_failed_unit("came back"),
        a_unit("failed", drift=3),
        a_unit("gone"),
        created=YESTERDAY,
    )
    after = a_run(
        a_unit("grew", drift=4),
        a_unit("shrank", drift=2),
        a_unit("same", drift=7),
        a_unit("came back", drift=50),
        a_failed_unit("failed"),
        a_unit("new", drift=9),
    )
    found = delta_to_previous(a_history(before, after))
    assert found
    assert [(each.unit.cluster, each.before, each.after) for each in found.grown] == [
        ("grew", 1, 4)
    ]
    assert found.now_failed == ("failed/payments",)
    assert found.planned_again == ("came back/payments",)
    assert (found.new_clusters, found.gone_clusters) == (("new",), ("gone",))
    assert format_delta(found, after) == (
        "changes 0 (±0), drift 72 (+56), denials 0 (±0), without a plan 1 (±0)"
    )


def test_what_grew_most_comes_first() -> None:
    before = a_run(*(a_unit(name, drift=1) for name in "abc"), created=YESTERDAY)
    after = a_run(*(a_unit(name, drift=n) for name, n in zip("abc", (3, 9, 3), strict=True)))
    found = delta_to_previous(a_history(before, after))
    assert found
    assert [each.unit.cluster for each in found.grown] == ["b", "a", "c"]


def test_an_outlier_is_far_from_those_that_have_any() -> None:
    quiet = [a_unit(f"quiet-{n}") for n in range(40)]
    usual = [a_unit(f"usual-{n}", creates=20 + n) for n in range(10)]
    near, far = a_unit("near", creates=119), a_unit("far", creates=130, deletes=1)
    (found,) = outliers([*quiet, *usual, near, far])
    assert found.unit is far
    assert found.level == "data-loss"
    assert format_outlier(found) == "131 changes (median 25)"


def test_where_hardly_anyone_has_any_a_few_stand_out() -> None:
    units = [a_unit(f"quiet-{n}") for n in range(100)]
    drifted = [a_unit(f"drifted-{n}", drift=n) for n in (9, 10, 60)]
    found = outliers([*units, *drifted])
    assert [each.unit.cluster for each in found] == ["drifted-60", "drifted-10"]
    assert format_outlier(found[0]) == "60 drifted (median 0)"
    assert found[0].level is None


def test_four_units_are_no_fleet_and_what_has_no_plan_does_not_count() -> None:
    units = [a_unit(f"quiet-{n}") for n in range(4)]
    loud = a_unit("loud", creates=5_000)
    assert outliers([*units[:3], loud]) == ()
    assert outliers([*units[:3], loud, a_failed_unit()]) == ()
    assert [each.unit for each in outliers([*units, loud])] == [loud]


def test_all_alike_nobody_stands_out() -> None:
    assert outliers([a_unit(f"c{n}", creates=900, drift=80) for n in range(30)]) == ()


@pytest.mark.parametrize(
    ("level", "outcome", "standing"),
    [
        ("hard", "denied", PolicyStatus.DENIED),
        ("soft", "denied", PolicyStatus.DENIED),
        ("soft", "waived", PolicyStatus.WAIVED),
        ("advisory", "denied", PolicyStatus.ADVISED),
        ("info", "denied", PolicyStatus.NOTED),
        ("of tomorrow", "denied", PolicyStatus.DENIED),
    ],
)
def test_a_violation_means_what_it_means_in_a_plan(
    level: str, outcome: str, standing: PolicyStatus
) -> None:
    assert standing_of(level, outcome) is standing


def test_rules_stand_by_what_they_stop_and_how_often() -> None:
    run = a_run(
        a_unit("a", denied=1, advised=90),
        a_unit("b", denied=5),
        replace(a_unit("c"), violations=violations({("quota-cap", "soft", "denied"): 7})),
    )
    assert [
        (rule.policy, rule.text, [*rule.units.items()]) for rule in violations_by_policy(run)
    ] == [
        ("quota-cap", "7 denied in 1 plan", [("c/payments", 7)]),
        ("retention-cap", "6 denied in 2 plans", [("b/payments", 5), ("a/payments", 1)]),
        ("topic-naming", "90 advised in 1 plan", [("a/payments", 90)]),
    ]


def test_a_refused_plan_is_told_by_its_reason_and_a_denied_one_by_its_policy() -> None:
    refused = replace(
        a_unit("a", deletes=40, denied=2),
        exit=ExitCode.DENIED,
        reasons=(
            Reason(exit=ExitCode.DENIED, sentence="a policy"),
            Reason(exit=ExitCode.REFUSED, sentence="40 deletions; --allow-deletes Topic=40"),
        ),
    )
    run = a_run(refused, a_unit("b", denied=3))
    assert [each.text for each in refusals(run)] == [
        "exit 5: 40 deletions; --allow-deletes Topic=40"
    ]
    assert failures(run) == ()
    assert headline(run) == (
        "2 of 2 plans are denied by policy and 1 is refused (exit 3); 40 changes are planned on "
        "1 of 2 clusters."
    )


def test_failures_have_their_worst_reason_and_how_many_more() -> None:
    many = replace(a_failed_unit("a"), reason_count=240)
    run = a_run(a_unit(), many, a_failed_unit("b", sentence="no route to host; look there"))
    assert [each.text for each in failures(run)] == [
        f"exit 8: {many.reasons[0].sentence} (and 239 more reasons)",
        "exit 8: no route to host; look there",
    ]
    assert format_exit_counts(failures(run)) == "2 with exit 8"


def test_what_destroys_most_comes_first() -> None:
    locked_out = replace(a_unit("c", updates=1), levels={"access-loss": 1})
    run = a_run(a_unit("a", deletes=1), a_unit("b", deletes=3, creates=6), locked_out, a_unit("d"))
    assert [(each.unit.cluster, each.text) for each in destructive_plans(run)] == [
        ("b", "3 with data loss, 3 deletions, of 9 changes"),
        ("a", "1 with data loss, 1 deletion, of 1 change"),
        ("c", "1 with access loss, of 1 change"),
    ]


def test_the_headline_answers() -> None:
    told = {name: headline(FLEETS[name]().latest) for name in FLEETS}
    assert told == {
        "empty": "There was nothing to plan.",
        "lone": "1 change is planned on one cluster; it can be applied.",
        "calm": "No changes: all 20 plans match their 20 clusters.",
        "all failed": "Of 500 plans none could be made (exit 8).",
        "large": told["large"],
    }
    assert told["large"].startswith("5 of 500 plans could not be made and ")
    error = Finding(source=None, problem="cluster x has no state", advice="give one")
    assert headline(a_run(a_unit(), findings=(error,))) == (
        "1 finding is about no single plan (exit 1); no changes are planned."
    )
    assert headline(a_run(findings=(error,))) == "There was nothing to plan (exit 1)."


@given(any_history)
@settings(max_examples=examples(40))
def test_nothing_is_counted_twice_or_left_out(history: History) -> None:
    run = history.latest
    assert len(totals_by_run(history)) == len(history.runs)
    assert sum(rule.count for rule in violations_by_policy(run)) == sum(
        each.count for unit in run.units for each in unit.violations if each.outcome != "passed"
    )
    assert {each.unit.name for each in failures(run)} == {
        unit.name for unit in run.units if not unit.planned
    }
    assert headline(run)
    delta_to_previous(history)


def test_the_large_fleet_shows_everything() -> None:
    """Else the tests of the renderers would prove little."""
    history = large()
    run = history.latest
    assert failures(run)
    assert destructive_plans(run)
    assert violations_by_policy(run)
    assert outliers(run.units)
    assert run.findings
    assert run.unplanned
    found = delta_to_previous(history)
    assert found
    assert found.grown
    assert found.now_failed
