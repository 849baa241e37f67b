"""How a fleet's files come to be broken, each on purpose."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Breaks = Callable[[Path], None]
"""Breaks what stands in a folder for one cluster: ``north.parquet``, or ``cluster=north/…``."""


def cut(file: Path) -> None:
    """A copy that was interrupted."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def rewrite(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(file)), file)


def without_column(name: str) -> Breaks:
    return lambda file: rewrite(file, lambda table: table.drop_columns([name]))


def without_last_row(file: Path) -> None:
    rewrite(file, lambda table: table.slice(0, table.num_rows - 1))


def without_header(file: Path) -> None:
    rewrite(file, lambda table: table.slice(1))


def without_any_row(file: Path) -> None:
    rewrite(file, lambda table: table.slice(0, 0))


def of_another_version(file: Path) -> None:
    with_header(file, lambda header: {**header, "format_version": "9.0"})


def with_a_row_twice(file: Path) -> None:
    """The header counts it, so that nothing but the address tells."""
    rewrite(file, lambda table: pa.concat_tables([table, table.slice(table.num_rows - 1)]))
    with_header(file, lambda header: {**header, "rows": header["rows"] + 1})


def with_a_row_in_place_of_another(file: Path) -> None:
    """As many rows as there should be, and one object is not among them."""

    def change(table: pa.Table) -> pa.Table:
        last = table.slice(table.num_rows - 1)
        return pa.concat_tables([table.slice(0, table.num_rows - 2), last, last])

    rewrite(file, change)


def with_header(file: Path, change: Callable[[dict[str, object]], dict[str, object]]) -> None:
    def edit(table: pa.Table) -> pa.Table:
        body = "found" if "found" in table.column_names else "declared"
        rows = table.to_pylist()
        rows[0][body] = json.dumps(change(json.loads(rows[0][body])))
        return pa.Table.from_pylist(rows, table.schema)

    rewrite(file, edit)


def in_parts(file: Path, folder: Path, count: int = 3) -> list[Path]:
    """The file as a partition of several, as Spark would write it."""
    table = pq.read_table(file)
    folder.mkdir(parents=True)
    size = -(-table.num_rows // count)
    parts = []
    for number in range(count):
        parts.append(folder / f"part-{number}.parquet")
        pq.write_table(table.slice(number * size, size), parts[-1])
    file.unlink()
    return parts
