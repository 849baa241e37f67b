"""The embedded cluster answers as a real one does, but for a closed list of explained rows."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.kafka.difference_cases import CASES, Case, World, can_be_validated
from cluster.kafka.differences_page import PAGE, WRITE, Answers, Row, render_page, spelt
from kafka_wiping import wipe

from kgitops.cluster.connect import connect
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

_TOO_LARGE = (
    "A4-03: the same code; Kafka counts partitions before records, in words of their own "
    "(ReplicationControlManager.validateTotalNumberOfPartitions)."
)
_AT_ODDS = (
    "The same code; the embedded cluster says it in the words that a manifest gets "
    "(LogConfig.validateValues)."
)
_NO_JSON = (
    "ClientQuotaControlManager asks only whether a value is above zero, which NaN is not found "
    "not to be, nor infinity; the embedded cluster refuses what has no meaning (F590-51)."
)

EXPLAINED = {
    "CreateTopic: the registry": (
        "F590-37: kgitops makes its registry in another way on each, and the planner refuses to "
        "declare it on both."
    ),
    "CreateTopic: 10,001 partitions": _TOO_LARGE,
    "CreateTopic: 10,001 partitions and another topic": (
        "A4-03: the adapter for real clusters cuts what a controller would refuse whole; an apply "
        "cuts before it asks either."
    ),
    "CreateTopic: configs at odds": _AT_ODDS,
    "AlterTopic configs: a key that excludes one that is there": _AT_ODDS,
    "CreateTopic: tiered storage where there is none": (
        "remote.log.storage.system.enable is a config of brokers: the embedded ones have tiered "
        "storage (LogConfig.validateRemoteStorageOnlyIfSystemEnabled)."
    ),
    "CreateTopic: twice in a batch": (
        "A4-31: kgitops never sends a name twice in a request, which Kafka would refuse; asked for "
        "twice, it sends two, and a dry run of the second sees nothing of the first."
    ),
    "AlterBroker: an unknown broker": (
        "A broker takes a change of its own configs only itself (ConfigAdminManager): one that is "
        "not there can't answer, and what became of the request counts as unknown."
    ),
    "AlterClientQuota: not a number": _NO_JSON,
    "AlterClientQuota: infinite": _NO_JSON,
}
_REFERENCE = re.compile(r"\b(A4|F590|P201|P108|C|K)-[0-9]+|\b[A-Z][a-z]+[A-Za-z]*[A-Z][A-Za-z]+\b")


@pytest.fixture(scope="module")
def real(kafka: Sandbox) -> Iterator[World]:
    """The shared cluster, emptied before and after."""
    wipe(kafka)
    cluster = connect(f"kafka://{kafka.servers}", configs=kafka.configs, base=Path())
    yield World(cluster)
    cluster.close()
    wipe(kafka)


@pytest.fixture(scope="module")
def rows(real: World) -> Iterator[list[Row]]:
    """What both answered."""
    cluster = connect("embedded:?brokers=3&compat=kraft", base=Path())
    embedded = World(cluster)
    yield [Row(case.rpc, case.name, _ask(embedded, case), _ask(real, case)) for case in CASES]
    cluster.close()


def _ask(world: World, case: Case) -> Answers:
    requests = case.prepare(world, re.sub("[^A-Za-z0-9]+", "-", case.label))
    judged = None
    if all(map(can_be_validated, requests)):
        judged = spelt(world.send(*requests, validate_only=True))
    if case.only_judged:
        return Answers(judged, None)
    return Answers(judged, spelt(world.send(*requests)))


def test_every_difference_is_explained_and_every_explanation_needed(rows: list[Row]) -> None:
    different = {row.label: (row.embedded, row.real) for row in rows if row.differs}
    unexplained = {label: different[label] for label in different.keys() - EXPLAINED.keys()}
    assert not unexplained
    assert EXPLAINED.keys() <= different.keys()


def test_every_explanation_names_a_rule_or_a_class_of_kafka() -> None:
    assert all(_REFERENCE.search(text) for text in EXPLAINED.values())


def test_no_two_cases_are_called_alike() -> None:
    assert len({case.label for case in CASES}) == len(CASES)


def test_the_page_is_up_to_date(rows: list[Row]) -> None:
    """Else run it with the variable that the page names."""
    page = render_page(rows, EXPLAINED)
    if os.environ.get(WRITE):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
