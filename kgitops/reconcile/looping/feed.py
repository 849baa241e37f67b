"""The revisions of a source for several targets: looked for once, and kept while they are used."""

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from kgitops.model.clock import Clock
from kgitops.model.errors import KgitopsError
from kgitops.reconcile.revision import Revision, RevisionSource


class RevisionFeed:
    """Hands out a source's newest revision, which stays as it is until it is given back."""

    def __init__(
        self,
        source: RevisionSource,
        clock: Clock,
        *,
        fresh_s: float,
        in_place: bool = False,
        on_notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take a source; what was found within ``fresh_s`` is new enough.

        ``in_place`` is true of a source whose folder changes while it is used; ``on_notice`` takes
        what somebody should know of a new revision.
        """
        self._on_notice = on_notice
        self.in_place = in_place
        self._source = source
        self._clock = clock
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._found: Revision | None = None
        self._at = 0.0
        self._used: Counter[str] = Counter()
        self._kept: dict[Hashable, str] = {}
        self._ask = False
        self._failed: tuple[float, KgitopsError] | None = None

    @contextmanager
    def revision(self) -> Iterator[Revision]:
        """The newest revision within a ``with`` block.

        Raises:
            KgitopsError: there is no good revision yet.
        """
        revision = self._take()
        try:
            yield revision
        finally:
            self._give_back(revision)

    def keep(self, user: Hashable, revision: Revision | None) -> None:
        """Keep the folder of this revision for a user, in the place of the one kept before."""
        with self._lock:
            if revision is not None:
                self._kept[user] = revision.name

    def ask_again(self) -> None:
        """Let the next one who asks for a revision have the source looked at."""
        self._ask = True

    def is_current(self, revision: Revision) -> bool:
        """Return True if the folder of ``revision`` still has its content.

        Raises:
            KgitopsError: it can't be read.
        """
        return not self.in_place or self._source.refresh().name == revision.name

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def _take(self) -> Revision:
        asked = self._clock.monotonic()
        with self._lock:
            now = self._clock.monotonic()
            old = self._found is None or now - self._at >= self._fresh_s
            if self._found is None or old or self._ask:
                self._found = self._look(asked)
            self._used[self._found.name] += 1
            self._source.retain(frozenset(self._used) | frozenset(self._kept.values()))
            return self._found

    def _look(self, asked: float) -> Revision:
        """Look for the newest revision; who waited while that failed is told the same."""
        if self._failed is not None and asked < self._failed[0]:
            raise self._failed[1].with_traceback(None)
        self._ask = False
        try:
            found = self._source.refresh()
        except KgitopsError as error:
            self._failed = self._clock.monotonic(), error
            raise
        self._at = self._clock.monotonic()
        if found.notice is not None:
            self._on_notice(found.notice)
        return found

    def _give_back(self, revision: Revision) -> None:
        with self._lock:
            self._used[revision.name] -= 1
            if self._used[revision.name] <= 0:
                del self._used[revision.name]
