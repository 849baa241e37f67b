"""``kgitops fleet summary``: a run, a history, and one cluster's plan out of them."""

import json
from pathlib import Path

import pytest
from builders import a_cluster, a_desired, a_topic, plan_of
from cli.conftest import Kgitops
from fleet.output.fleet_results import committed, unit
from msgspec.structs import replace
from report.fleet.fleets import FLEETS, a_run, a_unit, large
from report.plans import judged_plan, no_changes, twelve_changes

from kgitops.fleet.summary import History
from kgitops.fleet.summary_json import run_to_text
from kgitops.plan.document.plan import Plan
from kgitops.plan.reading import read_plan
from kgitops.report.fleet.highlights import headline


def planned() -> Plan:
    """A plan as it is made: one new topic."""
    return plan_of(a_desired(a_topic()), a_cluster())


def denied() -> Plan:
    """The same, denied by a policy."""
    made, judged = planned(), judged_plan()
    results = next(change.policies for change in judged.changes if change.denied)
    changes = tuple(replace(change, policies=results) for change in made.changes)
    return replace(made, changes=changes, policies_loaded=judged.policies_loaded)


def save(history: History, folder: Path) -> None:
    """Each run in a folder of its own."""
    for number, run in enumerate(history.runs):
        (folder / str(number)).mkdir(parents=True)
        file = folder / str(number) / "fleet.json"
        file.write_text(run_to_text(run), encoding="utf-8")


@pytest.mark.parametrize(
    ("fleet", "code", "detailed"),
    [("empty", 0, 0), ("calm", 0, 0), ("lone", 0, 2), ("all failed", 8, 8), ("large", 8, 8)],
)
def test_the_exit_code_is_the_runs(
    fleet: str, code: int, detailed: int, here: Path, kgitops: Kgitops
) -> None:
    history = FLEETS[fleet]()
    save(history, here / "runs")
    ran = kgitops("fleet", "summary", "runs")
    assert (ran.code, ran.err) == (code, "")
    assert headline(history.latest) in ran.said
    assert kgitops("fleet", "summary", "runs", "--detailed-exitcode").code == detailed


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("text", "kgitops fleet  500 clusters"),
        ("json", '{\n  "format_version": "1.0"'),
        ("markdown", "<!-- kgitops:fleet:"),
        ("html", "<!doctype html>"),
    ],
)
def test_each_form_is_on_stdout_alone(form: str, begins: str, here: Path, kgitops: Kgitops) -> None:
    save(large(), here / "runs")
    ran = kgitops("fleet", "summary", "runs", "--format", form)
    assert ran.out.startswith(begins)
    assert (ran.code, ran.err) == (8, "")


def test_one_run_of_a_history_is_shown_by_its_folder(here: Path, kgitops: Kgitops) -> None:
    save(large(40, runs=3), here / "runs")
    whole = json.loads(kgitops("fleet", "summary", "runs", "--format", "json").out)
    first = json.loads(kgitops("fleet", "summary", "runs/0", "--format", "json").out)
    assert whole["runs"][0]["created"] == first["run"]["created"]
    assert first["since"] is None
    assert whole["since"]["created"] == large(40, runs=3).runs[1].created


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "sarif", "junit", "github"])
def test_one_clusters_plan_is_shown_as_any_plan_is(form: str, here: Path, kgitops: Kgitops) -> None:
    committed(here / "out", (unit("prod-eu"), denied()), (unit("prod-us"), no_changes()))
    ran = kgitops("fleet", "summary", "out", "-c", "prod-eu", "-o", "plan.json", "--format", form)
    shown = kgitops("show", "plan.json", "--format", form)
    assert (ran.code, ran.out) == (shown.code, shown.out)
    assert ran.code == 3


def test_a_saved_plan_is_whole_and_of_the_newest_run(here: Path, kgitops: Kgitops) -> None:
    (here / "runs").mkdir()
    committed(here / "runs" / "monday", (unit("prod-eu"), planned()))
    ran = kgitops("fleet", "summary", "runs", "--cluster", "prod-eu", "-o", "plan.json")
    assert ran.code == 0
    sealed = read_plan((here / "plan.json").read_text(), "plan.json")
    assert len(sealed.plan.changes) == len(planned().changes)
    detailed = kgitops("fleet", "summary", "runs", "-c", "prod-eu", "--detailed-exitcode")
    assert detailed.code == 2


def test_several_projects_of_a_cluster_are_told_apart(here: Path, kgitops: Kgitops) -> None:
    committed(
        here / "out",
        (unit("prod-eu", "payments"), twelve_changes()),
        (unit("prod-eu", "billing"), no_changes()),
    )
    words = ("fleet", "summary", "out", "--cluster", "prod-eu")
    assert kgitops(*words).code == 64
    assert "--project" in kgitops(*words).err
    ran = kgitops(*words, "--project", "billing", "--detailed-exitcode")
    assert (ran.code, "No changes" in ran.out) == (0, True)


def test_a_run_that_was_killed_while_it_took_its_place_is_put_back(
    here: Path, kgitops: Kgitops
) -> None:
    committed(here / "out", (unit("prod-eu"), planned()))
    whole = kgitops("fleet", "summary", "out").out
    (here / "out").rename(here / ".out.kgitops-old")
    ran = kgitops("fleet", "summary", "out")
    assert (ran.code, ran.out) == (0, whole)
    (here / "out").rename(here / ".out.kgitops-old")
    assert kgitops("fleet", "summary", "out", "-c", "prod-eu").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "-o", "x.json"), "-o is about the plan of one cluster; name it with --cluster"),
        (("run", "--project", "a"), "--project is about the plan of one cluster"),
        (("run", "--format", "sarif"), "--format sarif shows the plan of one cluster"),
        (("nowhere",), "nowhere can't be read: no such file or directory; name a folder that"),
        (("nowhere", "-c", "x"), "nowhere can't be read: no such file or directory"),
        (("run", "-c", "emea-2"), "run has no plan for a cluster emea-2; did you mean emea-1?"),
        (("run", "-c", "emea-1", "-o", "no/x.json"), "-o no/x.json: there is no folder no"),
        ((), "DIR"),
    ],
)
def test_what_can_not_be_meant_is_one_sentence(
    words: tuple[str, ...], said: str, here: Path, kgitops: Kgitops
) -> None:
    (here / "run").mkdir()
    (here / "run" / "fleet.json").write_text(run_to_text(a_run(a_unit())), encoding="utf-8")
    ran = kgitops("fleet", "summary", *words)
    assert (ran.code, ran.out) == (64, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (here / "x.json").exists()


def test_a_damaged_run_is_not_to_be_trusted(here: Path, kgitops: Kgitops) -> None:
    (here / "run").mkdir()
    (here / "run" / "fleet.json").write_text('{"created"', encoding="utf-8")
    ran = kgitops("fleet", "summary", "run", "--format", "json")
    assert ran.code == 9
    assert json.loads(ran.out)["verdict"]["exit"] == 9
    assert ran.err.startswith("kgitops: run/fleet.json is not JSON, or is cut off; make it again")


def test_diff_shows_runs_side_by_side(here: Path, kgitops: Kgitops) -> None:
    old, new = here / "old", here / "new"
    committed(old, (unit("east"), judged_plan()), (unit("west"), twelve_changes()))
    committed(new, (unit("east"), judged_plan()), (unit("west"), no_changes()))
    ran = kgitops("diff", old, new, "--detailed-exitcode")
    assert ran.code == 2, ran.said
    assert "- west/" in ran.out
    assert "east/" not in ran.out
    assert kgitops("diff", old, old, "--detailed-exitcode").code == 0
