"""Rows to a Parquet file, a row group at a time."""

from collections.abc import Iterable
from itertools import islice
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, object]

ROWS_AT_ONCE = 32_768
"""A row group: what a reader holds of the large columns at a time."""


def write_rows(rows: Iterable[Row], schema: pa.Schema, path: Path) -> None:
    """Write ``rows``; a page that changes afterwards is noticed by its checksum."""
    rest = iter(rows)
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=["kind", "owner", "file"],
        write_page_checksum=True,
    ) as writer:
        while batch := list(islice(rest, ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(batch, schema))


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By bucket and address, so that a range of buckets is a range of row groups."""
    return sorted(rows, key=itemgetter("bucket", "address"))
