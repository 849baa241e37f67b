"""A table that is not whole is refused in one sentence, and never read as objects that are gone."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from builders import a_binding, a_desired, a_topic, an_acl, applied
from fleet import breaking
from fleet.breaking import Breaks, rewrite, with_header

from kgitops.fleet.diff.inputs import side_from_rows
from kgitops.fleet.diff.narrow import narrow_sides
from kgitops.fleet.tables.desired_rows import open_desired, write_desired
from kgitops.fleet.tables.hydrating import open_state, read_state
from kgitops.fleet.tables.state_rows import write_state, write_unread
from kgitops.model.errors import KgitopsError, SafetyError, UnreachableError
from kgitops.model.verdict import ExitCode, Reason

TOPICS = tuple(a_topic(f"orders.{number}") for number in range(20))
DESIRED = a_desired(*TOPICS, an_acl(a_binding()))
STATE = applied(*DESIRED.objects)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state.parquet"
    write_state(STATE, path)
    return path


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    path = tmp_path / "declared.parquet"
    write_desired(DESIRED, path)
    return path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def flip_a_byte(path: Path, column: str) -> None:
    group = pq.ParquetFile(path).metadata.row_group(0)
    chunk = next(
        group.column(index)
        for index in range(group.num_columns)
        if group.column(index).path_in_schema == column
    )
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size - 5] ^= 0xFF
    path.write_bytes(data)


def another_type(path: Path) -> None:
    def as_text(table: pa.Table) -> pa.Table:
        index = table.schema.get_field_index("bucket")
        return table.set_column(index, "bucket", pc.cast(table["bucket"], pa.string()))

    rewrite(path, as_text)


def lose_rows(path: Path) -> None:
    rewrite(path, lambda table: table.slice(0, table.num_rows - 3))


def without_bodies(path: Path) -> None:
    body = {"found", "declared"} & set(pq.read_schema(path).names)
    rewrite(path, lambda table: table.drop_columns([*body]))


def two_headers(path: Path) -> None:
    rewrite(path, lambda table: pa.concat_tables([table, table.slice(0, 1)]))


def without_a_count(path: Path) -> None:
    with_header(path, lambda header: {key: header[key] for key in header if key != "rows"})


BREAKING: Mapping[str, tuple[Breaks, type[KgitopsError], str]] = {
    "cut": (breaking.cut, UnreachableError, "not a whole Parquet file"),
    "truncated": (truncate, UnreachableError, "not a whole Parquet file"),
    "empty": (empty, UnreachableError, "not a whole Parquet file"),
    "a folder": (replace_by_a_folder, UnreachableError, "can't be read"),
    "no fingerprints": (
        breaking.without_column("fingerprint"), SafetyError, "has no column 'fingerprint'"
    ),
    "no bodies": (without_bodies, SafetyError, "has no column '(found|declared)'"),
    "another type": (another_type, SafetyError, "the column 'bucket' as string"),
    "rows lost": (lose_rows, SafetyError, "its header says 21 rows, but there are 18"),
    "no header": (breaking.without_header, SafetyError, "it has 0 header rows"),
    "all lost": (breaking.without_any_row, SafetyError, "it has 0 header rows"),
    "two headers": (two_headers, SafetyError, "2 header rows"),
    "another format": (
        breaking.of_another_version, SafetyError, "has format version 9.0, this kgitops knows"
    ),
    "a header without a count": (without_a_count, SafetyError, "header row can't be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BREAKING))
def test_a_broken_state_is_refused(name: str, state: Path) -> None:
    breaks, error, words = BREAKING[name]
    breaks(state)
    with pytest.raises(error, match=words) as caught:
        read_state([state], "prod")
    says_what_to_do(caught.value, "fleet snapshot")


@pytest.mark.parametrize("name", sorted(BREAKING))
def test_a_broken_declaration_is_refused(name: str, declared: Path) -> None:
    """Above all a lost part: what is in it would look as if its documents were removed."""
    breaks, error, words = BREAKING[name]
    breaks(declared)
    with pytest.raises(error, match=words) as caught:
        open_desired([declared], "payments", "prod")
    says_what_to_do(caught.value, "fleet compile")


def says_what_to_do(error: KgitopsError, command: str) -> None:
    sentence = str(error)
    assert "\n" not in sentence
    assert f"kgitops {command}" in sentence or "another version of kgitops" in sentence
    assert len(error.reasons) == 1


@pytest.mark.parametrize("column", ["address", "fingerprint", "owner", "found", "last_applied"])
def test_a_page_that_changed_is_noticed(column: str, state: Path, declared: Path) -> None:
    flip_a_byte(state, column)
    with pytest.raises(SafetyError, match="can't be trusted"):
        compare_and_read(state, declared)


def compare_and_read(state: Path, declared: Path) -> None:
    rows = open_state([state], "prod")
    narrow_sides(side_from_rows(open_desired([declared], "payments", "prod")), rows)
    read_state([state], "prod")


TWICE = {
    "beside the others": breaking.with_a_row_twice,
    "in place of another": breaking.with_a_row_in_place_of_another,
}


@pytest.mark.parametrize("side", ["state", "declared"])
@pytest.mark.parametrize("name", TWICE)
def test_an_address_with_two_rows_is_refused(
    name: str, side: str, state: Path, declared: Path
) -> None:
    """Also where both rows are alike, so that each has the fingerprint of the other side."""
    path = {"state": state, "declared": declared}[side]
    read_whole: Mapping[str, Callable[[Path], object]] = {
        "state": lambda path: read_state([path], "prod"),
        "declared": lambda path: side_from_rows(open_desired([path], "p", "prod")).whole(),
    }
    TWICE[name](path)
    with pytest.raises(SafetyError, match="it has rows twice"):
        compare_and_read(state, declared)
    with pytest.raises(SafetyError, match="it has more than one row of "):
        read_whole[side](path)


@pytest.mark.parametrize("lost", range(3))
def test_one_of_several_files_may_not_be_missing(
    lost: int, state: Path, declared: Path, tmp_path: Path
) -> None:
    whole = read_state([state], "prod")
    parts = breaking.in_parts(state, tmp_path / "state")
    assert read_state(parts, "prod") == whole
    rows = breaking.in_parts(declared, tmp_path / "rows")
    assert open_desired(rows, "payments", "prod").count == 21
    left = r"it has 0 header rows|its header says 21 rows, but there are 1[345]"
    del parts[lost], rows[lost]
    with pytest.raises(SafetyError, match=left):
        read_state(parts, "prod")
    with pytest.raises(SafetyError, match=left):
        open_desired(rows, "payments", "prod")


def test_rows_that_were_rewritten_by_others_are_the_same_state(state: Path, tmp_path: Path) -> None:
    """In another order, without statistics, with other types for the same values."""
    other = tmp_path / "other.parquet"
    duckdb.sql(
        f"COPY (SELECT * FROM read_parquet('{state}') ORDER BY address DESC) "  # noqa: S608
        f"TO '{other}' (FORMAT parquet)"
    )
    shuffled = tmp_path / "shuffled.parquet"
    table = pq.read_table(state)
    pq.write_table(table.sort_by("name"), shuffled, write_statistics=False)
    assert read_state([other], "prod") == read_state([state], "prod")
    assert read_state([shuffled], "prod") == read_state([state], "prod")


@pytest.mark.parametrize("column", ["found", "last_applied"])
def test_a_row_that_is_no_json_is_refused(column: str, state: Path) -> None:
    def spoil(table: pa.Table) -> pa.Table:
        texts = table[column].to_pylist()
        at = table["address"].to_pylist().index("topic/orders.3")
        texts[at] = '{"name": '
        index = table.schema.get_field_index(column)
        return table.set_column(index, column, pa.array(texts, pa.string()))

    rewrite(state, spoil)
    with pytest.raises(SafetyError, match=r"the row of topic/orders\.3 can.t be read"):
        read_state([state], "prod")


def test_a_cluster_that_was_not_read_says_when_and_why(tmp_path: Path) -> None:
    path = tmp_path / "state.parquet"
    reason = Reason(exit=ExitCode.UNREACHABLE, sentence="b1:9092 can't be reached; look at it")
    write_unread("prod", reason, "2026-11-22T02:00:00Z", path)
    with pytest.raises(UnreachableError) as caught:
        open_state([path], "prod")
    assert str(caught.value) == (
        "the cluster prod could not be read at 2026-11-22T02:00:00Z: "
        "b1:9092 can't be reached; look at it"
    )


def test_what_is_read_back_is_what_was_written(state: Path) -> None:
    assert read_state([state], "prod") == STATE
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", open_state([state], "prod").header["base_digest"])


def test_only_the_owner_may_read_a_table(tmp_path: Path) -> None:
    """A state holds ACLs and user names."""
    before = os.umask(0)
    try:
        write_state(STATE, tmp_path / "state.parquet")
    finally:
        os.umask(before)
    assert (tmp_path / "state.parquet").stat().st_mode & 0o777 == 0o600
