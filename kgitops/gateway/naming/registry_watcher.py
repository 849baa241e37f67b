"""Follows the registry in a thread, and has the newest name tables for whoever asks."""

import threading
from collections.abc import Callable

from msgspec import Struct

from kgitops.cluster.kafka.transport.lease import ticks
from kgitops.gateway.naming.name_table import NameTables
from kgitops.gateway.naming.registry_tables import RegistryConnection, RegistryTables
from kgitops.model.errors import KgitopsError

INTERVAL_S = 1.0
_LONGEST_GAP_S = 24 * 3600.0
"""After a longer time without a reading everything is read again: Kafka keeps removals for days."""
_LONGEST_PAUSE_S = 15.0
_PATIENCE_S = 5.0


class WatchedNames(Struct, frozen=True, kw_only=True):
    """The tables, and what became of the last reading.

    ``offset`` is the end of the registry's log. ``read_at`` is when the last reading began that
    succeeded, in seconds of the follower's clock. ``error`` is one sentence about a reading that
    failed since then.
    """

    tables: NameTables
    offset: int
    read_at: float
    error: str | None = None


class RegistryWatcher:
    """Reads the registry again and again; while it can't be read, the last tables continue.

    ``connect`` opens a connection to the cluster. ``tell`` takes a sentence when the registry can't
    be read any more, and one when it can be again; ``on_tables`` takes the new tables after each
    change. Both are called in the follower's thread.
    """

    def __init__(
        self,
        connect: Callable[[], RegistryConnection],
        *,
        interval_s: float = INTERVAL_S,
        tell: Callable[[str], None] = lambda _: None,
        on_tables: Callable[[NameTables], None] = lambda _: None,
        clock: Callable[[], float] = ticks,
    ) -> None:
        self._connect = connect
        self._interval_s = interval_s
        self._tell = tell
        self._on_tables = on_tables
        self._clock = clock
        self._source: RegistryConnection | None = None
        self._registry = RegistryTables()
        self._followed: WatchedNames | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="kgitops-names", daemon=True)

    @property
    def now(self) -> WatchedNames:
        """The tables and their state at this moment, as one value.

        Raises:
            RuntimeError: it was not started.
        """
        if self._followed is None:
            raise RuntimeError("start the follower first")
        return self._followed

    @property
    def tables(self) -> NameTables:
        """The newest tables."""
        return self.now.tables

    @property
    def age_s(self) -> float:
        """Seconds since the registry was last read."""
        return max(0.0, self._clock() - self.now.read_at)

    def is_fresh(self, limit_s: float) -> bool:
        """True if the registry was read within so many seconds."""
        return self.age_s <= limit_s

    def start(self) -> NameTables:
        """Read the registry once, then follow it; return the first tables.

        Raises:
            KgitopsError: the registry can't be read, or there is none; nothing is followed then.
        """
        try:
            tables = self._read()
        except KgitopsError:
            self._disconnect()
            raise
        self._thread.start()
        return tables

    def read_again(self) -> None:
        """Read once more; an error is kept as a sentence, and the tables stay as they are."""
        before = self.now
        try:
            tables = self._read()
        except KgitopsError as error:
            self._failed(before, str(error))
            return
        except Exception as error:  # noqa: BLE001 (a thread that ends would tell nobody)
            self._failed(before, f"unexpected {type(error).__name__}: {error}")
            return
        if before.error is not None:
            self._tell("the registry is read again; the names of virtual clusters are up to date")
        if tables is not before.tables:
            self._on_tables(tables)

    def close(self) -> None:
        """Stop following, and close the connection."""
        self._closing.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)

    def _follow(self) -> None:
        pause_s = self._interval_s
        while not self._closing.wait(pause_s):
            self.read_again()
            failing = self.now.error is not None
            longest_s = max(_LONGEST_PAUSE_S, self._interval_s)
            pause_s = min(2 * pause_s, longest_s) if failing else self._interval_s
        self._disconnect()

    def _read(self) -> NameTables:
        began = self._clock()
        before = self._followed
        if self._source is None:
            self._source = self._connect()
        gap = before is not None and began - before.read_at > _LONGEST_GAP_S
        tables = self._registry.read(self._source, whole=gap)
        self._followed = WatchedNames(tables=tables, offset=self._registry.offset, read_at=began)
        return tables

    def _failed(self, before: WatchedNames, sentence: str) -> None:
        self._disconnect()
        self._followed = WatchedNames(
            tables=before.tables, offset=before.offset, read_at=before.read_at, error=sentence
        )
        if before.error is None:
            self._tell(f"the names of virtual clusters stay as they were last read: {sentence}")

    def _disconnect(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.close()
