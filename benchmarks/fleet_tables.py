"""Where rows of text go: a Parquet file as the product writes it, with the product's own header."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fleet_rows import BROKERS, IDENTITY, PROJECT, Row

from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.fleet.tables.desired_rows import desired_rows
from kgitops.fleet.tables.format import DESIRED, ROWS_AT_ONCE, STATE
from kgitops.fleet.tables.state_rows import state_rows
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import RegistryState


def state_without_objects(cluster: str) -> ClusterState:
    return ClusterState(
        cluster_id=f"id-of-{cluster}",
        backend="kafka",
        brokers=tuple(Broker(id=1 + n, rack=f"rack-{n % 3}") for n in range(BROKERS)),
        registry=RegistryState(topic_id="registry", offset=10**9, projects={IDENTITY: PROJECT}),
        captured_at="2026-01-01T00:00:00Z",
    )


def desired_without_objects() -> DesiredState:
    return DesiredState(
        project=Project(name=PROJECT, uid=IDENTITY),
        scope=ManagedScope(whole=True),
        safety=Safety(max_deletes=10**9, max_delete_percent=100),
        principal="User:kgitops",
        digest="sha256:made-up",
    )


def state_header(cluster: str, rows: int, base: str) -> Row:
    row = next(state_rows(state_without_objects(cluster)))
    return _with_figures(row, "found", STATE, rows=rows, base_digest=base)


def desired_header(rows: int) -> Row:
    row = next(desired_rows(desired_without_objects()))
    return _with_figures(row, "declared", DESIRED, rows=rows)


def _with_figures(
    row: Mapping[str, object], body: str, schema: pa.Schema, **figures: object
) -> Row:
    """The product's own header of a table without rows, with other figures."""
    text = canonical_json({**json.loads(str(row[body])), **figures}).decode()
    return tuple({**row, body: text}.get(name) for name in schema.names)


class RowFile:
    """A Parquet file that is written a row group at a time."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(parents=True)
        self._schema = schema
        self._rows: list[Row] = []
        self._writer = pq.ParquetWriter(
            folder / "part-0.parquet",
            schema,
            compression="zstd",
            use_dictionary=["kind", "owner", "file"],
            write_page_checksum=True,
        )

    def __enter__(self) -> "RowFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def add(self, row: Row | None) -> None:
        if row is not None:
            self._rows.append(row)
        if len(self._rows) == ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
            self._rows = []
