"""A fleet's report names what each plan would lose."""

import json
from pathlib import Path

from report.fleet.fleets import a_history, a_run, a_unit
from report.plans import delete_topic, make_plan

from kgitops.fleet.output.writing import plan_summary
from kgitops.fleet.summary import UnitSummary
from kgitops.fleet.summary_json import read_run, run_to_text
from kgitops.fleet.units.unit import ManifestFiles, StateFiles, StateFormat, Unit
from kgitops.plan.document.plan import AccessLoss, Plan
from kgitops.report.fleet.fleet_html import render_fleet_html
from kgitops.report.fleet.fleet_markdown import render_fleet_markdown
from kgitops.report.fleet.fleet_text import render_fleet_text

SAID = (
    "2 topics with 36,400,690 records are deleted: orders, returns; "
    "1 right is revoked: User:billing"
)


def losing() -> Plan:
    loss = AccessLoss(principal="User:billing", operation="Read", resource="topic t (literal)")
    return make_plan(delete_topic("orders"), delete_topic("returns"), access_losses=(loss,))


def counted(plan: Plan) -> UnitSummary:
    unit = Unit(
        cluster="prod-eu",
        project="payments",
        state=StateFiles(form=StateFormat.JSON, files=(Path("state.json"),)),
        desired=ManifestFiles(paths=(Path("payments"),)),
    )
    return plan_summary(plan, unit, captured_at="", objects={}, files=())


def test_what_is_lost_is_counted_and_named_in_every_form() -> None:
    history = a_history(a_run(counted(losing()), a_unit("quiet")))
    text = " ".join(render_fleet_text(history).split())
    assert f"prod-eu/payments {SAID} (of 2 changes)" in text
    assert f"prod-eu/payments  {SAID} (of 2 changes)" in render_fleet_markdown(history)
    assert f"{SAID} (of 2 changes)" in render_fleet_html(history)


def test_it_is_kept_in_the_summary_and_an_older_one_is_read() -> None:
    run = a_run(counted(losing()))
    written = run_to_text(run)
    assert read_run(written, "fleet.json") == run
    document = json.loads(written)
    assert document["units"][0].pop("lost") == SAID
    older = read_run(json.dumps(document), "fleet.json")
    assert older.units[0].lost == ""
    assert "2 with data loss, 2 deletions, of 2 changes" in " ".join(
        render_fleet_text(a_history(older)).split()
    )


def test_a_plan_that_loses_nothing_says_nothing() -> None:
    assert counted(make_plan()).lost == ""
