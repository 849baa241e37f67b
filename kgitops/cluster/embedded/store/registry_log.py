"""The registry's log in the store: a compacted topic on Kafka, a table with transactions here."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kgitops.cluster.embedded.store.store import Store, checksum
from kgitops.cluster.port import RegistryEntry, lease_ended_error
from kgitops.cluster.registry import (
    build_registry_state,
    meta_record,
    read_entry,
    without_unreadable,
)
from kgitops.model.errors import LockedError
from kgitops.model.json.canonical import canonical_text
from kgitops.model.registry import META_KEY, Json, RegistryState

_TOPIC_ID = "registry_topic_id"
_NEXT_OFFSET = "registry_next_offset"
_LAST_TIMESTAMP = "registry_last_timestamp_ms"
_EPOCH = "registry_epoch"


class EmbeddedRegistryLog:
    """Implements :class:`kgitops.cluster.port.RegistryLog` on a store.

    Compaction is immediate: of each key only the newest entry is kept, at its own offset; a
    deletion is kept, too.
    """

    def __init__(
        self,
        store: Store,
        turn: threading.RLock,
        *,
        clock_ms: Callable[[], int],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._turn = turn
        self._clock_ms = clock_ms
        self._new_id = new_id
        self._state: RegistryState | None = None
        self._epoch: int | None = None

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Every entry at or after ``since``; None if nothing was ever appended."""
        with self._turn, self._store.reading():
            if self._store.meta(_TOPIC_ID) is None:
                return None
            return tuple(self._entries(since))

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Every entry at or after ``since``, including those that can't be read."""
        with self._turn, self._store.reading():
            if self._store.meta(_TOPIC_ID) is None:
                return None
            return tuple(self._scanned(since))

    def append(self, entries: Sequence[tuple[str, Mapping[str, Json] | None]]) -> int:
        """Append all entries or none, in one transaction; the offset of the last."""
        with self._turn, self._store.writing():
            if self._epoch is not None:
                self._check_epoch()
            offset = self._last_offset()
            timestamp_ms = self._now_ms()
            if self._store.meta(_TOPIC_ID) is None:
                self._store.set_meta(_TOPIC_ID, self._new_id())
                if all(key != META_KEY for key, _ in entries):
                    entries = (meta_record(), *entries)
            for key, value in entries:
                offset += 1
                text = None if value is None else canonical_text(value)
                self._store.connection.execute(
                    "INSERT OR REPLACE INTO registry VALUES (?, ?, ?, ?, ?)",
                    (offset, key, text, timestamp_ms, checksum(offset, key, text)),
                )
            self._store.set_meta(_NEXT_OFFSET, str(offset + 1))
            self._store.set_meta(_LAST_TIMESTAMP, str(timestamp_ms))
        return offset

    def fence(self) -> None:
        """Be the only writer from now on: each one has an epoch, as Kafka's producers do."""
        with self._turn, self._store.writing():
            self._epoch = self._stored_epoch() + 1
            self._store.set_meta(_EPOCH, str(self._epoch))

    def unfence(self) -> None:
        """Be one contender among others again."""
        self._epoch = None

    def check_lease(self, until_ms: int) -> None:
        """Check that the lock is held; the caller holds the transaction in which it then writes.

        Raises:
            LockedError: its lease has ended, or another process has become the only writer.
        """
        self._check_epoch()
        if self._now_ms() >= until_ms:
            raise lease_ended_error("this", "written")

    def topic_id(self) -> str | None:
        """The id that the registry got with its first entry."""
        with self._turn, self._store.reading():
            return self._store.meta(_TOPIC_ID)

    def now_ms(self) -> int:
        """Log append time: never behind an entry that is already there."""
        with self._turn, self._store.reading():
            return self._now_ms()

    def read_state(self) -> RegistryState | None:
        """The state that the entries add up to; the caller holds a transaction."""
        topic_id = self._store.meta(_TOPIC_ID)
        if topic_id is None:
            return None
        before = self._state
        if before is None or before.topic_id != topic_id:
            self._state = build_registry_state(self._entries(0), topic_id)
        elif before.offset != self._last_offset():
            # An apply reads after every batch, so only new entries may cost time.
            entries = self._entries(before.offset + 1)
            self._state = build_registry_state(entries, topic_id, before=before)
        return self._state

    def _check_epoch(self) -> None:
        if self._epoch != self._stored_epoch():
            raise LockedError(
                "another kgitops has taken the registry over, so this run may write nothing more; "
                "wait until it is done, then try again"
            )

    def _stored_epoch(self) -> int:
        return int(self._store.meta(_EPOCH) or 0)

    def _last_offset(self) -> int:
        return int(self._store.meta(_NEXT_OFFSET) or 0) - 1

    def _now_ms(self) -> int:
        return max(int(self._store.meta(_LAST_TIMESTAMP) or 0), self._clock_ms())

    def _entries(self, since: int) -> Sequence[RegistryEntry]:
        return without_unreadable(tuple(self._scanned(since)))

    def _scanned(self, since: int) -> Iterator[RegistryEntry]:
        rows = self._store.connection.execute(
            "SELECT log_offset, CAST(key AS BLOB), CAST(value AS BLOB), timestamp_ms, crc"
            " FROM registry"
            " WHERE log_offset >= ? ORDER BY log_offset",
            (since,),
        )
        for offset, key, data, timestamp_ms, crc in rows:
            entry = read_entry(offset, key, data, timestamp_ms)
            texts = (part and part.decode(errors="replace") for part in (key, data))
            if crc != checksum(offset, *texts):
                problem = f"is damaged in the store {self._store.name}"
                entry = replace(entry, value=None, problem=problem)
            yield entry
