"""The Parquet files of one unit, under names that no other attempt at it uses."""

import os
import re
import secrets
from pathlib import Path, PurePosixPath
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from kgitops.fleet.output.tables import SCHEMAS, Table
from kgitops.fleet.tables.partitions import partition_folder
from kgitops.model.errors import KgitopsError

_COMPRESSION, _LEVEL = "zstd", 1
_ROW_GROUP = 65_536
# Text that hardly ever repeats: looking for repetitions takes longer than writing it.
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


def write_empty(out: Path, cluster: str, table: Table) -> str:
    """A file without rows, relative to ``out``: whoever queries the table finds one."""
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
    found: list[str] = []
    for field in schema:
        if not pa.types.is_list(field.type):
            found.append(field.name)
            continue
        item = field.type.value_type
        inner = [f".{part.name}" for part in item] if pa.types.is_struct(item) else [""]
        found += (f"{field.name}.list.element{name}" for name in inner)
    return found


def _unwritten(out: Path, error: OSError) -> KgitopsError:
    # Arrow puts the names of its own calls before what the system said.
    reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
    return KgitopsError(
        f"{error.filename or out} can't be written: {reason}; make room, or choose another --out"
    )
