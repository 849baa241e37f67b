"""A fleet's files from before the code was rearranged: read and written alike."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kgitops.fleet.output.slices import read_slice
from kgitops.fleet.summary_json import read_run, run_to_text
from kgitops.fleet.tables.desired_rows import (
    DECLARED,
    declared_in_rows,
    desired_rows,
    header_in,
    open_desired,
)
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.tables.state_rows import write_state
from kgitops.plan.document.file import to_text

GOLDEN = Path(__file__).parents[1] / "golden_files"
FLEET = GOLDEN / "fleet"
COMPILED = sorted((FLEET / "desired").glob("*/*/*.parquet"))


@pytest.mark.parametrize("cluster", ["eu-prod", "us-staging"])
def test_a_state_is_written_as_it_was_read(cluster: str, tmp_path: Path) -> None:
    file = FLEET / "states" / f"cluster={cluster}" / "state.parquet"
    again = tmp_path / "state.parquet"
    write_state(read_state([file], cluster), again)
    assert pq.ParquetFile(again).read().equals(pq.ParquetFile(file).read(), check_metadata=True)


@pytest.mark.parametrize("file", COMPILED, ids=lambda file: file.parent.name)
def test_compiled_rows_are_written_as_they_were_read(file: Path) -> None:
    cluster = file.parent.name.removeprefix("cluster=")
    rows = open_desired([file], "fleet", cluster)
    items = declared_in_rows(rows, rows.columns(DECLARED))
    desired = header_in(rows).desired.with_objects(items)
    assert len(desired.objects) == len(items) > 5
    before = pq.ParquetFile(file).read().to_pylist()
    names = before[0].keys()
    again = desired_rows(desired, header_in(rows).git, cluster)
    assert [{name: row.get(name) for name in names} for row in again] == before


def test_a_run_is_written_as_it_was_read() -> None:
    text = (FLEET / "run" / "fleet.json").read_text()
    assert run_to_text(read_run(text, "fleet.json")) == text


def test_a_slice_of_a_run_is_the_plan_that_it_was() -> None:
    assert (
        to_text(read_slice(FLEET / "run", "eu-prod"))
        == (GOLDEN / "plan-fleet-slice.json").read_text()
    )
