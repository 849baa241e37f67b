"""One unit's rows → the plan that they were made of, sealed as it was then."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Raw
from msgspec.structs import replace

from kgitops import __version__
from kgitops.fleet.output.publish import recover
from kgitops.fleet.output.runs import read_history
from kgitops.fleet.output.tables import SCHEMAS, Status, Table
from kgitops.fleet.summary import RunSummary, UnitSummary
from kgitops.model import clock
from kgitops.model.errors import KgitopsError, UntrustedPlanError, UsageError
from kgitops.model.json.codec import decode
from kgitops.model.verdict import Reason
from kgitops.model.wording import nearest
from kgitops.plan.document.documents import PlanDocument, read_plan_document
from kgitops.plan.document.file import SealedPlan, seal

_ENVELOPE = ("captured_at", "created", "expires", "nonce", "plan_digest", "digest")
_NEXT = "make it again with kgitops fleet plan --out"


class UnplannedError(KgitopsError):
    """There is no plan of a unit; carries the unit's own reasons, and so its exit code."""

    def __init__(self, unit: UnitSummary) -> None:
        self._unit = unit
        super().__init__(f"{unit.name} has no plan; correct what kgitops fleet summary says of it")

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons that stopped the unit."""
        unit = self._unit
        reasons = tuple(
            Reason(exit=reason.exit, sentence=f"{unit.name} has no plan: {reason.sentence}")
            for reason in unit.reasons
        )
        return reasons or super().reasons


def read_slice(directory: Path, cluster: str, project: str | None = None) -> SealedPlan:
    """The plan of one project for one cluster out of a run, the same bytes whenever it is asked.

    Raises:
        UsageError: there is no such unit, or two and none is named.
        UnplannedError: the unit has no plan.
        UntrustedPlanError: the rows are not those that the run wrote.
    """
    recover(directory)
    unit = _unit(read_history(directory).latest, directory, cluster, project)
    if not unit.planned:
        raise UnplannedError(unit)
    tables = _read_tables(directory, unit)
    row = _plan_row(tables[Table.PLANS], unit)
    sealed = _sealed(row, _texts(tables[Table.CHANGES], unit), unit)
    if (sealed.plan_digest, sealed.digest) != (row["plan_digest"], row["digest"]):
        _refuse(unit, "its rows were changed: they are not what their digest names")
    return sealed


def _unit(run: RunSummary, directory: Path, cluster: str, project: str | None) -> UnitSummary:
    clusters = [unit for unit in run.units if unit.cluster == cluster]
    if not clusters:
        raise _unknown(f"{directory} has no plan for a cluster {cluster}", cluster, run.clusters)
    names = [unit.project for unit in clusters]
    if project is None and len(clusters) > 1:
        raise UsageError(
            f"{directory} has plans of {len(names)} projects for the cluster {cluster}; name one "
            f"of them with --project: {', '.join(sorted(names))}"
        )
    for unit in clusters:
        if project in (None, unit.project):
            return unit
    raise _unknown(
        f"{directory} has no plan of a project {project} for {cluster}", project or "", names
    )


def _unknown(problem: str, name: str, known: Iterable[str]) -> UsageError:
    ordered = sorted(known)
    near = nearest(name, ordered)
    hint = f"did you mean {near}?" if near else f"there is {', '.join(ordered[:5])}"
    return UsageError(f"{problem}; {hint}{'' if near or len(ordered) <= 5 else ', …'}")


def _read_tables(directory: Path, unit: UnitSummary) -> dict[Table, pa.Table]:
    """All tables of the unit, each with as many rows as the summary counts."""
    named = {PurePosixPath(name).parts[:1]: name for name in unit.files}
    row_counts = {
        Table.PLANS: 1,
        Table.CHANGES: unit.change_count,
        Table.REQUESTS: sum(unit.requests.values()),
        Table.VIOLATIONS: sum(each.count for each in unit.violations),
        Table.FINDINGS: unit.finding_count + unit.warning_count,
    }
    tables: dict[Table, pa.Table] = {}
    for table, count in row_counts.items():
        name = named.get((str(table),))
        rows = _read(directory, name, table, unit) if name else SCHEMAS[table].empty_table()
        if rows.num_rows != count:
            _refuse(unit, f"{table} has {rows.num_rows:,} rows where {count:,} were written")
        tables[table] = rows
    return tables


def _read(directory: Path, name: str, table: Table, unit: UnitSummary) -> pa.Table:
    if ".." in PurePosixPath(name).parts:
        _refuse(unit, f"{name} lies elsewhere")
    path = directory / name
    columns = ["change"] if table is Table.CHANGES else None
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except FileNotFoundError:
        _refuse(unit, f"{path} is missing")
    except (pa.ArrowException, OSError) as error:
        raise _untrusted(unit, f"{path} is damaged") from error


def _plan_row(plans: pa.Table, unit: UnitSummary) -> dict[str, str]:
    if not {"project", "status", "plan", *_ENVELOPE} <= set(plans.column_names):
        _refuse(unit, "its row in plans lacks a column")
    (row,) = plans.to_pylist()
    texts = {key: row[key] for key in ("project", "status", "plan", *_ENVELOPE)}
    if any(not isinstance(text, str) for text in texts.values()):
        _refuse(unit, "its row in plans is not whole")
    if (texts["project"], texts["status"]) != (unit.project, Status.PLANNED):
        _refuse(unit, "its row in plans is of something else")
    return texts


def _texts(changes: pa.Table, unit: UnitSummary) -> list[str]:
    if changes.num_rows and "change" not in changes.column_names:
        _refuse(unit, "changes lacks the column change")
    return changes["change"].to_pylist() if changes.num_rows else []


def _sealed(row: dict[str, str], texts: Sequence[str], unit: UnitSummary) -> SealedPlan:
    try:
        version = json.loads(row["plan"])["tool"]["version"]
        if version != __version__:
            raise UntrustedPlanError(
                f"the plan of {unit.name} was made by kgitops {version}, and this is "
                f"{__version__}; use that one, or make it again"
            )
        document = decode(PlanDocument, row["plan"], "the plan")
        changes = tuple(Raw(text.encode()) for text in texts)
        plan = read_plan_document(replace(document, changes=changes))
        return seal(
            plan,
            captured_at=row["captured_at"],
            created=clock.from_text(row["created"]),
            expires=clock.from_text(row["expires"]),
            nonce=row["nonce"],
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _untrusted(unit, "its rows are not a plan that this kgitops understands") from error


def _refuse(unit: UnitSummary, problem: str) -> NoReturn:
    raise _untrusted(unit, problem)


def _untrusted(unit: UnitSummary, problem: str) -> UntrustedPlanError:
    return UntrustedPlanError(f"the plan of {unit.name} can't be trusted: {problem}; {_NEXT}")
