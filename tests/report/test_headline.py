"""The first line of a plan: what is lost, counted and by name, and nothing that is not there."""

from hypothesis import given, settings
from msgspec.structs import replace
from report.plans import (
    acl_change,
    any_plan,
    binding,
    create_topic,
    delete_topic,
    make_plan,
    refused_plan,
    shrink_topic,
)
from tiers import examples

from kgitops.model.resources.kinds import Kind
from kgitops.plan.document import risks
from kgitops.plan.document.plan import AccessLoss, Action, Change, Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.report.ci.github import render_github
from kgitops.report.ci.junit import render_junit
from kgitops.report.content.statements import loss_summary, plan_headline
from kgitops.report.html.render import render_html
from kgitops.report.markdown.plan import render_markdown
from kgitops.report.text.plan import render_text

GRAVE = ("deleted", "lost", "revoked", "taken over")


def loss(principal: str, operation: str = "Read") -> AccessLoss:
    return AccessLoss(principal=principal, operation=operation, resource="topic t (literal)")


def hurting() -> Plan:
    gone = [delete_topic(name) for name in ("orders", "returns", "a", "b")]
    revoked = acl_change(binding("User:billing", "t"), Action.DELETE)
    losses = tuple(loss(user) for user in ("User:a", "User:b", "User:c", "User:d"))
    return make_plan(*gone, shrink_topic("clicks"), revoked, access_losses=losses)


def test_data_of_another_kind_is_not_told_as_offsets_of_groups() -> None:
    """Offsets are those of groups; a loss of a kind that has no words of its own is an object's."""
    change = acl_change(binding("User:billing", "t"), Action.ADOPT)
    plan = make_plan(replace(change, risks=(risks.RETENTION_SHRINK,)))
    assert "offsets" not in loss_summary(plan)
    assert loss_summary(plan).startswith("data of 1 object may be lost: ")


def test_topics_records_and_rights_are_counted_and_named() -> None:
    assert loss_summary(hurting()) == (
        "4 topics with 72,801,380 records are deleted: orders, returns, a and 1 more; "
        "records of 1 topic may be lost: clicks; "
        "4 rights are revoked: User:a, User:b, User:c and 1 more"
    )


def test_it_is_the_first_line_of_a_plan_for_people() -> None:
    plan = hurting()
    said = "4 topics with 72,801,380 records are deleted: "
    first = (
        "kgitops plan for prod-eu: 4 topics with 72,801,380 records are deleted; "
        "records of 1 topic may be lost; 1 further risk"
    )
    assert render_text(plan).splitlines()[0] == first
    assert first.replace("prod-eu", "`prod-eu`") in render_markdown(plan).splitlines()[1]
    assert f'<p class="headline">{said}' in render_html(plan)
    assert render_github(plan).splitlines()[-1].startswith(said)
    assert said in render_junit(plan)


def test_one_of_each_is_told_in_the_singular() -> None:
    plan = make_plan(delete_topic("orders"), access_losses=(loss("User:a"),))
    assert loss_summary(plan) == (
        "1 topic with 18,200,345 records is deleted: orders; 1 right is revoked: User:a"
    )


def test_what_is_known_to_be_empty_and_what_nobody_counted_is_told_apart() -> None:
    def held(**impact: str) -> Change:
        return replace(delete_topic("orders"), impact=impact)

    assert loss_summary(make_plan(held(records="0"))) == "1 empty topic is deleted: orders"
    assert loss_summary(make_plan(held())) == "1 topic is deleted: orders"
    both = make_plan(held(), held(records="7"))
    assert loss_summary(both) == "2 topics are deleted: orders, orders"


def test_a_plan_without_risk_says_so_and_one_that_stops_why() -> None:
    assert loss_summary(make_plan(create_topic("a"))) == ""
    assert plan_headline(make_plan(create_topic("a"))).endswith(": nothing risky")
    assert plan_headline(make_plan()).endswith(": no changes")
    assert plan_headline(refused_plan()).endswith("; stops with exit 1")


def test_names_are_left_out_before_losses_and_losses_before_the_exit() -> None:
    one = make_plan(delete_topic("orders"))
    assert plan_headline(one) == (
        "kgitops plan for prod-eu: 1 topic with 18,200,345 records is deleted: orders"
    )
    assert plan_headline(make_plan(delete_topic("o" * 60))) == (
        "kgitops plan for prod-eu: 1 topic with 18,200,345 records is deleted"
    )


def test_the_longest_words_fit_beside_the_longest_name_of_a_cluster() -> None:
    change = replace(
        acl_change(binding("User:a", "t"), Action.UPDATE),
        address="broker-config/<default>",
        kind=Kind.BROKER_CONFIG,
        risks=(risks.BROKER_CONFIG_DATA,),
    )
    revoked = acl_change(binding("User:billing", "t"), Action.DELETE)
    for changes, losses, end in (
        ((change,), (), "stops with exit"),
        ((change, revoked), (loss("User:a"),), "1 further risk; stops with exit"),
    ):
        plan = replace(make_plan(*changes, access_losses=losses), refusals=refused_plan().refusals)
        plan = replace(
            plan, target=replace(plan.target, name="a-cluster-with-a-name-so-long-that-it-is-cut")
        )
        said = plan_headline(plan)
        assert len(said) <= 120
        assert said.startswith("kgitops plan for a-cluster-")
        assert f"records of topics with default configs may be lost; {end}" in said


@given(any_plan)
@settings(max_examples=examples(60), deadline=None)
def test_the_first_line_has_at_most_120_characters_and_the_exit(plan: Plan) -> None:
    said = plan_headline(plan)
    assert len(said) <= 120
    assert said.endswith(f"stops with exit {int(plan.verdict.exit)}") is plan.verdict.stops
    assert (loss_summary(plan) == "") or any(
        word in said for word in (*GRAVE, "added", "disruptive")
    )


@given(any_plan)
@settings(max_examples=examples(60), deadline=None)
def test_whatever_loses_data_or_rights_is_in_the_first_line(plan: Plan) -> None:
    said = loss_summary(plan, name=lambda _: "NAME")
    grave = plan.access_losses or any(
        change.level is RiskLevel.DATA_LOSS
        or change.risk in (risks.EMPTY_TOPIC_DELETE, risks.MECHANISM_REMOVE, risks.USER_DELETE)
        for change in plan.changes
    )
    assert bool(grave) == any(word in said for word in GRAVE)
    assert " 0 " not in f" {said} "


def test_the_deletion_of_empty_topics_is_said_but_is_no_loss() -> None:
    empty = replace(delete_topic("orders"), risks=(risks.EMPTY_TOPIC_DELETE,))
    plan = make_plan(empty, replace(empty, address="topic/other"))
    assert loss_summary(plan).startswith("2 empty topics are deleted")
    assert "DATA LOSS" not in render_text(plan)


def test_a_topic_without_records_is_not_said_to_lose_every_record() -> None:
    """It stays a data loss: records may come between the plan and the apply."""
    empty = make_plan(replace(delete_topic("orders"), impact={"partitions": 1, "records": "0"}))
    unknown = make_plan(replace(delete_topic("orders"), impact={"partitions": 1}))
    for render in (render_text, render_markdown, render_html):
        assert "the topic had no records when it was planned" in render(empty)
        assert "every record of the topic is lost" not in render(empty).partition("safer")[0]
        assert "every record of the topic is lost" in render(unknown)
    assert "DATA LOSS (1)" in render_text(empty)
