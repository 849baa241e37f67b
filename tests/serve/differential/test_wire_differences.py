"""A served cluster answers random programs as a real Kafka does, but for a closed list."""

import os
from contextlib import ExitStack
from itertools import islice

import pytest
from cluster.kafka.differences_page import WRITE
from cluster.kafka.test_differences import compiled
from kafka_clusters import StartKafka
from serve.differential.comparable import Difference, differences, plain
from serve.differential.explained_on_the_wire import EXPLAINED_ON_THE_WIRE
from serve.differential.wire_differences_page import WIRE_PAGE, Tally, render_wire_page
from serve.differential.wire_programs import program
from serve.differential.wire_worlds import WireWorld, real_world, served_world, version_of
from test_cited_rules import rules as known_rules

PROGRAMS = 150
MOST_SHOWN = 20


@pytest.fixture(scope="module")
def tally(own_kafka: StartKafka) -> Tally:
    """What both clusters answered to all programs."""
    found = Tally()
    with ExitStack() as stack:
        served = stack.enter_context(served_world())
        real = stack.enter_context(real_world(own_kafka(brokers=3, sasl=True)))
        for seed in range(PROGRAMS):
            _ask_both(seed, served, real, found)
    return found


def _ask_both(seed: int, served: WireWorld, real: WireWorld, tally: Tally) -> None:
    """Ask until the clusters' ways part."""
    for step in program(seed):
        version = version_of(step, (served, real))
        ours = plain(served.ask(step, version), served.topics)
        theirs = plain(real.ask(step, version), real.topics)
        found = differences(step.api, ours, theirs, f"w{seed}-")
        tally.add(step.api, version, found)
        if step.writes and any(map(_parts_the_ways, found)):
            return


def _parts_the_ways(difference: Difference) -> bool:
    """Tell if more may differ from now on; the configs of Kafka 4.4 alone change nothing."""
    return not EXPLAINED_ON_THE_WIRE[0].explains(difference)


def test_every_difference_on_the_wire_is_explained(tally: Tally) -> None:
    unexplained = [
        str(item)
        for item in sorted(tally.differences)
        if not any(explanation.explains(item) for explanation in EXPLAINED_ON_THE_WIRE)
    ]
    assert not unexplained, "\n".join(islice(unexplained, MOST_SHOWN))


def test_every_explanation_on_the_wire_is_needed(tally: Tally) -> None:
    needless = [
        str(explanation)
        for explanation in EXPLAINED_ON_THE_WIRE
        if not any(map(explanation.explains, tally.differences))
    ]
    assert not needless


def test_every_api_of_a_program_was_asked(tally: Tally) -> None:
    """Most of them often, and most answers are alike."""
    assert len(tally.asked) >= 34
    assert min(tally.asked.values()) >= 3
    assert tally.differing.total() < tally.asked.total() / 3


def test_every_explanation_on_the_wire_cites_a_rule_or_a_method_of_kafka() -> None:
    reasons = [explanation.reason for explanation in EXPLAINED_ON_THE_WIRE]
    assert all(reason.rule or reason.source for reason in reasons)
    assert {reason.rule for reason in reasons if reason.rule} <= known_rules()
    for source in {reason.source for reason in reasons if reason.source}:
        assert source.method.encode() in compiled(source)


def test_a_difference_is_found_in_any_field(tally: Tally) -> None:
    """The comparison itself: a value, a row that is missing, and a row that is repeated."""
    rows = [{"name": "a", "error_code": 0}, {"name": "b", "error_code": 0}]
    other = [{"name": "a", "error_code": 3}]
    found = differences("Any", {"topics": rows}, {"topics": [*other, *other]}, "")
    assert [(item.field, item.served, item.real) for item in found] == [
        ("topics", "'no row'", "{'name': 'a', 'error_code': 3}"),
        ("topics", "{'name': 'b', 'error_code': 0}", "'no row'"),
        ("topics.error_code", "0", "3"),
    ]


def test_the_page_of_the_wire_is_up_to_date(tally: Tally) -> None:
    page = render_wire_page(tally, PROGRAMS)
    if os.environ.get(WRITE):
        WIRE_PAGE.write_text(page, encoding="utf-8")
    assert WIRE_PAGE.read_text(encoding="utf-8") == page
