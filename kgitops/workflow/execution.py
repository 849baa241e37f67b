"""Approve and apply: a saved plan, a fresh one, or what an earlier run left unfinished."""

import os
import secrets
import socket
from collections.abc import Callable
from datetime import UTC, datetime

from kgitops.apply.applier import apply_plan
from kgitops.apply.events import Event
from kgitops.apply.result import ApplyResult
from kgitops.apply.resume import resume
from kgitops.apply.settings import ApplySettings, SystemClock
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.verdict import Reason
from kgitops.plan.plan import Plan
from kgitops.plan.plan_file import SealedPlan
from kgitops.policy.approval import approve
from kgitops.workflow.pipeline import recheck_limits
from kgitops.workflow.selection import Workspace

OnEvent = Callable[[Event], None]
Interrupted = Callable[[], int | None]


def execute_plan(
    sealed: SealedPlan,
    cluster: Cluster,
    workspace: Workspace,
    *,
    parallelism: int,
    on_event: OnEvent,
    interrupted: Interrupted,
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
        recheck=_limits(workspace),
    )


def execute_resume(
    cluster: Cluster,
    workspace: Workspace,
    *,
    parallelism: int,
    on_event: OnEvent,
    interrupted: Interrupted,
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
        recheck=_limits(workspace),
    )


def check_digest(sealed: SealedPlan, expected: str | None) -> None:
    """The plan is the one that was reviewed, where the caller says which that was.

    Raises:
        UntrustedPlanError: it is another one.
    """
    if expected is not None and expected != sealed.plan_digest:
        raise UntrustedPlanError(
            f"the plan's digest is {sealed.plan_digest}, expected was {expected}; review this "
            "plan, or apply the one that was reviewed"
        )


def _limits(workspace: Workspace) -> Callable[[Plan, ClusterState], tuple[Reason, ...]]:
    return lambda plan, current: recheck_limits(plan, workspace, current)


def _holder() -> str:
    """Who holds the lock, as someone who is locked out would want to be told."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "someone"
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
