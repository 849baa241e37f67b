"""The loop: turns of several projects in threads, by a clock that is set, on embedded clusters."""

import threading
from contextlib import closing
from pathlib import Path

import pytest
from cli.projects import Project, topic
from patience import eventually
from reconcile.looping import Loops
from reconcile.turning import Turns

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.lock import acquire
from kgitops.model.errors import UnreachableError
from kgitops.model.verdict import ExitCode
from kgitops.reconcile.events import EventKind
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.sources.folder import FolderSource
from kgitops.reconcile.status import TurnOutcome

CONVERGE = {"mode": "converge"}


def loops_of(*projects: Project, **settings: object) -> Loops:
    return Loops({project.name: project.folder for project in projects}, **settings)  # type: ignore[arg-type]


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path / "payments").declare(topic(configs={"compression.type": "zstd"}))


def test_a_turn_each_interval(turns: Turns) -> None:
    loops = loops_of(turns.project)
    loops.go()
    assert loops.outcomes() == ["applied"]
    loops.go(299)
    assert loops.outcomes() == ["applied"]
    loops.go(2)
    assert loops.outcomes() == ["applied", "in-sync"]
    assert loops.kinds() == ["applied", "synced"]


def test_the_last_ten_turns_are_kept(turns: Turns) -> None:
    loops = loops_of(turns.project)
    for _ in range(13):
        loops.go(301)
    (unit,) = loops.loop.status().units
    assert [turn.number for turn in unit.turns] == [13, 12, 11, 10, 9, 8, 7, 6, 5, 4]
    assert unit.last_success is not None
    assert (unit.running, unit.suspended, unit.mode) == (False, False, "converge")


def test_somebody_who_holds_the_lock_is_waited_for_with_longer_and_longer_waits(
    turns: Turns,
) -> None:
    loops = loops_of(turns.project)
    loops.go()
    turns.set_behind("orders", compression_type="gzip")
    with closing(turns.project.connect()) as other:
        lock = acquire(
            ApplyContext(
                cluster=other,
                settings=ApplySettings(),
                on_event=lambda _: None,
                interrupted=lambda: None,
            ),
            holder="ci",
        )
        assert lock is not None
        loops.go(301)
        for seconds in (4, 1.1, 8, 2):
            loops.go(seconds)
        assert loops.outcomes() == ["applied", "busy", "busy", "busy"]
        lock.release()
    loops.go(21)
    assert loops.outcomes()[-1] == "applied"
    assert loops.kinds() == ["applied", "synced", "healed", "synced"]


def test_a_source_that_is_gone_keeps_the_last_good_revision_and_heals_by_it(turns: Turns) -> None:
    loops = loops_of(turns.project)
    loops.go()
    source = loops.sources["payments"]
    source.problem = "the repository does not answer"
    turns.set_behind("orders", compression_type="gzip")
    for _ in range(4):
        loops.go(301)
    (unit,) = loops.loop.status().units
    assert unit.source_failures == 4
    assert unit.turns[0].revision_problem == "the repository does not answer"
    assert turns.configs("orders")["compression.type"] == "zstd"


def test_files_that_are_saved_while_a_turn_plans_them_are_planned_again_at_once(
    turns: Turns,
) -> None:
    loops = loops_of(turns.project, in_place=True)
    saved = iter(["gzip", "lz4"])

    def save() -> None:
        if (codec := next(saved, None)) is not None:
            turns.declare(topic(configs={"compression.type": codec}))

    loops.before_turn = save
    loops.go()
    assert loops.outcomes() == ["failed"], "they changed twice"
    assert [reason.exit for reason in loops.unit().turns[0].reasons] == [ExitCode.STALE]
    assert turns.topics() == set()
    loops.go(6)
    assert loops.kinds() == ["failed", "applied", "recovered", "synced"]

    saved = iter(["zstd"])
    loops.go(301)
    assert loops.outcomes() == ["failed", "applied", "applied"]
    assert [turn.number for turn in loops.turns] == [1, 2, 3]
    assert loops.kinds()[4:] == ["applied", "synced"]
    assert turns.configs("orders")["compression.type"] == "zstd"


def test_a_turn_with_no_time_for_another_attempt_tells_that_files_were_saved(turns: Turns) -> None:
    loops = loops_of(turns.project, in_place=True, timeout_s=100)

    def save() -> None:
        turns.declare(topic(configs={"compression.type": "gzip"}))
        loops.clock.pass_by(60)

    loops.before_turn = save
    loops.go()
    assert [(turn.outcome, turn.exit) for turn in loops.turns] == [("failed", ExitCode.STALE)]


def test_where_the_new_files_cannot_be_read_what_the_first_attempt_found_is_told(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops = loops_of(turns.project, in_place=True)

    def save() -> None:
        turns.declare(topic(configs={"compression.type": "gzip"}))

    loops.before_turn = save
    refresh, asked = FolderSource.refresh, []

    def refreshed(source: FolderSource) -> Revision:
        asked.append(source)
        if len(asked) == 3:
            raise UnreachableError("the folder is gone")
        return refresh(source)

    monkeypatch.setattr(FolderSource, "refresh", refreshed)
    loops.go()
    (turn,) = loops.turns
    assert (turn.number, turn.mode, turn.exit) == (1, "converge", ExitCode.STALE)


def test_without_any_revision_nothing_is_done_and_it_is_tried_again(turns: Turns) -> None:
    loops = loops_of(turns.project)
    source = loops.sources["payments"]
    source.name, source.problem = "", "the commit is not signed"
    loops.go()
    loops.go(6)
    loops.go(11)
    assert loops.outcomes() == ["failed"] * 3
    sentences = [reason.sentence for reason in loops.unit().turns[0].reasons]
    assert sentences == ["the commit is not signed"]
    assert turns.topics() == set()
    source.name, source.problem = "2", None
    loops.go(21)
    assert loops.outcomes()[-1] == "applied"
    assert {"failed", "recovered", "applied", "synced"} == set(loops.kinds())


def test_one_project_that_fails_stops_no_other(tmp_path: Path) -> None:
    good = (
        Project(tmp_path / "good", name="good", uid="g")
        .write(topic())
        .write_file(reconcile=CONVERGE)
    )
    bad = (
        Project(tmp_path / "bad", name="bad", uid="b")
        .write(topic("bad name"))
        .write_file(reconcile=CONVERGE)
    )
    loops = loops_of(good, bad)
    for _ in range(3):
        loops.go(301)
    assert loops.outcomes("good") == ["applied", "in-sync", "in-sync"]
    assert loops.outcomes("bad") == ["refused"] * 3


def test_a_turn_that_hangs_holds_up_only_its_own(tmp_path: Path) -> None:
    projects = [
        Project(tmp_path / name, name=name, uid=name).write(topic()).write_file(reconcile=CONVERGE)
        for name in ("a", "b", "c")
    ]
    loops = loops_of(*projects, concurrency=1, timeout_s=600)
    hanging = threading.Event()
    loops.sources["a"].blocks = hanging

    def step() -> tuple[list[str], list[str]]:
        loops.loop.step()
        return loops.outcomes("b"), loops.outcomes("c")

    try:
        step()
        eventually(lambda: loops.sources["a"].asked, what="the first one hangs")
        loops.clock.pass_by(61)
        taken = eventually(step, all, what="both others take a turn")
        assert taken == (["applied"], ["applied"])
        assert loops.outcomes("a") == []
        loops.clock.pass_by(900)
        loops.loop.step()
        assert loops.loop.board.targets()[0].hangs
        assert loops.sources["a"].asked == 1, "it is not begun twice"
    finally:
        hanging.set()
        loops.loop.join()


def test_a_hint_takes_a_turn_now_and_asks_the_source_again(turns: Turns) -> None:
    loops = loops_of(turns.project)
    loops.go()
    loops.go(10)
    assert len(loops.outcomes()) == 1
    loops.loop.hint("another")
    loops.go(1)
    assert len(loops.outcomes()) == 1
    loops.loop.hint("local")
    loops.go(1)
    assert len(loops.outcomes()) == 2
    assert loops.sources["payments"].asked == 2


def test_two_loops_over_one_cluster_are_safe(turns: Turns) -> None:
    """Both see the drift, one heals it, and the other has nothing to do or is told to wait."""
    one, two = loops_of(turns.project), loops_of(turns.project)
    one.go()
    for _ in range(3):
        turns.set_behind("orders", compression_type="gzip")
        for loops in (one, two):
            loops.clock.pass_by(301)
            loops.loop.step()
        for loops in (one, two):
            loops.loop.join()
        assert turns.configs("orders")["compression.type"] == "zstd"
    allowed = {"applied", "in-sync", "busy", "failed"}
    assert {*one.outcomes(), *two.outcomes()} <= allowed
    failures = [
        turn
        for loops in (one, two)
        for unit in loops.loop.status().units
        for turn in unit.turns
        if turn.outcome is TurnOutcome.FAILED
    ]
    assert all(turn.exit is ExitCode.STALE for turn in failures)


def test_a_stopped_loop_begins_nothing_more(turns: Turns) -> None:
    loops = loops_of(turns.project)
    numbers = iter([None, None, 15])
    assert loops.loop.run(lambda: next(numbers)) == 15
    loops.loop.join()
    assert loops.outcomes() in (["applied"], ["stopped"], [])


def test_an_unexpected_error_ends_a_turn_and_not_the_loop(turns: Turns, monkeypatch) -> None:
    loops = loops_of(turns.project)
    broken = RuntimeError("never thought of")

    def breaks(*_: object, **__: object) -> object:
        raise broken

    with monkeypatch.context() as patched:
        patched.setattr("kgitops.reconcile.turns.turn.open_workspace", breaks)
        loops.go()
    assert loops.outcomes() == ["failed"]
    loops.go(301)
    assert loops.outcomes() == ["failed", "applied"]
    assert EventKind.RECOVERED in {event.kind for event in loops.events}


def test_a_cluster_that_is_away_for_an_hour_is_asked_ever_more_rarely_and_healed_when_it_is_back(
    tmp_path: Path,
) -> None:
    away, near = (
        Project(tmp_path / name, name=name, uid=name)
        .write(topic(configs={"compression.type": "zstd"}))
        .write_file(reconcile=CONVERGE)
        for name in ("away", "near")
    )
    loops = loops_of(away, near)
    loops.go()
    Turns(away.folder).set_behind("orders", compression_type="gzip")
    place = away.store.parent
    place.rename(tmp_path / "elsewhere")
    place.touch()  # nothing can be opened there
    for _ in range(360):
        loops.go(10)
    assert outcomes_of(loops, "near") == ["applied", *["in-sync"] * 12]
    waits = [5, 10, 20, 40, 80, 160, 320, 640, 1280]
    assert outcomes_of(loops, "away") == ["applied", *["failed"] * (1 + len(waits))]
    place.unlink()
    (tmp_path / "elsewhere").rename(place)
    for _ in range(256):
        loops.go(10)
    assert outcomes_of(loops, "away")[-1] == "in-sync"
    assert outcomes_of(loops, "away").count("applied") == 2, "it is healed, and once"
    assert Turns(away.folder).configs("orders")["compression.type"] == "zstd"
    kinds = [str(event.kind) for event in loops.events if event.project == "away"]
    assert kinds == ["applied", "synced", "failed", "healed", "recovered", "synced"]


def outcomes_of(loops: Loops, project: str) -> list[str]:
    """Those of all turns of a project."""
    return [str(turn.outcome) for turn in loops.turns if turn.project == project]
