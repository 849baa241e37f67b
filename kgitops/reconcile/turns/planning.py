"""The plans of a turn: of all that is declared, and of the part that may be applied by itself."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.plan.safety import empty_folder_refusals
from kgitops.reconcile.turns.permission import Permission, forbidden, permitted_part
from kgitops.workflow.loading import Loaded, OnStage, ignore_stage
from kgitops.workflow.pipeline import plan_current, seal_now
from kgitops.workflow.project.selection import Workspace

_NAMED = 5
DISABLED_LABEL = ("reconcile", "disabled")
"""The label of a document whose object a loop leaves alone."""


def disabled_addresses(desired: DesiredState) -> frozenset[str]:
    """Return the addresses of objects, and of Tombstones' objects, that are to be left alone."""
    label, value = DISABLED_LABEL
    return frozenset(
        item.address
        for item in (*desired.objects, *desired.tombstones)
        if item.labels.get(label) == value
    )


def only_targets(desired: DesiredState, addresses: frozenset[str]) -> DesiredState:
    """Return the desired state for a plan of just these addresses; no absence means anything."""
    scope = replace(desired.scope, whole=False, targets=addresses)
    return replace(desired, scope=scope)


def require_all_files(desired: DesiredState) -> None:
    """Require that a copied revision has all files of its manifests.

    Raises:
        SafetyError: a folder of it is empty, which git never keeps: a submodule belongs there.
    """
    if desired.empty_folders:
        problems = "; ".join(empty.problem for empty in desired.empty_folders[:_NAMED])
        raise SafetyError(
            f"nothing of this revision is planned: {problems}; kgitops fetches no submodules, so "
            "put their files into the repository, move them out of the manifests, or reconcile a "
            "folder that they are checked out in"
        )


class Planner(Struct, frozen=True, kw_only=True):
    """Makes the plans of one turn, on a connected cluster."""

    cluster: Cluster
    declared: Loaded
    workspace: Workspace
    on_stage: OnStage = ignore_stage

    def read(self) -> ClusterState:
        """Read the cluster.

        Raises:
            UnreachableError: it can't be read.
            SafetyError: its registry can't be trusted.
        """
        self.on_stage("reading the cluster")
        return self.cluster.read_state()

    def whole(self, current: ClusterState) -> Plan:
        """Plan all that is declared, but for what is to be left alone."""
        return self._plan(current, self._desired())

    def part(self, current: ClusterState, plan: Plan, permission: Permission) -> Plan | None:
        """Plan what may be applied of ``plan``: all of it, a part, or None for nothing.

        The part is planned, judged and limited like any plan with targets.
        """
        desired = self._desired()

        def plan_part(addresses: frozenset[str]) -> Plan:
            return self._plan(current, only_targets(desired, addresses))

        return permitted_part(plan, permission, plan_part)

    def sealed(
        self, plan: Plan, current: ClusterState, permission: Permission, now: datetime
    ) -> SealedPlan:
        """Seal a plan that is to be applied by itself.

        Raises:
            SafetyError: it has a change that may not be.
        """
        if not permission.applies or forbidden(plan, permission):
            raise SafetyError(
                "the plan has changes that may not be applied by themselves, so nothing is "
                "applied; review it, and apply it with kgitops apply"
            )
        return seal_now(plan, current, now)

    def misses_files(self, plan: Plan) -> bool:
        """Return True if ``plan`` would remove objects while files of the manifests may be missing.

        Then a part of it is no better: it is made of the same files.
        """
        return bool(empty_folder_refusals(plan.changes, plan.kept, self.declared.desired))

    def _desired(self) -> DesiredState:
        desired = self.declared.desired
        disabled = disabled_addresses(desired)
        if not disabled:
            return desired
        return replace(desired, scope=replace(desired.scope, excludes=disabled))

    def _plan(self, current: ClusterState, desired: DesiredState) -> Plan:
        declared = replace(self.declared, desired=desired)
        return plan_current(self.cluster, current, declared, self.workspace, self.on_stage)
