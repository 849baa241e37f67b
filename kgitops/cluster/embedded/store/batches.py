"""Record batches in the store: blobs by topic id, partition and base offset.

The tables are made when the first batch is written, and the store's format version is raised then:
an older kgitops would take partitions with records for empty ones. A row of ``partition`` is the
truth about a partition's offsets; an image has them from there. Who produced what, and which
transactions are open, is in the headers of the batches; that of a producer's last one stays when
its records are deleted.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.records import OffsetsRecord, Record, RemoveTopicRecord
from kgitops.cluster.embedded.image.replay import replay
from kgitops.wire.batch_records import batch_records, with_records
from kgitops.wire.batches import HEADER_BYTES, BatchHeader, place, read_header
from kgitops.wire.decompression import UnknownCodecError
from kgitops.wire.errors import MalformedError

LEADER_EPOCH = 0
"""There is one copy of the data, and nobody else ever leads it."""
_HEAD_BYTES = HEADER_BYTES + 32
"""Bytes of a batch that are read at once: the header, and all of an end marker."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batch (
    topic_id TEXT NOT NULL, partition INTEGER NOT NULL, base_offset INTEGER NOT NULL,
    last_offset INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (topic_id, partition, base_offset)) STRICT;
CREATE TABLE IF NOT EXISTS partition (
    topic_id TEXT NOT NULL, partition INTEGER NOT NULL, start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL, bytes INTEGER NOT NULL, changed INTEGER NOT NULL,
    PRIMARY KEY (topic_id, partition)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS partition_changed ON partition (changed);
CREATE TABLE IF NOT EXISTS partition_changes (count INTEGER NOT NULL) STRICT;
"""

PartitionKey = tuple[str, int]
"""A topic's id, and a partition."""


class BatchTables:
    """The tables of one open store; whoever calls holds one of its transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._exist = False

    @property
    def exist(self) -> bool:
        """True once a process has written a batch."""
        if not self._exist:
            self._exist = bool(
                self._connection.execute(
                    "SELECT 1 FROM sqlite_master WHERE name = 'partition_changes'"
                ).fetchone()
            )
        return self._exist

    def forget(self) -> None:
        """Look for the tables again: the transaction that may have made them failed."""
        self._exist = False

    def create(self, image: Image) -> None:
        """Make the tables; simulated records, which have no batches, stay where they are."""
        for statement in _SCHEMA.strip().split(";\n"):
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO partition_changes VALUES (0)")
        for topic in image.topics.by_name.values():
            self._set_offsets(topic.topic_id, topic.offsets)

    def offsets(self, key: PartitionKey) -> tuple[int, int]:
        """The first offset of a partition, and the one after its last."""
        start, end, _ = self._contents(key)
        return start, end

    def append(self, key: PartitionKey, batch: bytes) -> bytes:
        """Append a batch to a partition, where it is at the offset in the bytes returned."""
        start, end, size = self._contents(key)
        placed = place(batch, end, LEADER_EPOCH)
        self._insert(key, placed)
        self._set(key, (start, read_header(placed).last_offset + 1, size + len(placed)))
        return placed

    def replace(self, key: PartitionKey, old: Iterable[int], new: Sequence[bytes]) -> None:
        """Put batches in the place of those with these base offsets, as compaction does."""
        start, end, _ = self._contents(key)
        self._connection.executemany(
            "DELETE FROM batch WHERE topic_id = ? AND partition = ? AND base_offset = ?",
            [(*key, base_offset) for base_offset in old],
        )
        for batch in new:
            self._insert(key, batch)
        self._set(key, (start, end, self._bytes(key, start)))

    def heads(self, key: PartitionKey, since: int) -> list[bytes]:
        """The first bytes of each batch from an offset on."""
        if not self.exist:
            return []
        rows = self._connection.execute(
            "SELECT substr(data, 1, ?) FROM batch"
            " WHERE topic_id = ? AND partition = ? AND base_offset >= ? ORDER BY base_offset",
            (_HEAD_BYTES, *key, since),
        ).fetchall()
        return [head for (head,) in rows]

    def first_since(self, key: PartitionKey, start: int, timestamp_ms: int) -> int | None:
        """The offset of the first record from ``start`` on of that time, or later.

        Of a batch whose records can't be read here it is the first record, which may be older.
        """
        for head in self.heads(key, 0):
            header = read_header(head)
            if header.last_offset < start or header.max_timestamp < timestamp_ms or header.control:
                continue
            (batch,) = self.read(key, header.base_offset, header.base_offset)
            try:
                for record in batch_records(batch):
                    if record.offset >= start and record.timestamp_ms >= timestamp_ms:
                        return record.offset
            except (UnknownCodecError, MalformedError):
                return max(header.base_offset, start)
        return None

    def read(self, key: PartitionKey, first: int, last: int) -> list[bytes]:
        """The batches whose base offsets are from ``first`` to ``last``; needs no transaction."""
        rows = self._connection.execute(
            "SELECT data FROM batch WHERE topic_id = ? AND partition = ?"
            " AND base_offset BETWEEN ? AND ? ORDER BY base_offset",
            (*key, first, last),
        ).fetchall()
        return [data for (data,) in rows]

    def follow(self, records: Iterable[Record]) -> None:
        """Let the batches follow what metadata records say, in their transaction."""
        for record in records:
            match record:
                case OffsetsRecord() if self.exist:
                    self._set_offsets(record.topic_id, record.offsets)
                case RemoveTopicRecord() if self.exist:
                    for table in ("batch", "partition"):
                        self._connection.execute(
                            f"DELETE FROM {table} WHERE topic_id = ?",  # noqa: S608 (two words)
                            (record.topic_id,),
                        )
                case _:
                    pass

    def overlay(self, image: Image, seen: int) -> tuple[Image, int]:
        """The image with the partitions that changed since ``seen`` changes, and their number."""
        if not self.exist:
            return image, seen
        rows = self._connection.execute(
            "SELECT topic_id, partition, start_offset, end_offset, bytes, changed FROM partition"
            " WHERE changed > ?",
            (seen,),
        ).fetchall()
        if not rows:
            return image, seen
        changed: dict[str, dict[int, tuple[int, int, int]]] = {}
        for topic_id, partition, *offsets, count in rows:
            seen = max(seen, count)
            if topic_id in image.topics.names:
                changed.setdefault(topic_id, {})[partition] = tuple(offsets)
        records = [OffsetsRecord(topic_id=key, offsets=value) for key, value in changed.items()]
        return replay(image, records), seen

    def partitions(self) -> Iterator[PartitionKey]:
        """All partitions that have, or had, records."""
        if self.exist:
            yield from self._connection.execute(
                "SELECT topic_id, partition FROM partition"
            ).fetchall()

    def _set_offsets(self, topic_id: str, offsets: Mapping[int, tuple[int, int, int]]) -> None:
        for partition, (start, end, size) in offsets.items():
            key = (topic_id, partition)
            self._delete_before(key, start)
            self._set(key, (start, end, self._bytes(key, start) or size))

    def _delete_before(self, key: PartitionKey, start: int) -> None:
        """Delete the batches before an offset, but keep what tells of their producers.

        A producer is known by its last batch with records, of which the header stays, and by the
        marker that ended its last transaction.
        """
        last: dict[tuple[int, bool], tuple[BatchHeader, bytes]] = {}
        for head in self.heads(key, 0):
            header = read_header(head)
            if header.idempotent:
                last[header.producer_id, header.control] = header, head
        self._connection.execute(
            "DELETE FROM batch WHERE topic_id = ? AND partition = ? AND last_offset < ?",
            (*key, start),
        )
        for header, head in last.values():
            if header.last_offset < start:
                self._insert(key, head if header.control else with_records(head, ()))

    def _insert(self, key: PartitionKey, batch: bytes) -> None:
        header = read_header(batch)
        self._connection.execute(
            "INSERT INTO batch VALUES (?, ?, ?, ?, ?)",
            (*key, header.base_offset, header.last_offset, batch),
        )

    def _contents(self, key: PartitionKey) -> tuple[int, int, int]:
        row: tuple[int, int, int] | None = self._connection.execute(
            "SELECT start_offset, end_offset, bytes FROM partition"
            " WHERE topic_id = ? AND partition = ?",
            key,
        ).fetchone()
        return row or (0, 0, 0)

    def _set(self, key: PartitionKey, contents: tuple[int, int, int]) -> None:
        self._connection.execute("UPDATE partition_changes SET count = count + 1")
        self._connection.execute(
            "INSERT OR REPLACE INTO partition SELECT ?, ?, ?, ?, ?, count FROM partition_changes",
            (*key, *contents),
        )

    def _bytes(self, key: PartitionKey, start: int) -> int:
        found: int = self._connection.execute(
            "SELECT coalesce(sum(length(data)), 0) FROM batch"
            " WHERE topic_id = ? AND partition = ? AND last_offset >= ?",
            (*key, start),
        ).fetchone()[0]
        return found
