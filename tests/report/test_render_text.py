"""The text report: risk first, nothing dangerous hidden, numbers that agree with JSON."""

import re

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from report.plans import (
    ALL_PLANS,
    TOPIC_ID,
    acl_change,
    any_plan,
    binding,
    create_topic,
    delete_topic,
    make_plan,
    no_changes,
    refused_plan,
    sealed,
    shrink_topic,
    thousand_changes,
    twelve_changes,
    update_topic,
)
from syrupy.assertion import SnapshotAssertion
from tiers import examples

from kgitops.model.resources.kinds import Kind
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document import risks
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Action, Base, Drift, FieldChange, Plan
from kgitops.report.text.plan import render_text


def shown(plan: Plan, **options: object) -> str:
    return render_text(plan, sealed=sealed(plan), width=120, saved_as="plan.json", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ALL_PLANS)
def test_the_layout(name: str, snapshot: SnapshotAssertion) -> None:
    assert shown(ALL_PLANS[name]()) == snapshot


def test_the_full_layout(snapshot: SnapshotAssertion) -> None:
    assert shown(twelve_changes(), full=True) == snapshot


def test_the_colours(snapshot: SnapshotAssertion) -> None:
    assert shown(twelve_changes(), colour=True) == snapshot


def test_nothing_depends_on_colour() -> None:
    coloured = shown(twelve_changes(), colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(twelve_changes())


@given(any_plan)
@settings(max_examples=examples(60))
def test_text_verdict_and_json_agree(plan: Plan) -> None:
    """The same counts in the sentence, the headings and the JSON; exit codes alike (goal G12)."""
    text = render_text(plan)
    document = plan_to_json(plan)
    counts, verdict = document["summary"], document["verdict"]
    if plan.changes:
        sentence = re.search(r"^Plan: (.*)\.$", text, re.MULTILINE)
        assert sentence is not None
        words = {f"to {each}": counts[each] for each in Action}
        words |= {"kept": counts["kept"], "drifted": counts["drift"], "denied": counts["denied"]}
        told = [f"{count} {word}" for word, count in words.items() if count]
        assert re.split("[,;] ", sentence[1]) == told
    assert ("No changes. The cluster matches the manifests." in text) == (verdict["exit"] == 0)
    if verdict["exit"] not in (0, 2):
        them = "it" if len(verdict["reasons"]) == 1 else "them"
        assert f"exit {verdict['exit']}. Resolve {them} and plan again." in text
        # Each reason once: a denial among the policies, every other one here.
        stops = re.search(r"^STOPS \((\d+)\)$", text, re.MULTILINE)
        denials = re.search(r"^POLICY \((\d+) denied", text, re.MULTILINE)
        told = [int(match[1]) for match in (stops, denials) if match]
        assert sum(told) == len(verdict["reasons"])
    titles = "DATA LOSS|ACCESS LOSS|DISRUPTIVE|DELETE|UPDATE|ADOPT|FORGET|CREATE"
    headings = re.findall(rf"^(?:{titles}) \(([\d,]+)\)$", text, re.MULTILINE)
    assert sum(int(count.replace(",", "")) for count in headings) == len(plan.changes)


@pytest.mark.parametrize("full", [False, True])
def test_what_hurts_is_always_there_by_its_full_name(full: bool) -> None:
    """However many there are, deletions, lost data and lost access are listed one by one."""
    many = [delete_topic(f"gone.{n}") for n in range(300)]
    many += [shrink_topic(f"short.{n}") for n in range(300)]
    many += [acl_change(binding(f"User:u{n}", "t"), Action.DELETE) for n in range(300)]
    text = shown(make_plan(*many), full=full)
    for n in range(300):
        assert re.search(rf"topic gone\.{n}\s", text)
        assert re.search(rf"topic short\.{n}\s", text)
        assert f"acl User:u{n} Allow Read topic t (literal)" in text


def test_a_deletion_shows_the_topic_id_alone_and_among_many() -> None:
    for count in (1, 2, 5, 50):
        plan = make_plan(*(delete_topic(f"t{n}", topic_id=f"id-{n}") for n in range(count)))
        for n in range(count):
            assert f"topic id id-{n}," in shown(plan)


def test_risk_comes_first() -> None:
    text = shown(twelve_changes())
    titles = ["DATA LOSS", "ACCESS LOSS", "DISRUPTIVE", "UPDATE", "ADOPT", "FORGET", "CREATE"]
    places = [text.index(f"\n{title} (") for title in titles]
    assert places == sorted(places)


def test_twenty_creations_are_listed_and_more_are_counted_by_prefix() -> None:
    twenty = shown(make_plan(*(create_topic(f"a.t{n}") for n in range(20))))
    assert "topic a.t19" in twenty
    text = shown(make_plan(*(create_topic(f"a.t{n}") for n in range(21))))
    assert "+ 21 topics, 126 partitions" in text
    assert "a.* (21)   all: --full" in text
    assert "topic a.t19" not in text


def test_full_folds_nothing() -> None:
    text = shown(thousand_changes(), full=True)
    for change in thousand_changes().changes:
        assert change.address.partition("/")[2].split("/")[0].split("@")[0] in text
    assert "all: --full" not in text
    assert text.count("request topic/") == sum(
        len(change.requests) for change in thousand_changes().changes if change.kind is Kind.TOPIC
    )


def test_requests_are_shown_only_when_asked_for() -> None:
    assert "request topic/orders.v1#0: DeleteTopic" not in shown(twelve_changes())
    assert "request topic/orders.v1#0: DeleteTopic" in shown(twelve_changes(), full=True)


def test_the_legend_names_only_the_symbols_used() -> None:
    assert shown(make_plan(create_topic("a"))).endswith("\n+ create\n")
    assert shown(twelve_changes()).endswith(
        "\n+ create  ~ update  - delete  > adopt  . forget  ! risk\n"
    )


def test_no_changes_says_so_and_asks_for_nothing() -> None:
    text = shown(no_changes())
    assert text.endswith("\nNo changes. The cluster matches the manifests.\n")
    assert "apply" not in text


def test_a_refused_plan_without_changes_never_claims_that_all_is_well() -> None:
    plan = make_plan(refusals=(Reason(exit=ExitCode.REFUSED, sentence="topic/a is protected"),))
    text = shown(plan)
    assert "matches the manifests" not in text
    assert "! exit 5: topic/a is protected" in text
    assert "Refused by a safety rule: 1 reason, exit 5." in text


def test_a_plan_that_stops_does_not_suggest_to_apply_it() -> None:
    assert "next: kgitops apply" not in shown(refused_plan())
    assert "next: kgitops apply plan.json" in shown(twelve_changes())


def test_a_removed_config_shows_the_value_that_will_apply() -> None:
    text = shown(make_plan(shrink_topic("a")))
    assert "- max.message.bytes  2097164 (2.0 MiB) -> 1048588 (1.0 MiB; cluster default)" in text


def test_a_config_that_was_not_set_shows_the_value_that_applied() -> None:
    field = FieldChange(
        path="configs.retention.ms",
        before=None,
        after="3600000",
        risk=risks.RETENTION_SHRINK,
        note="604800000 applied before (Kafka default)",
    )
    text = shown(make_plan(replace(update_topic("a"), fields=(field,))))
    assert "+ retention.ms  604800000 (7 d; Kafka default) -> 3600000 (1 h)" in text


def test_a_risk_that_no_field_carries_is_told() -> None:
    change = replace(create_topic("a"), risks=(risks.MIN_ISR_UNREACHABLE, risks.TOPIC_CREATE))
    assert "KG126 min-insync-unreachable  ! min.insync.replicas leaves" in shown(make_plan(change))


def test_moved_replicas_are_told_by_partition() -> None:
    field = FieldChange(
        path="assignments",
        before="[[1,2],[2,3],[3,1]]",
        after="[[1,2],[2,4],[3,1]]",
        risk=risks.REPLICAS_MOVE,
    )
    text = shown(make_plan(replace(update_topic("a"), fields=(field,))))
    assert "~ assignments  1 of 3 partitions moves: 1 [2,3] -> [2,4]" in text


def test_changes_that_are_alike_share_their_details() -> None:
    text = shown(make_plan(*(update_topic(f"logs.{n}") for n in range(5))))
    assert text.count("segment.bytes") == 1
    assert "~ 5 topics" in text
    for n in range(5):
        assert f"~ topic logs.{n}" in text


def test_changes_of_other_values_are_not_alike() -> None:
    long = "x" * 300

    def changed(name: str, tail: str) -> FieldChange:
        return FieldChange(path="configs.a", before=f"{long}y{long}", after=f"{long}{tail}{long}")

    plan = make_plan(
        *(replace(update_topic(t), fields=(changed(t, t),)) for t in ("aa", "bb", "cc", "dd"))
    )
    assert shown(plan).count("configs.a") == 0
    assert len(re.findall(r"~ a  ", shown(plan))) == 4


def test_drift_is_told_by_its_rule() -> None:
    rows = [
        Drift(address="topic/a", path="", last_applied="present", found=None, rule="missing"),
        Drift(address="topic/b", path="partitions", last_applied="1", found="2", rule="accepted"),
    ]
    text = shown(make_plan(drift=tuple(rows)))
    assert "topic a  deleted outside of kgitops; this plan re-creates it" in text
    assert "topic b  partitions 1 -> 2  changed outside of kgitops; the manifests now say" in text


def test_a_first_run_says_that_it_can_not_delete() -> None:
    text = shown(make_plan(create_topic("a"), base=Base(digest="sha256:b", registry=None)))
    assert "note: first run on this cluster" in text


def test_the_width_bounds_what_can_be_wrapped() -> None:
    plan = make_plan(*(create_topic(f"team-{n % 11}-with-a-name.t{n}") for n in range(300)))
    for width in (80, 120, 160):
        text = render_text(plan, width=width)
        names = [line for line in text.splitlines() if ".* (" in line]
        assert max(map(len, names)) <= width
        assert len(names) > 1


def test_ascii_escapes_everything_else() -> None:
    plan = make_plan(acl_change(binding("User:Zoë", "t"), Action.CREATE))
    assert "User:Zoë" in shown(plan)
    assert r"User:Zo\xeb" in shown(plan, ascii=True)


def test_one_topic_id_stands_for_the_deleted_topic() -> None:
    assert TOPIC_ID in shown(make_plan(delete_topic("a")))
    assert TOPIC_ID not in shown(make_plan(update_topic("a")))
