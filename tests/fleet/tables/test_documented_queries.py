"""The queries of docs/reference/fleet-tables.md run as they stand there, on what kgitops writes."""

import re
from pathlib import Path

import duckdb
import pytest
from builders import a_binding, a_desired, a_topic, an_acl, applied

from kgitops.fleet.output.tables import Table, write_empty_table
from kgitops.fleet.tables.format import DESIRED, STATE
from kgitops.fleet.tables.state_rows import write_state

DOC = (Path(__file__).parents[3] / "docs" / "reference" / "fleet-tables.md").read_text()
(SQL,) = re.findall(r"```sql\n(.*?)```", DOC, re.DOTALL)
CHANGES, STATES = (query for query in SQL.split(";") if "SELECT" in query)


def test_deletions_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_empty_table(tmp_path / "run", "prod", Table.CHANGES)
    asked = duckdb.sql(CHANGES)
    assert asked.columns == ["cluster", "project", "address", "because"]
    assert asked.fetchall() == []


def test_states_are_asked_what_is_unmanaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    objects = a_desired(a_topic("orders"), a_topic("audit"), an_acl(a_binding())).objects
    for cluster in ("east", "west"):
        folder = tmp_path / "states" / f"cluster={cluster}"
        folder.mkdir(parents=True)
        write_state(applied(*objects), folder / "state.parquet")
    assert sorted(duckdb.sql(STATES).fetchall()) == [("east", 3, 0, 0), ("west", 3, 0, 0)]


@pytest.mark.parametrize("name", sorted({*STATE.names, *DESIRED.names}))
def test_every_column_is_told(name: str) -> None:
    assert f"`{name}`" in DOC
