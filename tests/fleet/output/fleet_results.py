"""Results of fleets for tests: units, plans of them, runs that are committed."""

from pathlib import Path

from msgspec.structs import replace
from report.plans import CREATED

from kgitops.fleet.output.publish import commit, run_folder
from kgitops.fleet.output.writing import write_plan
from kgitops.fleet.summary import RunSummary, UnitSummary
from kgitops.fleet.units.unit import RowFiles, StateFiles, StateFormat, Unit
from kgitops.plan.document.plan import Plan

CAPTURED_AT = "2026-11-21T09:12:00Z"


def unit(cluster: str = "prod-eu", project: str = "payments", nonce: str = "n-1") -> Unit:
    """A unit whose sides nobody reads."""
    return Unit(
        cluster=cluster,
        project=project,
        state=StateFiles(form=StateFormat.PARQUET, files=()),
        desired=RowFiles(files=()),
        nonce=nonce,
    )


def written(plan: Plan, out: Path, of: Unit | None = None) -> UnitSummary:
    """The plan as rows below ``out``."""
    return write_plan(
        plan, of or unit(), out, captured_at=CAPTURED_AT, created=CREATED, objects={"Topic": 3}
    )


def run(*units: UnitSummary, created: str = "2026-11-21T09:12:07Z") -> RunSummary:
    return RunSummary(created=created, version="0", units=units)


def committed(directory: Path, *plans: tuple[Unit, Plan]) -> RunSummary:
    """A result of these plans in ``directory``."""
    with run_folder(directory) as private:
        found = run(*(written(plan, private, of) for of, plan in plans))
        commit(private, directory, found)
    return found


def renamed(plan: Plan, cluster: str) -> Plan:
    """The same plan for another cluster."""
    return replace(plan, target=replace(plan.target, name=cluster))
