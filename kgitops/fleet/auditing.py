"""Audits a fleet: each project's policies judge what the clusters that it is for hold today."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.fleet.diff.inputs import side_from_rows
from kgitops.fleet.output.rows import encodable
from kgitops.fleet.policies.evaluator_pool import open_policies
from kgitops.fleet.spark.engine import OnProgress, ignore_progress
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.tables.desired_rows import open_desired
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.units.discovery import find_units
from kgitops.fleet.units.loading import enter_folder, loaded_unit, unit_error
from kgitops.fleet.units.paths import check_paths_exist, task_path
from kgitops.fleet.units.unit import RowFiles, StateFormat, Unit
from kgitops.model.errors import FindingsError
from kgitops.model.json.codec import decode, encode
from kgitops.model.source import Finding
from kgitops.workflow.loading import Loaded
from kgitops.workflow.policy_audit import PolicyAudit, audit_state
from kgitops.workflow.project.selection import read_cluster


class AuditTask(Struct, frozen=True, kw_only=True):
    """A unit to audit; ``here`` is the command's folder."""

    unit: Unit
    here: str


class UnitAudit(Struct, frozen=True, kw_only=True):
    """One project's audit of one cluster; without one, ``reason`` says why."""

    cluster: str
    project: str
    audit: PolicyAudit | None = None
    reason: str | None = None


class FleetAudit(Struct, frozen=True, kw_only=True):
    """The audits by cluster and project; ``findings`` are about units that could not be found."""

    units: tuple[UnitAudit, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def complete(self) -> bool:
        """True if every unit was audited."""
        return not self.findings and all(unit.audit is not None for unit in self.units)

    @property
    def denied(self) -> bool:
        """True if a policy would deny an object of any cluster."""
        return any(unit.audit is not None and unit.audit.denied for unit in self.units)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAuditOptions:
    """The options of ``fleet audit``: projects, states, further policies, the Spark to use."""

    desired: tuple[Path, ...]
    state: tuple[Path, ...]
    policies: tuple[Path, ...] = ()
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def audit_fleet(
    options: FleetAuditOptions, on_progress: OnProgress = ignore_progress
) -> FleetAudit:
    """Audit every project for each of its clusters; mistakes in one unit are part of the result.

    Raises:
        FindingsError: no unit could be found, for these reasons.
        UsageError: a PATH does not exist, or that is not a URL of Spark.
        UnreachableError: Spark can't be reached.
        KgitopsError: a task failed as often as it may.
    """
    check_paths_exist((*options.desired, *options.state, *options.policies))
    fleet = find_units(options.desired, options.state, options.policies, options.environ)
    if not fleet.units:
        nothing = Finding(
            source=None,
            problem="no project of --desired is for a cluster of --state",
            advice="give the projects, and the states that fleet snapshot made of their clusters",
        )
        raise FindingsError(fleet.findings or (nothing,))
    here = task_path(Path.cwd())
    specs = [encode(AuditTask(unit=unit, here=here)).decode() for unit in fleet.units]
    with session(options.master, options.remote, options.conf, work=audit_task) as spark:
        answers = list(run_tasks(spark, specs, audit_task, on_progress))
    units = [decode(UnitAudit, answer, "the answer") for answer in answers]
    return FleetAudit(
        units=tuple(sorted(units, key=lambda unit: (unit.cluster, unit.project))),
        findings=fleet.findings,
    )


def audit_task(spec: str) -> str:
    """Audit the unit, and answer with what was found.

    Raises:
        KgitopsError: the command's folder does not exist here.
    """
    task = decode(AuditTask, spec, "the task")
    enter_folder(task.here)
    unit = task.unit
    unread = UnitAudit(cluster=unit.cluster, project=unit.project)
    try:
        audit = _audit(unit, os.environ)
        return encode(replace(unread, audit=audit)).decode()
    except Exception as error:  # noqa: BLE001 (one unit's fault is not the others')
        failed = unit_error(error, f"policy audit -c {unit.cluster}")
        return encode(replace(unread, reason=encodable(str(failed)))).decode()


def _audit(unit: Unit, environ: Mapping[str, str]) -> PolicyAudit:
    current = _state(unit).read_state()
    if isinstance(unit.desired, RowFiles):
        files, named = unit.desired.files, unit.desired.project
        rows = open_desired(files, unit.project, unit.cluster, named=named)
        desired = side_from_rows(rows).whole()
        with open_policies(unit.policies, unit.cluster, environ) as policies:
            declared = Loaded(desired, policies)
            return audit_state(current, declared, unit.cluster, desired.principal)
    with loaded_unit(unit, unit.desired, environ) as declared:
        return audit_state(current, declared, unit.cluster, declared.desired.principal)


def _state(unit: Unit) -> Cluster:
    if unit.state.form is StateFormat.JSON:
        (file,) = unit.state.files
        return read_cluster(file)
    return SnapshotCluster(read_state(unit.state.files, unit.cluster))
