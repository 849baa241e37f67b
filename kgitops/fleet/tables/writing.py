"""Rows to a Parquet file, a row group at a time; the file is there as a whole or not at all."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kgitops.model.errors import KgitopsError

Row = dict[str, object]


class UnwritableError(KgitopsError):
    """A file can't be written, whatever was to be in it."""


ROWS_AT_ONCE = 32_768
"""A row group: what a reader holds of the large columns at a time."""


def write_rows(rows: Iterable[Row], schema: pa.Schema, path: Path) -> None:
    """Write ``rows``; a page that changes afterwards is noticed by its checksum.

    Raises:
        UnwritableError: the file can't be written; what was there before still is.
    """
    write_tables(_tables(rows, schema), schema, path)


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Write a row group for each of ``tables``; errors as of ``write_rows``."""
    with (
        _whole(path) as draft,
        pq.ParquetWriter(
            draft,
            schema,
            compression="zstd",
            use_dictionary=["kind", "owner", "file"],
            write_page_checksum=True,
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By bucket and address, so that a range of buckets is a range of row groups."""
    return sorted(rows, key=itemgetter("bucket", "address"))


def _tables(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.Table]:
    rest = iter(rows)
    while batch := list(islice(rest, ROWS_AT_ONCE)):
        yield pa.Table.from_pylist(batch, schema)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Where to write what will be at ``path``; readers of tables pass over such a name.

    Its folder is made where there is none. Only its owner may read it. Two that write at the same
    time don't meet.
    """
    place = Path(os.path.realpath(path))
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600)
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(place)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnwritableError(
            f"{path} can't be written: {reason}; make room, or choose another place"
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
