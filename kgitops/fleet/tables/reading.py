"""One side's Parquet files, checked before they are used."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from kgitops.fleet.tables.format import FORMAT_VERSION
from kgitops.model.errors import SafetyError, UnreachableError
from kgitops.model.registry import Json

HEADER_BUCKET = -1
LAST_BUCKET = 255
_BATCH = 1024


class Rows(Struct, frozen=True):
    """The rows of one table, in one file or several; ``what`` names the table in messages.

    Only :func:`open_rows` creates it, after its checks.
    """

    what: str
    remake: str
    files: tuple[pq.ParquetFile, ...]
    schema: pa.Schema
    header: Mapping[str, Json]
    groups: tuple[tuple[int, int], ...]
    """Each row group: the file's index and the group's."""

    @property
    def count(self) -> int:
        """The number of rows without the header."""
        return sum(int(file.metadata.num_rows) for file in self.files) - 1

    def part(self, buckets: range) -> "Rows":
        """The row groups that may hold rows of these buckets, and perhaps rows of others."""
        kept = []
        for file, group in self.groups:
            least, most = _buckets(self.files[file].metadata.row_group(group))
            if least < buckets.stop and most >= buckets.start:
                kept.append((file, group))
        return replace(self, groups=tuple(kept))

    def sizes(self) -> list[int]:
        """The number of rows of each group."""
        return [self.files[file].metadata.row_group(group).num_rows for file, group in self.groups]

    def columns(self, names: Sequence[str]) -> pa.Table:
        """These columns of all rows, the header among them.

        Raises:
            SafetyError: they can't be read to their end.
        """
        if not self.groups:
            return self._none(names)
        tables = [self.group(position, names) for position in range(len(self.groups))]
        return pa.concat_tables(tables).combine_chunks()

    def group(self, position: int, names: Sequence[str]) -> pa.Table:
        """These columns of one row group; errors as of ``columns``."""
        file, group = self.groups[position]

        def read(columns: list[str]) -> pa.Table:
            return self.files[file].read_row_group(group, columns=columns, use_threads=False)

        return self._read(read, names)

    def chosen(self, mask: pa.BooleanArray, names: Sequence[str]) -> pa.Table:
        """These columns of the rows in ``mask``; errors as of ``columns``.

        Row groups without any are not read.
        """
        tables, start = [], 0
        for position, size in enumerate(self.sizes()):
            part = mask.slice(start, size)
            start += size
            if pc.any(part).as_py():
                tables.append(self._chosen_in(position, part, names))
        return pa.concat_tables(tables) if tables else self._none(names)

    def _chosen_in(self, position: int, mask: pa.BooleanArray, names: Sequence[str]) -> pa.Table:
        """Read in small batches, as the rows are few: faster than filling fresh memory."""
        file, group = self.groups[position]

        def read(columns: list[str]) -> pa.Table:
            batches = self.files[file].iter_batches(
                _BATCH, row_groups=[group], columns=columns, use_threads=False
            )
            kept, start = [], 0
            for batch in batches:
                kept.append(batch.filter(mask.slice(start, batch.num_rows)))
                start += batch.num_rows
            return pa.Table.from_batches(kept)

        return self._read(read, names)

    def _none(self, names: Sequence[str]) -> pa.Table:
        return pa.schema([self.schema.field(name) for name in names]).empty_table()

    def _read(self, read: Callable[[list[str]], pa.Table], names: Sequence[str]) -> pa.Table:
        schema = pa.schema([self.schema.field(name) for name in names])
        try:
            return read(list(names)).select(list(names)).cast(schema)
        except (pa.ArrowException, OSError) as error:
            raise self.broken(str(error)) from error

    def broken(self, why: str) -> SafetyError:
        """The error to raise for a row that is not what it must be."""
        first = why.splitlines()[0].rstrip(".") if why else "it is not whole"
        return SafetyError(f"{self.what} can't be trusted: {first}; {self.remake}")


def open_rows(
    files: Sequence[Path], schema: pa.Schema, header_kind: str, *, what: str, remake: str
) -> Rows:
    """Open the files of one table.

    Every file must be Parquet with all columns; of all their rows exactly one is the header, which
    says how many others there are: a lost file must not look like objects that are gone.

    Raises:
        UnreachableError: a file can't be read, or is not Parquet.
        SafetyError: they can't be trusted.
    """
    opened = tuple(_open(file, what, remake) for file in sorted(files))
    groups = tuple(
        (index, group)
        for index, file in enumerate(opened)
        for group in range(file.metadata.num_row_groups)
    )
    bare = Rows(what=what, remake=remake, files=opened, schema=schema, header={}, groups=groups)
    for path, file in zip(sorted(files), opened, strict=True):
        _check_columns(bare, path, file.schema_arrow)
    _check_buckets(bare)
    body = "found" if "found" in schema.names else "declared"
    headers = list(_headers(bare, header_kind, body))
    if len(headers) != 1:
        raise bare.broken(
            f"it has {len(headers)} header rows of the kind {header_kind!r} instead of one"
        )
    try:
        header = json.loads(headers[0])
        version, rows = str(header["format_version"]), int(header["rows"])
    except (ValueError, KeyError, TypeError) as error:
        raise bare.broken("its header row can't be read") from error
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SafetyError(
            f"{what} has format version {version}, this kgitops knows {FORMAT_VERSION}; read it "
            f"with another version of kgitops, or {remake}"
        )
    if rows != bare.count:
        raise bare.broken(f"its header says {rows:,} rows, but there are {bare.count:,}")
    return replace(bare, header=header)


def _open(path: Path, what: str, remake: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        system_error = error.strerror if isinstance(error, OSError) else None
        why = system_error.lower() if system_error else "it is not a whole Parquet file"
        raise UnreachableError(f"{what} can't be read: {path}: {why}; {remake}") from error


def _check_columns(rows: Rows, path: Path, schema: pa.Schema) -> None:
    for field in rows.schema:
        index = schema.get_field_index(field.name)
        if index < 0:
            raise rows.broken(f"{path} has no column {field.name!r}")
        kind = schema.field(index).type
        if not _fits(kind, field.type):
            raise rows.broken(
                f"{path} has the column {field.name!r} as {kind} instead of {field.type}"
            )


def _fits(actual: pa.DataType, wanted: pa.DataType) -> bool:
    """True for the type itself, or one that other writers use in its place without a loss."""
    if actual.equals(wanted):
        return True
    if pa.types.is_fixed_size_binary(wanted):
        return bool(pa.types.is_binary(actual) or pa.types.is_large_binary(actual))
    if pa.types.is_string(wanted):
        return bool(pa.types.is_large_string(actual))
    return bool(pa.types.is_integer(wanted) and pa.types.is_signed_integer(actual))


def _headers(rows: Rows, kind: str, body: str) -> Iterator[str]:
    """The bodies of header rows; statistics show which row groups can hold one."""
    first = rows.part(range(HEADER_BUCKET, HEADER_BUCKET + 1))
    buckets = first.columns(["bucket"])["bucket"].combine_chunks()
    table = first.chosen(pc.equal(buckets, HEADER_BUCKET), ["kind", body])
    for row_kind, text in zip(table["kind"].to_pylist(), table[body].to_pylist(), strict=True):
        if row_kind != kind:
            raise rows.broken(f"a row of the kind {row_kind!r} is in the place of its header")
        yield text or ""


def _check_buckets(rows: Rows) -> None:
    """Every row must be in a bucket: a row in none would be passed over, and seem gone."""
    for position, (file, group) in enumerate(rows.groups):
        metadata = rows.files[file].metadata.row_group(group)
        statistics = _statistics(metadata)
        if statistics is not None and statistics.has_null_count and statistics.has_min_max:
            nulls, (least, most) = statistics.null_count, _buckets(metadata)
        else:
            column = rows.group(position, ["bucket"])["bucket"]
            ends = pc.min_max(column).as_py()
            nulls, least, most = column.null_count, ends["min"], ends["max"]
        if metadata.num_rows and (nulls or least < HEADER_BUCKET or most > LAST_BUCKET):
            raise rows.broken(f"it has a row whose bucket is not 0 to {LAST_BUCKET}")


def _buckets(group: pq.RowGroupMetaData) -> tuple[int, int]:
    """The least and the greatest bucket by the statistics; every bucket without statistics."""
    statistics = _statistics(group)
    if statistics is None or not statistics.has_min_max:
        return HEADER_BUCKET, LAST_BUCKET
    return int(statistics.min), int(statistics.max)


def _statistics(group: pq.RowGroupMetaData) -> pq.Statistics | None:
    """The statistics of the column of buckets."""
    columns = map(group.column, range(group.num_columns))
    return next(column.statistics for column in columns if column.path_in_schema == "bucket")
