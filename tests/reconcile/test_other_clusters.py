"""A loop whose address leads to another cluster, or whose registry is gone, applies nothing."""

import errno
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.projects import Project, metadata_log, topic
from hypothesis import given
from hypothesis import strategies as st
from reconcile.looping import Loops
from reconcile.turning import Turns

from kgitops.cli.main import main
from kgitops.cli.reconcile import suspending
from kgitops.model.registry import Json
from kgitops.model.requests import CreateTopicRequest
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.verdict import ExitCode
from kgitops.reconcile.http.page.content import render_status
from kgitops.reconcile.http.status_document import status_json
from kgitops.reconcile.status import ClusterIdentity, TurnOutcome, TurnResult
from kgitops.reconcile.turns.identity import KnownCluster, confirmation_record, recognized

WEEK, HOUR = {"retention.ms": "604800000"}, {"retention.ms": "3600000"}


class Clusters:
    """Several stores, one of which is at the project's address at a time."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._parked = project.folder / "parked"

    def lead_to(self, name: str, was: str) -> None:
        """Let the address lead to the store ``name``, and keep the one that is there."""
        self._parked.mkdir(exist_ok=True)
        for store in self._stores():
            shutil.move(store, self._parked / f"{was}{store.name.removeprefix('local.db')}")
        for store in self._parked.glob(f"{name}*"):
            shutil.move(store, self.project.store.parent / f"local.db{store.name[len(name) :]}")

    def remove(self) -> None:
        for store in self._stores():
            store.unlink()

    def _stores(self) -> list[Path]:
        return list(self.project.store.parent.glob("local.db*"))


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    """A loop in ``auto`` that has applied a topic with a short retention to its cluster."""
    made = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode="auto")
    made.declare(topic(configs=HOUR))
    assert made.take().outcome is TurnOutcome.APPLIED
    return made


@pytest.fixture
def clusters(turns: Turns) -> Clusters:
    """The address leads to another cluster, which has a topic of that name for a week."""
    made = Clusters(turns.project)
    made.lead_to("other", was="first")
    turns.project.change_behind(
        CreateTopicRequest(
            topic="orders",
            requested_state=RequestedTopicState(
                name="orders",
                topic_id=None,
                assignment=((1,), (2,), (3,)),
                configs=WEEK,
                requested_configs=WEEK,
            ),
        )
    )
    return made


def content(project: Project) -> object:
    """Everything in the store at the address: what clients changed, and the registry."""
    with closing(project.connect()) as cluster:
        entries = cluster.registry.read()
    return metadata_log(project.store), entries


def resume(turns: Turns, *words: str) -> int:
    return main(["reconcile", "resume", str(turns.project.folder), *words])


def refuses(turns: Turns) -> TurnResult:
    """Take a turn that changes nothing, for it found another cluster."""
    before = content(turns.project)
    turn = turns.take()
    assert (turn.outcome, turn.exit) == (TurnOutcome.REFUSED, ExitCode.REFUSED), turn
    assert content(turns.project) == before
    assert turn.cluster_change is not None
    assert "kgitops reconcile resume -c local" in turn.reasons[0].sentence
    return turn


def restarted(turns: Turns) -> Turns:
    """The same loop in a new process, which has only what is below ``--plans``."""
    made = Turns(turns.project.folder, plans=turns.plans, mode="auto")
    made.clock, made.revision = turns.clock, turns.revision
    return made


def test_nothing_is_applied_to_another_cluster(turns: Turns, clusters: Clusters) -> None:
    """It adopted the other cluster's topic, and cut its retention from a week to an hour."""
    turn = refuses(turns)
    assert turns.configs("orders") == WEEK
    assert turn.cluster_change is not None
    assert turn.cluster_change.known is not None
    known, found = turn.cluster_change.known, turn.cluster_change.found
    assert known.cluster_id != found.cluster_id
    assert {known.cluster_id, found.cluster_id} <= set(
        turn.reasons[0].sentence.replace(",", " ").replace(";", " ").split()
    )
    turns.clock.pass_by(600)
    assert refuses(turns).cluster_change == turn.cluster_change, "as long as nobody confirms it"


@pytest.mark.parametrize("mode", ["observe", "converge", "auto"])
def test_no_mode_goes_on(turns: Turns, clusters: Clusters, mode: str) -> None:
    turns.reconcile["mode"] = mode
    turns.declare(topic(configs=HOUR))
    refuses(turns)


def test_a_restart_remembers_it(turns: Turns, clusters: Clusters) -> None:
    again = restarted(turns)
    first = refuses(again)
    assert refuses(restarted(again)).cluster_change == first.cluster_change


def test_without_plans_a_process_remembers_it(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments", mode="auto").declare(topic())
    assert turns.take().outcome is TurnOutcome.APPLIED
    Clusters(turns.project).lead_to("other", was="first")
    refuses(turns)


def test_the_known_cluster_goes_on_when_it_is_back(turns: Turns, clusters: Clusters) -> None:
    refuses(turns)
    clusters.lead_to("first", was="other")
    turn = turns.take()
    assert (turn.outcome, turn.cluster_change) == (TurnOutcome.IN_SYNC, None)


def test_a_confirmation_of_every_project_counts(turns: Turns, clusters: Clusters) -> None:
    refuses(turns)
    assert resume(turns, "--all-projects") == 0
    assert turns.take().outcome is TurnOutcome.APPLIED


def test_a_confirmation_counts_once(turns: Turns, clusters: Clusters) -> None:
    """Each change is confirmed by someone who knows of it, also where it is a way back."""
    refuses(turns)
    assert resume(turns) == 0
    assert turns.take().outcome is TurnOutcome.APPLIED
    assert turns.configs("orders") == HOUR
    assert restarted(turns).take().outcome is TurnOutcome.IN_SYNC
    clusters.lead_to("first", was="other")
    refuses(turns)
    assert resume(turns) == 0
    assert turns.take().outcome is TurnOutcome.IN_SYNC
    clusters.lead_to("other", was="first")
    refuses(turns)
    refuses(restarted(turns))
    assert resume(turns) == 0
    assert turns.take().outcome is TurnOutcome.IN_SYNC


def test_a_confirmation_before_the_loop_saw_the_change_does_not_count(
    turns: Turns, clusters: Clusters
) -> None:
    assert resume(turns) == 0
    refuses(turns)
    assert resume(turns) == 0
    assert turns.take().outcome is TurnOutcome.APPLIED


def test_a_confirmation_of_one_cluster_is_not_of_the_next(turns: Turns, clusters: Clusters) -> None:
    refuses(turns)
    assert resume(turns) == 0
    clusters.lead_to("third", was="other")
    refuses(turns)


def test_a_suspension_ends_and_the_cluster_is_confirmed(turns: Turns, clusters: Clusters) -> None:
    refuses(turns)
    words = ["reconcile", "suspend", str(turns.project.folder), "--reason", "we look into it"]
    assert main(words) == 0
    refuses(turns)
    assert resume(turns) == 0
    assert turns.take().outcome is TurnOutcome.APPLIED


def forget_registry(project: Project) -> None:
    """Delete the registry as somebody who deletes its topic would."""

    with closing(sqlite3.connect(project.store)) as store:
        store.execute("DELETE FROM registry")
        store.execute("DELETE FROM meta WHERE key LIKE 'registry_%'")
        store.commit()


def test_a_registry_that_is_gone_stops_the_loop(turns: Turns) -> None:
    """What it applied would be adopted again, and who owns what else is unknown."""
    turns.set_behind("orders", **WEEK)
    forget_registry(turns.project)
    turn = refuses(turns)
    assert turn.cluster_change is not None
    assert turn.cluster_change.found.registry_topic_id is None
    assert turns.configs("orders") == WEEK
    assert resume(turns) == 0
    assert turns.take().outcome is TurnOutcome.APPLIED


def test_a_registry_that_was_made_again_stops_the_loop(turns: Turns) -> None:
    forget_registry(turns.project)
    with closing(turns.project.connect()) as cluster:
        cluster.registry.append([("suspend", None)])
    turn = refuses(turns)
    assert "had the registry" in turn.reasons[0].sentence
    assert resume(turns) == 0
    assert turns.take().cluster_change is None


def test_the_first_registry_is_no_change(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode="observe")
    turns.declare(topic())
    for _ in range(2):
        assert turns.take().outcome is TurnOutcome.PENDING
    assert main(["apply", str(turns.project.folder), "--auto-approve"]) == 0
    assert turns.take().outcome is TurnOutcome.IN_SYNC
    forget_registry(turns.project)
    refuses(turns)


def test_the_registry_of_the_first_apply_is_known_at_once(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode="auto")
    turns.declare(topic())
    assert turns.take().outcome is TurnOutcome.APPLIED
    forget_registry(turns.project)
    refuses(restarted(turns))


def test_a_new_store_at_the_address_is_another_cluster(turns: Turns) -> None:
    Clusters(turns.project).remove()
    refuses(turns)
    assert turns.topics() == set()


def test_another_name_is_another_cluster_of_the_project(turns: Turns) -> None:
    clusters = {"next": {"url": "embedded:next.db", "brokers": 3}}
    turns.declare(topic(configs=HOUR), clusters=clusters)
    assert turns.take().outcome is TurnOutcome.APPLIED


def test_a_cluster_in_memory_is_a_new_one_each_time(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments", mode="auto")
    turns.declare(topic(), clusters={"local": {"url": "embedded:", "brokers": 3}})
    for _ in range(3):
        assert turns.take().outcome is TurnOutcome.APPLIED


def test_an_unfinished_run_is_not_finished_there(turns: Turns, clusters: Clusters) -> None:
    """The journal of another cluster, even one of this project, is not gone on with."""

    class KilledError(BaseException):
        pass

    def kill(_: object) -> None:
        raise KilledError

    begun = Turns(turns.project.folder, mode="auto")
    begun.revision, begun.on_event = turns.revision, kill
    with pytest.raises(KilledError):
        begun.take()
    refuses(turns)
    assert turns.memory.known is not None


@pytest.mark.parametrize("text", ["", "{}", "null", "[1]", '{"confirmed": null}', "\x00" * 64])
def test_a_damaged_memory_applies_nothing(turns: Turns, text: str) -> None:
    (file,) = turns.plans.rglob(".cluster")  # type: ignore[union-attr]
    file.write_text(text)
    turns.set_behind("orders", **WEEK)
    again = restarted(turns)
    assert "is damaged" in refuses(again).reasons[0].sentence
    refuses(restarted(again))
    assert resume(again) == 0
    assert restarted(again).take().outcome is TurnOutcome.APPLIED


def test_a_memory_that_can_t_be_read_applies_nothing(turns: Turns) -> None:
    (file,) = turns.plans.rglob(".cluster")  # type: ignore[union-attr]
    file.unlink()
    file.mkdir()
    turn = restarted(turns).take()
    assert (turn.applied, turn.resumed_run, turn.exit) == (None, None, ExitCode.ERROR)


def test_a_memory_that_finds_no_room_applies_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(tmp_path / "payments", plans=tmp_path / "plans", mode="auto").declare(topic())
    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", no_room)
            turn = turns.take()
        assert (turn.exit, turn.applied, turns.topics()) == (ExitCode.ERROR, None, set())
    assert turns.take().outcome is TurnOutcome.APPLIED
    Clusters(turns.project).lead_to("other", was="first")
    refuses(restarted(turns))


def no_room(path: Path, target: Path) -> None:
    del path
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))


def test_a_damaged_confirmation_applies_nothing(turns: Turns, clusters: Clusters) -> None:
    refuses(turns)
    with closing(turns.project.connect()) as cluster:
        cluster.registry.append([("confirm", {"schema_version": 1, "by": 7})])
    before = content(turns.project)
    assert "confirm is damaged" in turns.take().reasons[0].sentence
    assert content(turns.project) == before


def test_the_loop_reports_it_until_it_is_confirmed(
    turns: Turns, clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters.lead_to("first", was="other")
    loops = Loops({"payments": turns.project.folder}, plans=turns.plans)
    # Both live by one clock: a confirmation from before the report would not count.
    monkeypatch.setattr(suspending, "SystemClock", lambda: loops.clock)
    loops.go()
    assert loops.unit().cluster_change is None
    clusters.lead_to("other", was="first")
    before = content(turns.project)
    for _ in range(3):
        loops.go(300)
    unit = loops.unit()
    assert content(turns.project) == before
    assert unit.cluster_change is not None
    assert loops.kinds() == ["synced", "failed"], "one event, since it is one change"
    found = unit.cluster_change.found.cluster_id
    assert found in loops.events[-1].sentence
    status, now = loops.loop.status(), loops.clock.now()
    ticks = loops.clock.monotonic()
    assert json.loads(status_json(status, ticks))["units"][0]["cluster_change"]["found"] == {
        "cluster_id": found,
        "registry_topic_id": None,
    }
    page = render_status(status, now, ticks).html.decode()
    assert "Another cluster or registry than before" in page
    assert found in page
    assert resume(turns) == 0
    loops.go(300)
    assert loops.unit().cluster_change is None
    assert loops.kinds()[2:] == ["applied", "recovered", "synced"]


A, B = (ClusterIdentity(cluster_id=name, registry_topic_id=f"t{name}") for name in "AB")
EMPTY = ClusterIdentity(cluster_id="B")
PLACES = st.sampled_from([A, B, EMPTY, ClusterIdentity(cluster_id="A", registry_topic_id="new")])


@given(st.lists(st.tuples(PLACES, st.booleans()), max_size=8))
def test_only_a_confirmation_after_the_report_lets_a_change_through(
    steps: list[tuple[ClusterIdentity, bool]],
) -> None:
    """Each step finds a cluster; where a person confirms, they do so after the loop reported it."""
    registries: dict[ClusterIdentity, dict[str, dict[str, Json]]] = {}
    known: KnownCluster | None = None
    allowed = {A}
    known = recognized(known, A, {}, "p", "then")
    for number, (found, confirms) in enumerate(steps):
        latest = registries.setdefault(found, {})
        known = recognized(known, found, latest, "p", f"{number}")
        if known.change is None:
            assert known.confirmed == found
            assert found in allowed
            allowed = {found}
        elif confirms and found.registry_topic_id:
            key, value = confirmation_record("p", found, by="a", at=f"{number}.5")
            assert value is not None
            latest[key] = dict(value)
            known = recognized(known, found, latest, "p", "later")
            assert known == KnownCluster(confirmed=found)
            allowed = {found}
