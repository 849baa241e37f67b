"""A disk that is full in the middle of a turn: told in one sentence, and mended by room alone.

A full disk is made here by a function that fails as one, by a limit on the size of files, or by a
file system that is really full.
"""

import errno
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.projects import topic
from other_processes import running
from patience import eventually
from reconcile.full_file_system import SmallFileSystem
from reconcile.notifications.receivers import Receiver, receiver
from reconcile.turning import Turns

from kgitops.model.verdict import ExitCode
from kgitops.plan.reading import read_plan
from kgitops.reconcile.status import TurnOutcome

ZSTD = {"compression.type": "zstd"}


def full(monkeypatch: pytest.MonkeyPatch, of: Callable[[Path], bool]) -> None:
    """Let files for which ``of`` holds find no room."""
    opened = Path.open

    def no_room(path: Path, *words: object, **named: object) -> object:
        if words[:1] == ("w",) and of(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return opened(path, *words, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", no_room)


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path / "payments", plans=tmp_path / "plans").declare(topic(configs=ZSTD))


def files(turns: Turns) -> list[str]:
    """The files of the plans' folder, but for the memory of the cluster."""
    found = sorted(path.name for path in Path(turns.plans or "").rglob("*") if path.is_file())
    found.remove(".cluster")
    return found


def test_a_plan_that_finds_no_room_is_a_failure_and_nothing_more_is_applied(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns.take()
    turns.declare(topic(configs=ZSTD, partitions=6), topic("new"))
    with monkeypatch.context() as patched:
        full(patched, lambda path: ".json" in path.name)
        for exit_ in (ExitCode.PARTIAL, ExitCode.ERROR):
            result = turns.take()
            assert (result.outcome, result.exit) == (TurnOutcome.FAILED, exit_)
            assert "can't be written: no space left on device; see that there is room" in (
                result.reasons[-1].sentence
            )
    assert turns.topics() == {"orders", "new"}, "what was permitted was applied, and once"
    assert files(turns) == [], "not even a part of a plan is left"
    result = turns.take()
    assert (result.outcome, result.applied) == (TurnOutcome.PENDING, None)
    assert result.pending is not None
    assert [Path(str(result.pending.path)).name] == files(turns)


def test_heals_that_find_no_room_are_remembered_all_the_same(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns.reconcile["heal"] = {"times": 1, "withinMinutes": 60}
    turns.declare(topic(configs=ZSTD)).take()
    turns.set_behind("orders", compression_type="gzip")
    with monkeypatch.context() as patched:
        full(patched, lambda path: ".heals" in path.name)
        result = turns.take()
        assert (result.outcome, result.healed) == (TurnOutcome.FAILED, ("topic/orders",))
        turns.set_behind("orders", compression_type="gzip")
        assert turns.take().fights == ("topic/orders",)
    assert turns.take().fights == ("topic/orders",)
    assert turns.configs("orders")["compression.type"] == "gzip"


def kinds(told: Receiver) -> list[str]:
    return [json.loads(body)["data"]["kind"] for body in told.bodies]


def first_event(told: Receiver, kind: str) -> dict[str, object]:
    """The first event of this kind."""
    eventually(lambda: kinds(told), lambda found: kind in found, what=f"an event {kind}")
    return dict(json.loads(told.bodies[kinds(told).index(kind)])["data"])


def test_a_loop_tells_others_when_its_own_files_find_no_room_and_its_log_comes_back(
    turns: Turns, tmp_path: Path
) -> None:
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}}
    turns.reconcile |= {"mode": "observe", "notifications": [chat]}
    turns.declare(topic(configs=ZSTD))
    log = tmp_path / "log"
    words = ["reconcile", turns.project.folder, "--interval", "1s", "--format", "json"]
    with (
        receiver() as told,
        log.open("w") as output,
        running(
            [sys.executable, "-m", "kgitops", *words, "--plans", tmp_path / "plans"],
            stdout=output,
            env={**os.environ, "CHAT_URL": told.url},
        ) as loop,
    ):
        told.wait_for(1)
        _, most = resource.prlimit(loop.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(loop.pid, resource.RLIMIT_FSIZE, (0, most))
        turns.declare(topic(configs=ZSTD), topic("second"))
        told.wait_for(2)
        resource.prlimit(loop.pid, resource.RLIMIT_FSIZE, (most, most))
        told.wait_for(4)
        loop.send_signal(signal.SIGTERM)
        assert loop.wait(60) == 143
    assert kinds(told) == ["pending", "failed", "recovered", "pending"]
    said = json.loads(told.bodies[1])["data"]
    assert said["exit"] in (ExitCode.ERROR, ExitCode.UNREACHABLE), said
    assert "can't be" in said["sentence"], "written, or used where it is the cluster's store"
    last = [json.loads(line) for line in log.read_text().splitlines()[-4:]]
    assert any(line.get("outcome") == "pending" and line["number"] > 2 for line in last)
    assert turns.topics() == set()


@pytest.mark.skipif(sys.platform != "linux", reason="a file system of a process is Linux's")
@pytest.mark.parametrize("room", [0, 160 << 10], ids=["none", "for-a-part"])
def test_a_loop_on_a_file_system_that_is_full_goes_on_once_there_is_room(
    turns: Turns, tmp_path: Path, room: int
) -> None:
    """Its plans, its log and its cluster are there. Nothing is half written or forgotten."""
    small = tmp_path / "small"
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}}
    turns.reconcile |= {"mode": "converge", "notifications": [chat]}
    cluster = {"url": f"embedded:{small}/cluster.db"}
    old, many = topic("old", deletionPolicy="Delete"), [topic(f"t{n}") for n in range(150)]
    turns.declare(topic(), old, cluster=cluster)
    script = 'exec "$@" >>"$0/log" 2>&1'
    loop = [sys.executable, "-m", "kgitops", "reconcile", turns.project.folder, "--interval", "1s"]
    command = ["sh", "-c", script, small, *loop, "--format", "json", "--plans", small / "plans"]
    with (
        receiver() as told,
        SmallFileSystem(small, "3m", *command, env={**os.environ, "CHAT_URL": told.url}) as disk,
    ):
        first_event(told, "synced")
        disk.fill(but=room)
        turns.declare(topic(), *many, cluster=cluster)
        failed = first_event(told, "failed")
        assert "room" in str(failed["sentence"]), failed
        disk.make_room()
        first_event(told, "recovered")
        pending = first_event(told, "pending")
        (plan,) = disk.path("plans").rglob("*.json")
        assert read_plan(plan.read_text(), "plan").plan_digest == pending["plan_digest"]
        assert not list(disk.path("plans").rglob("*.tmp"))
        assert pending["actions"] == {"delete": 1}, "all others are there, and are its own"
        assert disk.process.poll() is None
        log = disk.path("log").read_text().splitlines()
        disk.process.send_signal(signal.SIGTERM)
        assert disk.process.wait(60) == 143
    assert json.loads(log[-1])["type"] in ("turn", "event"), "the log goes on"
