"""Clusters that take connections and never answer hold up no other cluster of the loop."""

import gc
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest
from other_processes import running
from reconcile.many_clusters import ManyClusters, silent_servers, write_project

from kgitops.model.verdict import ExitCode

Size = tuple[int, int, int, int, int]
SMALL = (16, 4, 3, 4, 1000)
LARGE = (190, 10, 14, 8, 10_000)
"""Healthy clusters, silent ones, rounds, turns at once, and after how many ms silence is one."""
KEPT_BY_ROUND = 11
"""The round from which each target keeps as many turns as it ever does."""
MOST_GROWTH = 4 << 20
"""Bytes over three rounds: some 600 turns."""


@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.slow)], ids=str)
def test_no_turn_of_the_others_is_lost(tmp_path: Path, size: Size) -> None:
    """In a process of its own: what tests before left in this one moves its memory, too."""
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        memory = processes.submit(memory_by_round, tmp_path / "many", size).result()
    grown = [later - memory[KEPT_BY_ROUND] for later in memory[KEPT_BY_ROUND + 1 :]]
    assert all(growth < MOST_GROWTH for growth in grown), memory


def memory_by_round(folder: Path, size: Size) -> list[int]:
    """Each healthy cluster has each of its turns; the bytes of this process after each round."""
    healthy, silent, rounds, at_once, patience_ms = size
    memory: list[int] = []
    configs = {"socket.connection.setup.timeout.ms": patience_ms}
    with silent_servers(silent) as ports:
        names = write_project(folder, healthy, ports, **configs)
        many = ManyClusters(folder, names, concurrency=at_once)
        for number in range(1, rounds + 1):
            many.take_round(number)
            gc.collect()
            memory.append(psutil.Process().memory_info().rss)
            many.clock.pass_by(301)
        good = {name: count for name, count in many.ended.items() if name.startswith("good")}
    many.loop.join()
    assert set(good.values()) == {rounds}, "each had each of its turns, and none more"
    assert not many.failed, many.failed
    assert many.outcomes["good", "applied"] == healthy
    assert many.outcomes["good", "in-sync"] == healthy * (rounds - 1), many.outcomes
    assert {feed.most for feed in many.feeds.values()} == {1}, "none is taken twice at once"
    told = [unit for unit in many.loop.status().units if unit.cluster.startswith("silent")]
    assert {turn.exit for unit in told for turn in unit.turns} == {ExitCode.UNREACHABLE}
    return memory


def test_a_loop_whose_clusters_hang_ends_when_it_is_told_to(tmp_path: Path) -> None:
    with silent_servers(4) as ports:
        names = write_project(tmp_path / "many", 2, ports)
        words = [word for name in names for word in ("-c", name)]
        command = [sys.executable, "-m", "kgitops", "reconcile", tmp_path / "many", *words]
        with running(
            [*command, "--concurrency", "8"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as loop:
            assert loop.stdout is not None
            applied = 0
            while applied < len(names) - len(ports):  # whatever is said of the others meanwhile
                line = loop.stdout.readline()
                assert line, loop.stderr
                applied += line.startswith("  applied: ")
            loop.send_signal(signal.SIGTERM)
            _, said = loop.communicate(timeout=60)
            assert loop.returncode == 143, said
            assert "Traceback" not in said
