"""The store: one SQLite file with the log of metadata records, snapshots, and the registry's log.

The log is the truth and is never shortened. A snapshot only saves time on the way to the newest
image: a missing or damaged one costs time, not data. All is written in transactions that are on
the disk before they count (WAL, ``synchronous=FULL``), so a kill at any instant leaves either all
of a batch or nothing of it.
"""

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from kgitops.cluster.embedded.image.format_versions import (
    FIRST_VERSION,
    FORMAT_VERSION,
    format_version,
)
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.record_json import Json, record_from_json, record_to_json
from kgitops.cluster.embedded.image.records import Record
from kgitops.cluster.embedded.image.replay import replay
from kgitops.cluster.embedded.store.batches import BatchTables, PartitionKey
from kgitops.cluster.embedded.store.errors import damaged, translating_sqlite_errors
from kgitops.cluster.embedded.store.image_json import image_from_text, image_to_json
from kgitops.model.garbage_collection import without_garbage_collection

# A snapshot is due when the log after the last one has outgrown both of these.
_SNAPSHOT_MIN_CHARS = 1 << 18
_SNAPSHOT_SHARE = 2


class Position(Struct, frozen=True, kw_only=True):
    """An image, the offset of the last batch in it, and how much log there is after a snapshot."""

    image: Image
    offset: int
    log_chars: int = 0
    snapshot_chars: int = 0
    partition_changes: int = 0
    """Of the store's record batches: those that are in the image."""


START = Position(image=Image.EMPTY, offset=-1)


class Store:
    """One open store. Not for several threads at once: the caller takes turns."""

    def __init__(self, connection: sqlite3.Connection, name: str, busy_timeout_ms: int) -> None:
        self.connection = connection
        self.name = name
        self._busy_timeout_ms = busy_timeout_ms
        self.batches = BatchTables(connection)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one moment of the store, unaffected by other writers."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer; all writes are kept, or none if there is an error."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def writing_batches(self) -> Iterator[None]:
        """Be the only writer, whose writes outlive the process, and maybe not the machine.

        Kafka's brokers don't wait for the disk either; that is what replicas are for.
        """
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with self.writing():
                yield
        finally:
            self.connection.execute("PRAGMA synchronous = FULL")

    def load(self) -> Position:
        """The position at the end of the log, from the newest snapshot on."""
        with without_garbage_collection():
            return self._load()

    def catch_up(self, position: Position) -> Position:
        """The position after the batches that were appended after ``position``."""
        batches = self.connection.execute(
            "SELECT log_offset, records, crc FROM log WHERE log_offset > ? ORDER BY log_offset",
            (position.offset,),
        ).fetchall()
        records: list[Record] = []
        offset, chars = position.offset, position.log_chars
        for log_offset, text, crc in batches:
            offset += 1
            chars += len(text)
            if log_offset != offset or crc != checksum(offset, text):
                raise damaged(self.name, f"the log's batch {offset} can't be read")
            records.extend(self._records(text, offset))
        image = self._replay(position.image, records, offset) if records else position.image
        image, changes = self.batches.overlay(image, position.partition_changes)
        return Position(
            image=image,
            offset=offset,
            log_chars=chars,
            snapshot_chars=position.snapshot_chars,
            partition_changes=changes,
        )

    def history(self) -> Iterator[tuple[int, str, Sequence[Record]]]:
        """Every batch from the beginning: its timestamp in ms, its principal, and its records."""
        rows = self.connection.execute(
            "SELECT log_offset, timestamp_ms, principal, records FROM log ORDER BY log_offset"
        )
        for offset, timestamp_ms, principal, text in rows:
            yield timestamp_ms, principal, tuple(self._records(text, offset))

    def append(
        self, position: Position, records: Sequence[Record], *, timestamp_ms: int, principal: str
    ) -> Position:
        """Append one batch after ``position``, and a snapshot if one is due."""
        text = dump_json([record_to_json(record) for record in records])
        offset = position.offset + 1
        self.connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?)",
            (offset, timestamp_ms, principal, text, checksum(offset, text)),
        )
        self._raise_version(max(map(format_version, records), default=FIRST_VERSION))
        self.batches.follow(records)
        image = replay(position.image, records)
        chars = position.log_chars + len(text)
        if chars < max(_SNAPSHOT_MIN_CHARS, position.snapshot_chars // _SNAPSHOT_SHARE):
            return Position(
                image=image,
                offset=offset,
                log_chars=chars,
                snapshot_chars=position.snapshot_chars,
                partition_changes=position.partition_changes,
            )
        return self._append_snapshot(image, offset, position.partition_changes)

    def append_batches(self, image: Image, batches: Sequence[tuple[PartitionKey, bytes]]) -> None:
        """Append record batches to partitions."""
        if batches:
            self.create_batches(image)
        for key, batch in batches:
            self.batches.append(key, batch)

    def create_batches(self, image: Image) -> None:
        """Make the tables of batches if there are none."""
        if not self.batches.exist:
            self.batches.create(image)
            # An older kgitops would take partitions with records for empty ones.
            self._raise_version(FORMAT_VERSION)

    def meta(self, key: str) -> str | None:
        """A value that belongs to the store as a whole."""
        row = self.connection.execute(
            "SELECT value, crc FROM meta WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        if row[1] != checksum(key, row[0]):
            raise damaged(self.name, f"its {key} can't be read")
        return str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Keep a value that belongs to the store as a whole."""
        self.connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, checksum(key, value))
        )

    def close(self) -> None:
        """Close the file; the last one to do so folds the WAL into it."""
        self.connection.close()

    def _load(self) -> Position:
        row = self.connection.execute(
            "SELECT log_offset, image, crc FROM snapshot ORDER BY log_offset DESC LIMIT 1"
        ).fetchone()
        position = START
        if row is not None and row[2] == checksum(row[0], row[1]):
            image = image_from_text(row[1])
            position = Position(image=image, offset=row[0], snapshot_chars=len(row[1]))
        return self.catch_up(position)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with translating_sqlite_errors(self.name, self._busy_timeout_ms):
            self.connection.execute(begin)
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                self.batches.forget()
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                raise

    def _raise_version(self, version: int) -> None:
        """Keep an older kgitops away: it would write a snapshot without what it does not know."""
        if version == FIRST_VERSION:
            return
        (held,) = self.connection.execute("PRAGMA user_version").fetchone()
        if held < version:
            self.connection.execute(f"PRAGMA user_version = {version}")

    def _append_snapshot(self, image: Image, offset: int, partition_changes: int = 0) -> Position:
        text = dump_json(image_to_json(image))
        self.connection.execute("DELETE FROM snapshot")
        self.connection.execute(
            "INSERT INTO snapshot VALUES (?, ?, ?)", (offset, text, checksum(offset, text))
        )
        return Position(
            image=image,
            offset=offset,
            snapshot_chars=len(text),
            partition_changes=partition_changes,
        )

    def _records(self, text: str, offset: int) -> Iterator[Record]:
        try:
            yield from map(record_from_json, json.loads(text))
        except (ValueError, TypeError, KeyError) as error:
            raise damaged(self.name, f"the log's batch {offset}: {error}") from error

    def _replay(self, image: Image, records: Sequence[Record], offset: int) -> Image:
        try:
            return replay(image, records)
        except (ValueError, KeyError) as error:
            raise damaged(self.name, f"the log up to batch {offset}: {error}") from error


def dump_json(value: Json) -> str:
    """The text that rows hold."""
    # Plain ASCII: SQLite's text can't hold everything that a Python string can.
    return json.dumps(value, separators=(",", ":"), default=_plain)


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} can't be kept in a store")


def checksum(*parts: int | str | None) -> int:
    """A checksum that detects a row damaged on the disk."""
    return zlib.crc32("\0".join(map(str, parts)).encode())
