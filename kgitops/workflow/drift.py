"""Drift: a plan back to what was last applied, never meant to be executed."""

from kgitops.cluster.port import Cluster
from kgitops.desired.last_applied import desired_from_registry
from kgitops.plan.plan_file import SealedPlan
from kgitops.plan.planner import make_plan
from kgitops.workflow.pipeline import seal_now
from kgitops.workflow.selection import Workspace
from kgitops.workflow.stages import OnStage, in_silence


def plan_drift(
    cluster: Cluster, workspace: Workspace, on_stage: OnStage = in_silence
) -> SealedPlan:
    """What it would take to undo what others did, with their changes as drift rows.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    on_stage("reading the cluster")
    current = cluster.read_state()
    on_stage("comparing")
    desired = desired_from_registry(
        workspace.project,
        current.registry,
        safety=workspace.safety,
        principal=workspace.principal,
    )
    plan = make_plan(
        desired,
        current,
        target_name=workspace.target_name,
        capabilities=cluster.capabilities,
    )
    return seal_now(plan, current)
