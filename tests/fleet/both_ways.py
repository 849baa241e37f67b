"""One project on one state, planned by a fleet in each of its ways and by ``kgitops plan``."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec import Struct
from msgspec.structs import replace
from used import used

from kgitops.cluster.port import Cluster
from kgitops.cluster.snapshot import SnapshotCluster, read_snapshot, write_snapshot
from kgitops.fleet.diff import narrow
from kgitops.fleet.planning import UnitPlan, plan_of_unit
from kgitops.fleet.tables.desired_header import Git
from kgitops.fleet.tables.desired_rows import write_desired
from kgitops.fleet.tables.state_rows import write_state
from kgitops.fleet.units.unit import ManifestFiles, RowFiles, StateFiles, StateFormat, Unit
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.registry import Json
from kgitops.model.source import Finding
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Bundle, PythonPolicy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.loading import load_rules
from kgitops.workflow.loading import Loaded, loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.policies import OpenPolicies, open_policies
from kgitops.workflow.project.project_root import read_git
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

COUNTED = ("foreign", "unmanaged")
"""What a fleet may leave uncounted by name: it says only how many there are."""


class Given(Struct, frozen=True, kw_only=True):
    """A project, one of its clusters, that cluster's state, and the policies beside the project's.

    ``rows``: all policies are among those, so that what is compiled is judged alike.
    ``allow_empty_folders`` are those of ``--allow-empty-folder``.
    """

    project: Path
    cluster: str
    state: ClusterState
    policies: tuple[Path, ...] = ()
    rows: bool = True
    allow_empty_folders: tuple[str, ...] = ()


def snapshot_of(cluster: Cluster) -> ClusterState:
    """What ``kgitops snapshot --users`` saves of it."""
    return read_snapshot(write_snapshot(used(cluster)), "it")


def check_a_fleet_agrees(
    given: Given, folder: Path, rows_at_once: Sequence[int] = (narrow.ROWS_AT_ONCE,)
) -> Plan | None:
    """Each way to give a fleet this unit has the plan that the planner makes; it is returned.

    None: the documents contradict each other, and every way says the same of them. Rows are
    compared in ranges of each of these sizes.
    """
    manifests = _manifests(given)
    by_json, by_rows = (_unit(given, manifests, state) for state in _saved(given, folder))
    desired = folder / "desired.parquet"
    plan = _planned(given, desired)
    if not isinstance(plan, Plan):
        assert _findings(by_json) == plan
        assert _findings(by_rows) == plan
        return None
    _check(plan_of_unit(by_json, {}), plan, exact=True)
    units = [by_rows]
    if given.rows:
        units.append(_unit(given, RowFiles(files=(desired,)), by_rows.state))
    for size, unit in product(rows_at_once, units):
        with patch.object(narrow, "ROWS_AT_ONCE", size):
            _check(plan_of_unit(unit, {}), plan, exact=False)
    return plan


def _planned(given: Given, rows: Path) -> Plan | tuple[Finding, ...]:
    """The plan of ``kgitops plan --snapshot``, or its findings; ``rows`` is what is declared."""
    try:
        with _declared(given) as (workspace, declared):
            write_desired(declared.desired, rows, Git(*git(workspace)))
            return plan_against(SnapshotCluster(given.state), declared, workspace).plan
    except FindingsError as error:
        return tuple(error.findings)


@contextmanager
def _declared(given: Given) -> Iterator[tuple[Workspace, Loaded]]:
    selection = Selection(
        paths=(given.project,),
        cluster=given.cluster,
        offline=True,
        policies=given.policies,
        allow_empty_folders=given.allow_empty_folders,
    )
    workspace = open_workspace(selection)
    with loaded(workspace, opening=_judging) as declared:
        yield workspace, declared


@contextmanager
def _judging(bundle: Bundle) -> Iterator[OpenPolicies]:
    """CEL judges in this process, as another one for each plan would take most of the time."""
    if any(isinstance(policy, PythonPolicy) for policy in bundle.policies):
        with open_policies(bundle) as policies:
            yield policies
    else:
        yield OpenPolicies(bundle, InProcessEvaluator(load_rules(bundle.policies), bundle.waivers))


def git(workspace: Workspace) -> tuple[str | None, bool]:
    return read_git(workspace.base, workspace.sources)


def _manifests(given: Given) -> ManifestFiles:
    selection = Selection(paths=(given.project,), cluster=given.cluster, offline=True)
    sha, dirty = git(open_workspace(selection))
    return ManifestFiles(paths=(given.project,), here=Path.cwd(), git_sha=sha, dirty=dirty)


def _saved(given: Given, folder: Path) -> Iterator[StateFiles]:
    """The state as JSON, and as rows."""
    text, rows = folder / "state.json", folder / "state.parquet"
    text.write_text(write_snapshot(given.state))
    yield StateFiles(form=StateFormat.JSON, files=(text,))
    write_state(given.state, rows)
    yield StateFiles(form=StateFormat.PARQUET, files=(rows,))


def _unit(given: Given, desired: ManifestFiles | RowFiles, state: StateFiles) -> Unit:
    return Unit(
        cluster=given.cluster,
        project=given.project.name,
        state=state,
        desired=desired,
        policies=given.policies,
        allow_empty_folders=given.allow_empty_folders,
    )


def _findings(unit: Unit) -> tuple[Finding, ...]:
    with pytest.raises(FindingsError) as raised:
        plan_of_unit(unit, {})
    return tuple(raised.value.findings)


def _check(found: UnitPlan, plan: Plan, *, exact: bool) -> None:
    if exact:
        assert plan_to_json(found.plan) == plan_to_json(plan)
        assert found.kept == {}
        return
    assert as_told(found.plan) == as_told(plan)
    assert found.captured_at
    for rule in COUNTED:
        assert _kept(found.plan, rule) + found.kept.get(rule, 0) == _kept(plan, rule)
    others = [kept for kept in plan.kept if kept.rule not in COUNTED]
    assert [kept for kept in found.plan.kept if kept.rule not in COUNTED] == others


def _kept(plan: Plan, rule: str) -> int:
    return sum(kept.rule == rule for kept in plan.kept)


def as_told(plan: Plan) -> object:
    """Everything of it but what is left alone, and the places that findings have in a document.

    Rows know where an object is declared, and not where each of its fields is. Findings are told
    in the order of their places.
    """
    told = plan_to_json(replace(plan, kept=()))
    told = json.loads(re.sub(r"\.yaml:\d+:\d+", ".yaml", json.dumps(told)))
    for key in ("warnings", "findings"):
        for finding in told[key]:
            finding["source"] = finding["source"] and finding["source"]["file"]
        told[key].sort(key=json.dumps)
    told["verdict"]["reasons"].sort(key=json.dumps)
    del told["summary"]
    return told


def told_by_rows(plan: Plan) -> dict[str, Json]:
    """All of it but what is left alone, and which field is meant: a table knows an object's line.

    The builders write the field into the file's name (``orders.yaml#spec.partitions``).
    """
    told = plan_to_json(plan)
    rest = {key: value for key, value in told.items() if key not in ("kept", "summary")}
    return dict(json.loads(re.sub(r"(\.yaml)#[^:\"]*", r"\1", json.dumps(rest))))
