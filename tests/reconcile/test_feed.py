"""The source of several targets: looked for once, also where that takes long and fails."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import eventually
from reconcile.looping import Manifests

from kgitops.model.clock import SystemClock
from kgitops.model.errors import UnreachableError
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.revision import Revision


class CountingClock(SystemClock):
    """The machine's own clock, which counts how often it is looked at."""

    asked = 0

    def monotonic(self) -> float:
        with _COUNTING:
            self.asked += 1
        return super().monotonic()


_COUNTING = threading.Lock()


class Retaining(Manifests):
    """A source that knows what it was last asked to keep."""

    kept: frozenset[str] = frozenset()

    def retain(self, revisions: frozenset[str]) -> None:
        self.kept = revisions


def test_who_waited_while_it_failed_is_told_the_same_at_once(tmp_path: Path) -> None:
    """Two hundred targets of a repository that does not answer wait for it once, not each."""
    source = Manifests(tmp_path)
    source.name, source.problem = "", "the repository does not answer"
    source.blocks = threading.Event()
    clock = CountingClock()
    feed = RevisionFeed(source, clock, fresh_s=30)

    def take() -> str:
        with pytest.raises(UnreachableError, match="does not answer") as found, feed.revision():
            pass
        return str(found.value)

    with ThreadPoolExecutor(20) as pool:
        results = [pool.submit(take) for _ in range(20)]
        # Each before it waits, and the one that looks.
        eventually(lambda: clock.asked, lambda asked: asked >= 21, what="all twenty ask")
        source.blocks.set()
        assert {result.result(20) for result in results} == {"the repository does not answer"}
    assert source.asked == 1
    take()
    assert source.asked == 2, "who comes later has it asked again"


def test_the_last_revision_that_was_loaded_is_kept_for_each_user(tmp_path: Path) -> None:
    source = Retaining(tmp_path)
    feed = RevisionFeed(source, SystemClock(), fresh_s=0)
    with feed.revision() as first:
        feed.keep("a", first)
        feed.keep("b", first)
    source.name = "2"
    with feed.revision() as second:
        feed.keep("a", second)
        feed.keep("b", None)
    source.name = "3"
    with feed.revision():
        assert source.kept == {"1", "2", "3"}
    feed.keep("b", Revision(name="2", folder=tmp_path))
    with feed.revision():
        assert source.kept == {"2", "3"}
