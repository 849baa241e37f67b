"""A unit's plan out of a result: the one that was written, or a refusal that says why."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fleet.output.fleet_results import committed, unit
from report.plans import judged_plan, make_plan, sealed, twelve_changes, update_topic

import kgitops.plan.document.documents
from kgitops.fleet.output import slices
from kgitops.fleet.output.slices import read_slice
from kgitops.model.errors import KgitopsError, UntrustedPlanError, UsageError
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import read_sealed_plan, to_text


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two projects on prod-eu, one on staging."""
    folder = tmp_path / "out"
    committed(
        folder,
        (unit(), judged_plan()),
        (unit(project="billing"), make_plan()),
        (unit("staging"), twelve_changes()),
    )
    return folder


def file_of(out: Path, table: str) -> Path:
    (file,) = out.glob(f"{table}/cluster=prod-eu/payments-*.parquet")
    return file


def rewrite(out: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write the rows of a table again, as no run would."""
    file = file_of(out, table)
    pq.write_table(change(pq.ParquetFile(file).read()), file)


def test_each_unit_has_its_own_plan(out: Path) -> None:
    for cluster, project, plan in (
        ("staging", "payments", twelve_changes()),
        ("prod-eu", "billing", make_plan()),
        ("prod-eu", "payments", judged_plan()),
    ):
        found = read_slice(out, cluster, project)
        assert found == sealed(plan)
        assert read_sealed_plan(to_text(found), "plan.json") == found
        assert to_text(read_slice(out, cluster, project)) == to_text(found)


@pytest.mark.parametrize(
    ("cluster", "project", "said"),
    [
        ("prod-eu", None, r"plans of 2 projects for the cluster prod-eu; name one of them with "
         r"--project: billing, payments"),
        ("prod-ue", None, r"no plan for a cluster prod-ue; did you mean prod-eu\?"),
        ("xyz", None, r"no plan for a cluster xyz; there is prod-eu, staging"),
        ("prod-eu", "payment", r"project payment for prod-eu; did you mean payments\?"),
        ("staging", "xyz", r"project xyz for staging; there is payments"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(cluster: str, project: str | None, said: str, out: Path) -> None:
    with pytest.raises(UsageError, match=said):
        read_slice(out, cluster, project)


def replace_text(column: str, old: str, new: str) -> Callable[[pa.Table], pa.Table]:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.column_names.index(column)
        return rows.set_column(at, column, pc.replace_substring(rows[column], old, new))

    return change


def drop_last(rows: pa.Table) -> pa.Table:
    return rows.slice(0, rows.num_rows - 1)


def turn_around(rows: pa.Table) -> pa.Table:
    return rows.take(list(range(rows.num_rows))[::-1])


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("changes", drop_last, "changes has 4 rows where 5 were written"),
        ("requests", drop_last, "requests has 3 rows where 4 were written"),
        ("violations", drop_last, "violations has 5 rows where 6 were written"),
        ("changes", turn_around, "its rows were changed"),
        ("changes", replace_text("change", "orders.v3", "orders.v4"), "its rows were changed"),
        ("changes", replace_text("change", '"actions":', '"action":'), "are not a plan"),
        ("changes", replace_text("change", "{", "["), "are not a plan"),
        ("changes", lambda rows: rows.drop_columns("change"), "lacks the column change"),
        ("plans", replace_text("plan", "User:kgitops", "User:someone"), "its rows were changed"),
        ("plans", replace_text("nonce", "n-1", "n-2"), "its rows were changed"),
        ("plans", replace_text("expires", "2026", "2036"), "its rows were changed"),
        ("plans", replace_text("expires", "T", " "), "are not a plan"),
        ("plans", replace_text("project", "payments", "billing"), "is of something else"),
        ("plans", lambda rows: rows.drop_columns("nonce"), "its row in plans lacks a column"),
    ],
    ids=[
        "fewer-changes", "fewer-requests", "fewer-violations", "another-order", "another-name",
        "unknown-key", "no-object", "no-changes-column", "another-principal", "another-nonce",
        "another-expiry", "no-moment", "another-project", "no-nonce-column",
    ],
)  # fmt: skip
def test_rows_that_are_not_what_was_written_are_refused(
    table: str, change: Callable[[pa.Table], pa.Table], said: str, out: Path
) -> None:
    rewrite(out, table, change)
    with pytest.raises(UntrustedPlanError, match=f"plan of prod-eu/payments can't .*{said}.*again"):
        read_slice(out, "prod-eu", "payments")
    assert read_slice(out, "staging").plan == twelve_changes()


@pytest.mark.parametrize("table", ["plans", "changes", "requests", "violations"])
def test_a_missing_or_damaged_file_is_refused(table: str, out: Path) -> None:
    file = file_of(out, table)
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"", whole[::-1]):
        file.write_bytes(damaged)
        with pytest.raises(UntrustedPlanError, match="is damaged"):
            read_slice(out, "prod-eu", "payments")
    file.unlink()
    with pytest.raises(UntrustedPlanError, match="is missing"):
        read_slice(out, "prod-eu", "payments")
    file.write_bytes(whole)
    assert read_slice(out, "prod-eu", "payments").plan == judged_plan()


def test_no_flipped_byte_of_changes_goes_unnoticed(tmp_path: Path) -> None:
    """It is refused, or it was in what no plan is made of: then the plan is the same."""
    out = tmp_path / "out"
    committed(out, (unit(), make_plan(update_topic("a"))))
    file = file_of(out, "changes")
    whole, refused = file.read_bytes(), 0
    for at in range(4, len(whole), 41):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            assert read_slice(out, "prod-eu").plan == make_plan(update_topic("a"))
        except UntrustedPlanError:
            refused += 1
    assert refused > 5


def test_a_summary_that_leads_elsewhere_is_refused(out: Path) -> None:
    summary = out / "fleet.json"
    inside = file_of(out, "plans").relative_to(out)
    summary.write_text(summary.read_text().replace(str(inside), f"plans/../../{inside}"))
    with pytest.raises(UntrustedPlanError, match="lies elsewhere"):
        read_slice(out, "prod-eu", "payments")


def test_a_plan_of_another_kgitops_is_not_sealed_as_ours(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest would change with the version that the plan names."""
    for module in (slices, kgitops.plan.document.documents):
        monkeypatch.setattr(module, "__version__", "99.0")
    with pytest.raises(UntrustedPlanError, match=r"was made by kgitops .*, and this is 99\.0"):
        read_slice(out, "staging")


def test_every_refusal_of_rows_exits_9(out: Path) -> None:
    """A plan that can't be trusted."""
    file_of(out, "plans").unlink()
    with pytest.raises(KgitopsError) as raised:
        read_slice(out, "prod-eu", "payments")
    assert [reason.exit for reason in raised.value.reasons] == [ExitCode.UNTRUSTED]
