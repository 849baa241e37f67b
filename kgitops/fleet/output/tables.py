"""The tables of a run's result, and their Parquet files; a file's folder names its cluster.

Columns are in the order of writing. Columns may be added within a major version, not changed.
"""

import os
import re
import secrets
from enum import StrEnum
from pathlib import Path, PurePosixPath
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from kgitops.fleet.tables.format import UnwritableError
from kgitops.fleet.units.data_files import partition_folder


class Table(StrEnum):
    """The tables, as their folders are called."""

    PLANS = "plans"
    CHANGES = "changes"
    REQUESTS = "requests"
    VIOLATIONS = "violations"
    FINDINGS = "findings"


class Status(StrEnum):
    """The outcome of a unit."""

    PLANNED = "planned"
    FAILED = "failed"


REASON = pa.struct([("exit", pa.int16()), ("sentence", pa.string())])
FIELD = pa.struct(
    [
        ("path", pa.string()),
        ("before", pa.string()),  # null: absent
        ("after", pa.string()),
        ("code", pa.string()),  # of the risk, null where there is none
        ("note", pa.string()),
    ]
)

PLANS = pa.schema(
    [
        ("project", pa.string()),
        ("identity", pa.string()),
        ("status", pa.string()),
        ("exit", pa.int16()),
        ("reasons", pa.list_(REASON)),
        ("plan", pa.large_string()),  # canonical JSON without its changes; null: failed
        ("plan_digest", pa.string()),
        ("captured_at", pa.string()),
        ("created", pa.string()),
        ("expires", pa.string()),
        ("nonce", pa.string()),
        ("digest", pa.string()),  # of the plan's file
    ]
)
"""One row a unit; the last five are the plan's envelope."""

CHANGES = pa.schema(
    [
        ("project", pa.string()),
        ("position", pa.int32()),  # from 0, the plan's order
        ("address", pa.string()),
        ("kind", pa.string()),
        ("actions", pa.list_(pa.string())),
        ("code", pa.string()),
        ("level", pa.string()),
        ("because", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
        ("fields", pa.list_(FIELD)),
        ("change", pa.string()),  # canonical JSON of the whole change
    ]
)
REQUESTS = pa.schema(
    [
        ("project", pa.string()),
        ("address", pa.string()),
        ("id", pa.string()),
        ("api", pa.string()),
        ("depends_on", pa.list_(pa.string())),
        ("validated", pa.string()),
        ("body", pa.string()),  # canonical JSON
    ]
)
VIOLATIONS = pa.schema(
    [
        ("project", pa.string()),
        ("address", pa.string()),
        ("policy", pa.string()),
        ("level", pa.string()),
        ("outcome", pa.string()),  # denied or waived; at a level below soft it only warns
        ("message", pa.string()),
        ("fingerprint", pa.string()),  # null: the policy itself failed
        ("remediation", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
    ]
)
FINDINGS = pa.schema(
    [
        ("project", pa.string()),
        ("severity", pa.string()),
        ("problem", pa.string()),
        ("advice", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
        ("column", pa.int32()),
    ]
)

SCHEMAS: dict[Table, pa.Schema] = {
    Table.PLANS: PLANS,
    Table.CHANGES: CHANGES,
    Table.REQUESTS: REQUESTS,
    Table.VIOLATIONS: VIOLATIONS,
    Table.FINDINGS: FINDINGS,
}


_COMPRESSION, _LEVEL = "zstd", 1
_ROW_GROUP = 65_536
# Text that rarely repeats: looking for repetitions takes longer than writing it.
_DISTINCT = {"address", "body", "change", "digest", "plan", "plan_digest"}
_READABLE = 40
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


class UnitFiles:
    """Opens a table's file with its first row, so that no empty ones are left.

    A context manager: where the block fails, the files are removed.
    """

    def __init__(self, cluster: str, project: str, out: Path) -> None:
        self._out = out
        self._folder = partition_folder("cluster", cluster)
        plain = _NOT_PLAIN.sub("-", project)[:_READABLE]
        self._name = f"{plain}-{secrets.token_hex(8)}.parquet"
        self._writers: dict[Table, pq.ParquetWriter] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The files so far, relative to the run's folder."""
        return tuple(sorted(str(self._relative(table)) for table in self._writers))

    def add(self, table: Table, rows: pa.RecordBatch) -> None:
        """Write some rows of a table."""
        if rows.num_rows:
            writer = self._writers.get(table) or self._open(table)
            writer.write_batch(rows, row_group_size=_ROW_GROUP)

    def __enter__(self) -> "UnitFiles":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for writer in self._writers.values():
                writer.close()
        except OSError as failed:
            self._remove()
            raise _unwritten(self._out, failed) from failed
        if error is not None:
            self._remove()
        if isinstance(error, OSError):
            raise _unwritten(self._out, error) from error

    def _relative(self, table: Table) -> PurePosixPath:
        return PurePosixPath(table, self._folder, self._name)

    def _open(self, table: Table) -> pq.ParquetWriter:
        path = self._out / self._relative(table)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writers[table] = writer = new_writer(path, table)
        return writer

    def _remove(self) -> None:
        for table in self._writers:
            (self._out / self._relative(table)).unlink(missing_ok=True)


def write_empty_table(out: Path, cluster: str, table: Table) -> str:
    """Write a file without rows, so that queries find the table; return it relative to ``out``."""
    name = str(PurePosixPath(table, partition_folder("cluster", cluster), "none.parquet"))
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    new_writer(out / name, table).close()
    return name


def new_writer(path: Path, table: Table) -> pq.ParquetWriter:
    """A file of the table, to be closed by the caller."""
    schema = SCHEMAS[table]
    return pq.ParquetWriter(
        path,
        schema,
        compression=_COMPRESSION,
        compression_level=_LEVEL,
        use_dictionary=[name for name in _leaves(schema) if name not in _DISTINCT],
        write_statistics=[name for name in schema.names if name not in _DISTINCT - {"address"}],
        write_page_checksum=True,
    )


def _leaves(schema: pa.Schema) -> list[str]:
    """The columns as Parquet names them: those of a list of structs lie two levels deeper."""
    names: list[str] = []
    for field in schema:
        if not pa.types.is_list(field.type):
            names.append(field.name)
            continue
        item = field.type.value_type
        inner = [f".{part.name}" for part in item] if pa.types.is_struct(item) else [""]
        names += (f"{field.name}.list.element{name}" for name in inner)
    return names


def _unwritten(out: Path, error: OSError) -> UnwritableError:
    # Arrow puts the names of its own calls before what the system said.
    reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
    return UnwritableError(
        f"{error.filename or out} can't be written: {reason}; make room, or choose another --out"
    )
