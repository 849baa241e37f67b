"""The embedded cluster answers as a real one does, but for a closed list of explained rows."""

import os
import re
import zipfile
from collections.abc import Sequence
from contextlib import closing

import pytest
from cluster.kafka.difference_access import ACCESS, RIGHTS
from cluster.kafka.difference_topics import DEAD, DEAD_BROKER, TOPICS
from cluster.kafka.difference_world import (
    Ask,
    Case,
    EmbeddedClusters,
    RealClusters,
    World,
    can_be_validated,
)
from cluster.kafka.differences_page import (
    PAGE,
    WRITE,
    Answers,
    Row,
    answer_cell,
    embedded_answers,
    render_page,
    shortened,
)
from cluster.kafka.explained_differences import EXPLAINED, Source
from kafka_clusters import StartKafka
from test_cited_rules import rules as known_rules

from kgitops.sandbox.jars import libs_folder

CASES: Sequence[Case] = (*TOPICS, *ACCESS, *RIGHTS, *DEAD)


@pytest.fixture(scope="module")
def rows(own_kafka: StartKafka) -> Sequence[Row]:
    """The answers of both clusters by case; those at the end are with a dead broker."""
    embedded, real = EmbeddedClusters(), RealClusters(own_kafka(brokers=3, sasl=True))
    try:
        answers = [_ask_all(World(clusters=clusters)) for clusters in (embedded, real)]
    finally:
        embedded.close()
        real.close()
    return [Row(case.rpc, case.name, *both) for case, *both in zip(CASES, *answers, strict=True)]


def _ask_all(world: World) -> Sequence[Answers]:
    living = [_ask_living(world, case) for case in CASES if not case.dead]
    dead = [case for case in CASES if case.dead]
    asked = [case.prepare(world, _object_name(case)) for case in dead]
    world.clusters.kill(DEAD_BROKER)
    return [*living, *(_ask(world, case, asks) for case, asks in zip(dead, asked, strict=True))]


def _ask_living(world: World, case: Case) -> Answers:
    name = _object_name(case)
    with world.granted(case.rights(name) if case.rights else ()):
        return _ask(world, case, case.prepare(world, name))


def _ask(world: World, case: Case, asked: Sequence[Ask]) -> Answers:
    judged = None
    if not case.apart and all(map(can_be_validated, asked)):
        judged = shortened(world.ask(case, asked, validate_only=True))
    return Answers(judged, None if case.only_judged else shortened(world.ask(case, asked)))


def _object_name(case: Case) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", case.label)


def test_the_embedded_cluster_answers_what_the_page_says() -> None:
    """All cases, also where no Kafka is asked: the page has what Kafka answered.

    A4-10, A4-11, A4-15, A4-45, A4-49: names, configs and replicas of topics; A4-71, A4-72, A4-73:
    more partitions; A4-80: moves; A4-81, C-26: deleted records; A4-91, A4-95: ACLs; F590-50,
    F590-51: quotas; A4-32, A4-64, A4-79, A4-88, F590-52, C-04, C-05, C-11: rights.
    """
    with closing(EmbeddedClusters()) as clusters:
        answers = _ask_all(World(clusters=clusters))
    told = {case.label: answer_cell(item) for case, item in zip(CASES, answers, strict=True)}
    assert told == embedded_answers(PAGE.read_text(encoding="utf-8"))


def test_every_difference_is_explained_and_every_explanation_needed(rows: Sequence[Row]) -> None:
    different = {row.label: (row.embedded, row.real) for row in rows if row.differs}
    unexplained = {label: different[label] for label in different.keys() - EXPLAINED.keys()}
    assert not unexplained, "\n".join(f"{k}\n   {v}" for k, v in unexplained.items())
    assert EXPLAINED.keys() <= different.keys()


def test_every_explanation_cites_a_rule_or_a_method_of_kafka() -> None:
    """The methods are looked up in the very jars that the sandbox runs."""
    assert all(reason.rule or reason.source for reason in EXPLAINED.values())
    rules = {reason.rule for reason in EXPLAINED.values() if reason.rule}
    assert rules <= known_rules()
    for source in {reason.source for reason in EXPLAINED.values() if reason.source}:
        assert source.method.encode() in compiled(source)


def compiled(source: Source) -> bytes:
    """The class file: the names of its methods stand in it."""
    for jar in libs_folder().glob("kafka*.jar"):
        with zipfile.ZipFile(jar) as classes:
            if source.class_file in classes.namelist():
                return classes.read(source.class_file)
    raise AssertionError(f"no jar has {source.class_file}")


def test_no_two_cases_are_called_alike() -> None:
    assert len({case.label for case in CASES}) == len(CASES)


def test_the_page_is_up_to_date(rows: Sequence[Row]) -> None:
    """Else run it with the variable that the page names."""
    page = render_page(rows, EXPLAINED)
    if os.environ.get(WRITE):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
