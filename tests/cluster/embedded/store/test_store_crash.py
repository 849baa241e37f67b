"""``kill -9`` at any instant: what was acknowledged is there, and the store is whole."""

import random
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from cluster.embedded.store.store_driver import __file__ as driver
from other_processes import running

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.store.file import open_store
from kgitops.cluster.embedded.store.store import START

pytestmark = pytest.mark.slow


def kill_after(seconds: float, mode: str, path: Path) -> list[str]:
    """What a process in this mode said before it was killed, ``seconds`` after it was ready."""
    with running(
        [sys.executable, driver, mode, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
        reader.start()
        time.sleep(seconds)
        process.kill()
        reader.join()
    assert lines[0] == "ready\n"
    # A last line that the kill cut short is no acknowledgement.
    return [line.strip() for line in lines[1:] if line.endswith("\n")]


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path):
    path = tmp_path / "local.db"
    dice = random.Random(11)  # noqa: S311
    acknowledged: list[str] = []
    for _ in range(8):
        acknowledged += kill_after(dice.uniform(0.01, 0.3), "write", path)
        with closing(boot(path)) as cluster:
            state = cluster.read_state()
            image = cluster.controller.image()
            entries = cluster.registry.read() or ()
        there = {f"topic {name} {topic.topic_id}" for name, topic in state.topics.items()}
        there |= {f"acl {binding.resource_name}" for binding in state.acls}
        parts = [entry.key for entry in entries if entry.key.startswith("project/")]
        there |= {f"registry {key.removeprefix('project/')[:-2]}" for key in parts}
        assert set(acknowledged) <= there
        # A batch is there whole or not at all.
        assert len(parts) % 3 == 0
        # The image with its snapshots is what the log alone adds up to.
        with closing(open_store(path)) as store, store.reading():
            assert store.catch_up(START).image == image
    assert len(acknowledged) > 20


def test_no_kill_parts_what_becomes_true_together(tmp_path: Path):
    """VC-086, VC-320, VC-321: a topic and its link, and the two halves of a move."""
    path = tmp_path / "local.db"
    dice = random.Random(17)  # noqa: S311
    acknowledged: list[str] = []
    for _ in range(6):
        acknowledged += kill_after(dice.uniform(0.01, 0.3), "write-virtual-clusters", path)
        with closing(boot(path)) as cluster:
            state, image = cluster.read_state(), cluster.controller.image()
        found = state.virtual_clusters
        linked = {link.topic for item in found.values() for link in item.links.values()}
        assert linked == set(state.topics)
        links = {f"{name}/{link}" for name, item in found.items() for link in item.links}
        assert set(acknowledged) <= links
        assert sorted(user for item in found.values() for user in item.users) == ["User:x"]
        with closing(open_store(path)) as store, store.reading():
            assert store.catch_up(START).image == image
    assert len(acknowledged) > 20


def test_a_killed_creation_leaves_a_whole_store_or_none(tmp_path: Path):
    dice = random.Random(13)  # noqa: S311
    for attempt in range(12):
        path = tmp_path / f"{attempt}.db"
        said = kill_after(dice.uniform(0, 0.02), "create", path)
        assert path.exists() or not said
        with closing(boot(path)) as cluster:
            assert len(cluster.read_state().brokers) == 3
