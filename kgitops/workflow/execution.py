"""Approve and apply: a saved plan, a fresh one, or what an earlier run left unfinished."""

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kgitops.apply.applier import apply_plan
from kgitops.apply.checks import Recheck
from kgitops.apply.events import Event
from kgitops.apply.result import ApplyResult
from kgitops.apply.resume import resume
from kgitops.apply.settings import ApplySettings, SystemClock
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.verdict import Reason
from kgitops.plan.plan import Plan
from kgitops.plan.plan_file import SealedPlan
from kgitops.plan.safety import deletion_limits, managed_counts
from kgitops.policy.approval import approve
from kgitops.workflow.selection import Workspace

OnEvent = Callable[[Event], None]
Interrupted = Callable[[], int | None]
Cancels = Callable[[Sequence[str]], bool]


def execute_plan(
    sealed: SealedPlan,
    cluster: Cluster,
    workspace: Workspace,
    *,
    parallelism: int,
    on_event: OnEvent,
    interrupted: Interrupted,
    cancels: Cancels,
) -> ApplyResult:
    """Execute exactly this plan, or nothing.

    Raises:
        KgitopsError: the plan is refused, and no change request was sent.
    """
    return apply_plan(
        approve(sealed),
        cluster,
        settings=ApplySettings(parallelism=parallelism),
        clock=SystemClock(),
        holder=_holder(),
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        on_event=on_event,
        interrupted=interrupted,
        recheck=limits(workspace, resumed=False),
        cancels=cancels,
    )


def execute_resume(
    cluster: Cluster,
    workspace: Workspace,
    *,
    parallelism: int,
    on_event: OnEvent,
    interrupted: Interrupted,
    cancels: Cancels,
) -> ApplyResult | None:
    """Go on with this project's unfinished run; None when there is none.

    Raises:
        KgitopsError: it can't be gone on with, and no change request was sent.
    """
    return resume(
        cluster,
        project_identity=workspace.project.identity,
        settings=ApplySettings(parallelism=parallelism),
        clock=SystemClock(),
        holder=_holder(),
        on_event=on_event,
        interrupted=interrupted,
        recheck=limits(workspace, resumed=True),
        cancels=cancels,
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
