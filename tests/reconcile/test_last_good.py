"""A revision that can't be used: the last good one is compared with, and nothing is applied."""

import shutil
from pathlib import Path

import pytest
from cli.projects import Project, topic
from reconcile.looping import Loops
from reconcile.turning import Turns

from kgitops.model.verdict import ExitCode
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.policy.worker.process import Limits
from kgitops.policy.worker.session import WorkerEvaluator
from kgitops.reconcile.loop_status import readiness_problems
from kgitops.reconcile.status import TurnOutcome
from kgitops.workflow import policies

ZSTD = {"compression.type": "zstd"}
BAD_POLICY = """from kgitops.policies import PartitionRange
while True:
    pass
"""


class Revisions:
    """A project whose revisions lie in folders of their own, over one cluster."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.first = Turns(place / "1")
        self.cluster = {"url": f"embedded:{place / '1' / '.kgitops' / 'local.db'}"}
        self.write("1", topic(configs=ZSTD))
        self.loops = Loops({"payments": place / "1"}, plans=place / "plans")

    def write(self, name: str, *documents: object, **spec: object) -> Project:
        project = Project(self.place / name).write(*documents)
        return project.write_file(cluster=self.cluster, reconcile={"mode": "converge"}, **spec)

    def publish(self, name: str, *documents: object, **spec: object) -> Project:
        """Let these be the newest revision."""
        project = self.write(name, *documents, **spec)
        source = self.loops.sources["payments"]
        source.name, source.folder = name, project.folder
        return project


@pytest.fixture
def revisions(tmp_path: Path) -> Revisions:
    found = Revisions(tmp_path)
    found.loops.go()
    assert found.loops.outcomes() == ["applied"]
    return found


def test_drift_is_judged_by_the_last_good_revision_and_not_undone(revisions: Revisions) -> None:
    loops = revisions.loops
    revisions.publish("2", topic(configs=ZSTD), topic("bad name"))
    revisions.first.set_behind("orders", compression_type="gzip")
    before = revisions.first.records()
    for _ in range(3):
        loops.go(301)
        result = loops.turns[-1]
        assert (result.outcome, result.exit) == (TurnOutcome.REFUSED, ExitCode.ERROR)
        assert (result.revision, result.last_good) == ("2", "1")
        assert result.drifting == {"Topic": 1}
        assert "bad name" in result.reasons[0].sentence
    assert revisions.first.configs("orders")["compression.type"] == "gzip"
    assert revisions.first.records() == before, "nothing is written"
    assert loops.kinds() == ["applied", "synced", "failed", "drifted"]
    (problem,) = readiness_problems(loops.loop.status())
    assert problem.startswith("3 times in a row no newer revision of payments")

    revisions.publish("3", topic(configs=ZSTD))
    loops.go(301)
    assert loops.turns[-1].healed == ("topic/orders",)
    assert loops.turns[-1].last_good is None
    assert readiness_problems(loops.loop.status()) == ()
    assert loops.kinds()[4:] == ["healed", "recovered", "synced"]


def test_a_policy_that_hangs_while_it_is_loaded_is_a_broken_revision(
    revisions: Revisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_impatient(bundle: Bundle) -> WorkerEvaluator:
        return WorkerEvaluator(bundle.policies, limits=Limits(loading_seconds=1))

    monkeypatch.setattr(policies, "open_evaluator", open_impatient)
    loops = revisions.loops
    project = revisions.publish(
        "2",
        topic(configs=ZSTD),
        topic("new"),
        policies=[{"class": "hanging:Policy"}],
    )
    (project.folder / "hanging.py").write_text(BAD_POLICY)
    revisions.first.set_behind("orders", compression_type="gzip")
    loops.go(301)
    result = loops.turns[-1]
    assert (result.outcome, result.last_good) == (TurnOutcome.REFUSED, "1"), result
    assert "can't be loaded: it took longer than 1 s" in result.reasons[0].sentence
    assert result.drifting == {"Topic": 1}
    assert revisions.first.topics() == {"orders"}


def test_a_config_that_the_brokers_do_not_know_is_a_broken_revision(revisions: Revisions) -> None:
    """It shows only on the cluster, when the revision is loaded already."""
    loops = revisions.loops
    revisions.publish("2", topic(configs={**ZSTD, "past.config": 1}))
    revisions.first.set_behind("orders", compression_type="gzip")
    for _ in range(2):
        loops.go(301)
        result = loops.turns[-1]
        assert (result.outcome, result.last_good) == (TurnOutcome.REFUSED, "1"), result
        assert "Kafka has no topic config 'past.config'" in result.reasons[0].sentence
        assert result.drifting == {"Topic": 1}
    assert revisions.first.configs("orders")["compression.type"] == "gzip"


def test_the_plan_that_waits_stays_while_a_revision_is_broken(revisions: Revisions) -> None:
    loops = revisions.loops
    revisions.publish("2", topic(configs=ZSTD, partitions=6))
    loops.go(301)
    (waiting,) = (revisions.place / "plans").rglob("*.json")
    revisions.publish("3", topic("bad name"))
    loops.go(301)
    assert loops.turns[-1].last_good == "2"
    assert loops.turns[-1].actions == {"update": 1}
    assert waiting.is_file()


def test_a_last_good_revision_that_is_gone_is_told_and_nothing_is_applied(
    revisions: Revisions,
) -> None:
    """As after somebody emptied the folder of checkouts."""
    loops = revisions.loops
    revisions.publish("2", topic("bad name"))
    store = revisions.place / "1" / ".kgitops"
    shutil.move(store, revisions.place / ".kgitops")
    shutil.rmtree(revisions.place / "1")
    shutil.move(revisions.place / ".kgitops", store)
    loops.go(301)
    result = loops.turns[-1]
    assert (result.outcome, result.exit) == (TurnOutcome.REFUSED, ExitCode.ERROR)
    assert any("bad name" in reason.sentence for reason in result.reasons)


def test_a_folder_that_is_planned_where_it_lies_has_no_last_good_revision(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments").declare(topic(configs=ZSTD))
    turns.take()
    result = turns.declare(topic("bad name")).take()
    assert (result.outcome, result.last_good) == (TurnOutcome.REFUSED, None)


def test_what_hides_newer_revisions_is_told_once_and_so_is_its_end(revisions: Revisions) -> None:
    loops = revisions.loops
    source = loops.sources["payments"]
    for problem in ("the commit a is not signed", "the commit b is not signed", None):
        source.problem = problem
        for _ in range(2):
            loops.go(301)
    assert loops.kinds() == [
        "applied", "synced", "source-failed", "source-failed", "source-recovered",
    ]  # fmt: skip
    assert "the commit b is not signed" in loops.events[3].sentence
