"""Approve and apply: a saved plan, a fresh one, or what an earlier run left unfinished."""

import os
import secrets
import socket
from dataclasses import replace
from datetime import UTC, datetime

from kgitops.apply.applier import apply_plan
from kgitops.apply.checks import Recheck
from kgitops.apply.result import ApplyResult
from kgitops.apply.resume import resume
from kgitops.apply.surroundings import Surroundings
from kgitops.approval.approve import approve
from kgitops.model.cluster_state import ClusterState
from kgitops.model.verdict import Reason
from kgitops.plan.plan import Plan
from kgitops.plan.plan_file import SealedPlan
from kgitops.plan.safety import deletion_limits, managed_counts
from kgitops.workflow.selection import Workspace


def execute_plan(sealed: SealedPlan, workspace: Workspace, around: Surroundings) -> ApplyResult:
    """Execute exactly this plan, or nothing.

    Raises:
        KgitopsError: the plan is refused, and no change request was sent.
    """
    return apply_plan(
        approve(sealed),
        around,
        holder=_holder(),
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        recheck=limits(workspace, resumed=False),
    )


def execute_resume(workspace: Workspace, around: Surroundings) -> ApplyResult | None:
    """Go on with this project's unfinished run; None when there is none.

    Raises:
        KgitopsError: it can't be gone on with, and no change request was sent.
    """
    return resume(
        around,
        project_identity=workspace.project.identity,
        holder=_holder(),
        recheck=limits(workspace, resumed=True),
    )


def limits(workspace: Workspace, *, resumed: bool) -> Recheck:
    """The deletion limits once more, on the cluster and the project file as they are now.

    What a resumed run deleted already is no longer managed; the share is of what was before it.
    """

    def recheck(plan: Plan, current: ClusterState) -> tuple[Reason, ...]:
        managed = managed_counts(current.registry, plan.desired.identity)
        if resumed:
            before = plan.managed_counts
            managed = {kind: max(count, before.get(kind, 0)) for kind, count in managed.items()}
        safety = replace(workspace.safety, allow_deletes=plan.allow_deletes)
        return deletion_limits(plan.changes, managed, safety)

    return recheck


def _holder() -> str:
    """Who holds the lock, as someone who is locked out would want to be told."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "someone"
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
