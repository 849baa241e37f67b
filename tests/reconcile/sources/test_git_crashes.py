"""A loop that is killed at any instant while it follows a repository starts again where it was."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from other_processes import running
from reconcile.sources.repositories import PROJECT, Repository

from kgitops.reconcile.sources.git import GitOptions, GitSource

FOLLOW = """
import sys
from pathlib import Path
from kgitops.reconcile.sources.git import GitOptions, GitSource
source = GitSource(GitOptions(url=sys.argv[1], state=Path(sys.argv[2]), ref="main"))
print("begins", flush=True)
while True:
    revision = source.refresh()
    source.retain(frozenset({revision.name}))
"""


@pytest.mark.slow
def test_it_may_be_killed_at_any_instant(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    for number in range(30):
        (repository.folder / f"file-{number}").write_text(str(number))
    repository.commit(PROJECT)
    chance = random.Random(19)  # noqa: S311 (instants of a test)
    state = tmp_path / "state"
    for round_ in range(25):
        words = [sys.executable, "-c", FOLLOW, str(repository.folder), str(state)]
        with running(words, stdout=subprocess.PIPE, start_new_session=True) as process:
            process.stdout.readline()
            repository.commit(f"{PROJECT}# {round_}\n")
            time.sleep(chance.uniform(0, 0.4))
            os.killpg(process.pid, signal.SIGKILL)
    source = GitSource(GitOptions(url=str(repository.folder), state=state, ref="main"))
    revision = source.refresh()
    source.retain(frozenset())
    source.close()
    assert (revision.name, revision.problem, revision.notice) == (repository.head(), None, None)
    assert (revision.folder / "kgitops.yaml").read_text() == f"{PROJECT}# 24\n"
    assert len(list(revision.folder.iterdir())) == 31
    checkouts = revision.folder.parent
    assert [folder.name for folder in checkouts.iterdir()] == [revision.name]
    assert not [*state.rglob("tmp_*"), *(state.glob("*/mirror.git/**/*.lock"))]
