"""A plan's rows say what the plan says, and give it back to the byte."""

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from fleet.output.fleet_results import committed, run, unit, written
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from report.fleet.fleets import violations
from report.plans import (
    ALL_PLANS,
    any_plan,
    judged_plan,
    make_plan,
    sealed,
    twelve_changes,
    update_topic,
)
from tiers import examples

from kgitops.fleet.output import writing
from kgitops.fleet.output.publish import commit, run_folder
from kgitops.fleet.output.slices import read_slice
from kgitops.fleet.output.tables import SCHEMAS, Table
from kgitops.fleet.output.writing import failed_unit
from kgitops.model.errors import FindingsError, SafetyError, UnreachableError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.documents import (
    EnvelopeDocument,
    change_document,
    plan_document,
    plan_to_json,
)
from kgitops.plan.document.file import RunningDigests, read_sealed_plan, to_text
from kgitops.plan.document.plan import Plan

Row = dict[str, object]


def rows(out: Path, files: tuple[str, ...], table: Table) -> list[Row]:
    """The rows of one table of a unit."""
    (name,) = [file for file in files if file.startswith(f"{table}/")] or [None]
    if name is None:
        return []
    read = pq.ParquetFile(out / name).read()
    assert read.schema.equals(SCHEMAS[table])
    found: list[Row] = read.to_pylist()
    return found


@pytest.mark.parametrize("name", sorted(ALL_PLANS))
def test_a_plan_comes_back_with_its_digests(name: str, tmp_path: Path) -> None:
    plan = ALL_PLANS[name]()
    committed(tmp_path / "out", (unit(), plan))

    found = read_slice(tmp_path / "out", "prod-eu")
    text = to_text(found)

    assert json.loads(text) == json.loads(to_text(sealed(plan)))
    assert read_sealed_plan(text, "plan.json").plan == found.plan
    assert to_text(read_slice(tmp_path / "out", "prod-eu", "payments")) == text


@given(plan=any_plan)
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
def test_digests_of_what_passes_by_are_those_of_the_seal(plan: Plan) -> None:
    expected = sealed(plan)
    digests = RunningDigests(plan_document(plan))
    texts = [canonical_json(change_document(change)) for change in plan.changes]
    digests.add(texts[:1])
    digests.add(())
    digests.add(texts[1:])
    envelope = EnvelopeDocument(
        captured_at=expected.captured_at,
        created="2026-11-21T09:12:07Z",
        expires="2026-11-22T09:12:07Z",
        nonce=expected.nonce,
    )
    assert digests.finish(envelope) == (expected.plan_digest, expected.digest)


def test_changes_are_the_plans_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches that are smaller than the plan."""
    monkeypatch.setattr(writing, "_BATCH", 5)
    plan = twelve_changes()
    found = rows(tmp_path, written(plan, tmp_path).files, Table.CHANGES)

    assert [row["position"] for row in found] == list(range(12))
    assert [json.loads(str(row["change"])) for row in found] == plan_to_json(plan)["changes"]
    for row, change in zip(found, plan.changes, strict=True):
        assert row["project"] == "payments"
        assert row["address"] == change.address
        assert row["kind"] == change.kind
        assert row["actions"] == list(change.actions)
        assert (row["code"], row["level"]) == (change.risk.code, change.level)
        assert row["because"] == change.because
        place = change.source
        assert (row["file"], row["line"], row["column"]) == (
            (place.file, place.line, place.column) if place else (None, None, None)
        )
        assert row["fields"] == [
            {
                "path": field.path,
                "before": field.before,
                "after": field.after,
                "code": field.risk.code if field.risk else None,
                "note": field.note,
            }
            for field in change.fields
        ]


def test_requests_are_the_plans(tmp_path: Path) -> None:
    plan = twelve_changes()
    found = rows(tmp_path, written(plan, tmp_path).files, Table.REQUESTS)
    expected = [
        {
            "project": "payments",
            "address": change["address"],
            **{key: request[key] for key in ("id", "api", "depends_on", "validated", "body")},
        }
        for change in plan_to_json(plan)["changes"]
        for request in change["requests"]
    ]
    assert [row | {"body": json.loads(str(row["body"]))} for row in found] == expected


def test_violations_are_what_did_not_pass(tmp_path: Path) -> None:
    plan = judged_plan()
    summary = written(plan, tmp_path)
    found = rows(tmp_path, summary.files, Table.VIOLATIONS)

    told = [(row["address"], row["policy"], row["level"], row["outcome"]) for row in found]
    assert told == [
        ("topic/orders.v2", "replication-factor-range", "hard", "denied"),
        ("topic/orders.v2", "retention-cap", "soft", "denied"),
        ("topic/orders.v2", "labels", "advisory", "denied"),
        ("topic/audit", "retention-cap", "soft", "waived"),
        ("topic/audit", "compression", "info", "denied"),
        ("topic/scratch", "team-prefix", "hard", "denied"),
    ]
    first, crashed = found[0], found[-1]
    assert first["message"] == "replication factor 2 is below 3"
    assert first["remediation"] == "set replicationFactor to 3"
    assert (first["file"], first["line"], first["column"]) == ("topics/orders.v2.yaml", 7, 24)
    assert first["fingerprint"]
    assert crashed["fingerprint"] is None
    assert summary.violations == violations(
        {
            ("compression", "info", "denied"): 1,
            ("labels", "advisory", "denied"): 1,
            ("replication-factor-range", "hard", "denied"): 1,
            ("retention-cap", "soft", "denied"): 1,
            ("retention-cap", "soft", "waived"): 1,
            ("team-prefix", "hard", "denied"): 1,
        }
    )


@pytest.mark.parametrize("name", sorted(ALL_PLANS))
def test_the_summary_is_that_of_the_plan(name: str, tmp_path: Path) -> None:
    plan = ALL_PLANS[name]()
    of_plan = plan_to_json(plan)["summary"]
    summary = written(plan, tmp_path)

    assert summary.planned
    assert (summary.cluster, summary.project) == ("prod-eu", "payments")
    assert summary.identity == plan.desired.identity
    assert summary.exit is plan.verdict.exit
    assert summary.reasons == plan.verdict.reasons[:100]
    assert summary.reason_count == len(plan.verdict.reasons)
    assert summary.change_count == len(plan.changes)
    assert {key: summary.actions.get(key, 0) for key in ("create", "update", "delete")} == {
        key: of_plan[key] for key in ("create", "update", "delete")
    }
    assert sum(summary.kept.values()) == of_plan["kept"]
    assert sum(summary.drift.values()) == of_plan["drift"]
    assert sum(summary.levels.values()) == sum(summary.risks.values()) == len(plan.changes)
    assert (summary.finding_count, summary.warning_count) == (
        len(plan.findings),
        len(plan.warnings),
    )


def test_no_table_has_a_file_without_rows(tmp_path: Path) -> None:
    summary = written(make_plan(), tmp_path)
    assert [name.partition("/")[0] for name in summary.files] == ["plans"]
    assert list(tmp_path.rglob("*.parquet")) == [tmp_path / summary.files[0]]


def test_attempts_at_one_unit_never_share_a_file(tmp_path: Path) -> None:
    """A task that is tried twice, or twice at a time (Spark may), gives the same rows twice."""
    first, second = written(twelve_changes(), tmp_path), written(twelve_changes(), tmp_path)
    assert not set(first.files) & set(second.files)
    assert replace(first, files=()) == replace(second, files=())
    for table in Table:
        assert rows(tmp_path, first.files, table) == rows(tmp_path, second.files, table)


def test_names_of_clusters_are_no_paths(tmp_path: Path) -> None:
    """DuckDB reads them back as they were; nothing lies outside the folder."""
    names = ["a/b", "..", "c=d", "50 %", "ünï"]
    committed(tmp_path / "out", *((unit(name, "../p/q"), twelve_changes()) for name in names))
    table = duckdb.read_parquet(f"{tmp_path}/out/changes/*/*.parquet", hive_partitioning=True)
    found = table.project("cluster").distinct().fetchall()
    assert sorted(name for (name,) in found) == sorted(names)
    for name in names:
        assert read_slice(tmp_path / "out", name).plan == read_slice(tmp_path / "out", "..").plan
    assert [path.name for path in tmp_path.iterdir() if path.name != "out"] in (
        [],
        [".out.kgitops-lock"],
    )


ODD = Finding(
    source=Source("b\udce4d.yaml", 3, 1), problem="b\udce4d.yaml is no text", advice="rename it"
)
MILD = Finding(source=None, problem="it is old", advice="look at it", severity=Severity.WARNING)


@pytest.mark.parametrize(
    ("error", "code", "sentences"),
    [
        (FindingsError([ODD, MILD]), ExitCode.ERROR, [str(ODD)]),
        (UnreachableError("prod.json can't be read"), ExitCode.UNREACHABLE, None),
        (SafetyError("prod.json has no registry"), ExitCode.REFUSED, None),
    ],
    ids=["findings", "unreachable", "safety"],
)
def test_a_unit_without_a_plan_says_why(
    error: FindingsError | UnreachableError | SafetyError,
    code: ExitCode,
    sentences: list[str] | None,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    with run_folder(out) as private:
        summary = failed_unit(unit(), error, private)
        commit(private, out, run(summary))

    assert not summary.planned
    assert summary.exit is code
    assert [reason.sentence for reason in summary.reasons] == (sentences or [str(error)])
    (row,) = rows(out, summary.files, Table.PLANS)
    assert (row["status"], row["exit"], row["plan"]) == ("failed", int(code), None)
    assert len(rows(out, summary.files, Table.FINDINGS)) == (
        summary.finding_count + summary.warning_count
    )
    with pytest.raises(Exception, match="prod-eu/payments has no plan") as raised:
        read_slice(out, "prod-eu")
    (reason,) = raised.value.reasons  # type: ignore[attr-defined]
    assert reason.exit is code
    assert reason.sentence.startswith("prod-eu/payments has no plan: ")


def test_only_the_first_hundred_reasons_travel(tmp_path: Path) -> None:
    findings = [
        Finding(source=Source("a.yaml", line, 1), problem="it is wrong", advice="mend it")
        for line in range(1, 251)
    ]
    summary = failed_unit(unit(), FindingsError(findings), tmp_path)
    assert len(summary.findings) == len(summary.reasons) == 100
    assert summary.finding_count == summary.reason_count == 250
    assert len(rows(tmp_path, summary.files, Table.FINDINGS)) == 250
    (row,) = rows(tmp_path, summary.files, Table.PLANS)
    assert len(row["reasons"]) == 250  # type: ignore[arg-type]


def test_what_is_written_by_an_attempt_that_fails_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault injection: the second batch does not make it."""
    monkeypatch.setattr(writing, "_BATCH", 1)

    class BrokenError(Exception):
        pass

    def second_fails(*given: object) -> object:
        if given[1]:
            raise BrokenError
        return before(*given)

    before = writing.change_rows
    monkeypatch.setattr(writing, "change_rows", second_fails)
    with pytest.raises(BrokenError):
        written(make_plan(update_topic("a"), update_topic("b")), tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []
