"""Approve and apply: a saved plan, a fresh one, or what an earlier run left unfinished."""

import os
import secrets
import socket
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kgitops.apply.applier import apply_plan
from kgitops.apply.checks import Recheck, check_cluster
from kgitops.apply.context import ApplyContext
from kgitops.apply.result import ApplyResult
from kgitops.apply.run.resume import resume
from kgitops.approval.approve import approve, refusal
from kgitops.approval.judging import judge_again, missing_policies
from kgitops.cluster.port import Cluster
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.verdict import Reason, Verdict, decide
from kgitops.plan.document.file import SealedPlan, check_usable
from kgitops.plan.document.plan import Plan
from kgitops.plan.ownership import build_ownership
from kgitops.plan.safety import deletion_limits, managed_counts
from kgitops.workflow.policies.policies import OpenPolicies, utc_day
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace_of


def execute_plan(
    sealed: SealedPlan, workspace: Workspace, policies: OpenPolicies, context: ApplyContext
) -> ApplyResult:
    """Execute exactly this plan, or nothing.

    Raises:
        KgitopsError: the plan is refused, and no change request was sent.
    """
    approved = approve(sealed)
    reasons = list(missing_policies(sealed.plan, policies.bundle))
    if reasons:
        reasons += distrust(sealed, context.cluster, context.clock.now())
        raise refusal(decide(reasons, changes=True))
    return apply_plan(
        approved,
        context,
        holder=lock_holder(),
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        project=workspace.project,
        recheck=objections(workspace, policies, context, resumed=False),
    )


def why_stopped(sealed: SealedPlan, file: Path, selection: Selection) -> Verdict:
    """The verdict of a saved plan that stops itself, and what else speaks against applying it."""
    reasons = list(sealed.plan.verdict.reasons)
    try:
        workspace = open_workspace_of(sealed.plan, file, selection)
        with workspace.connected() as cluster:
            reasons += distrust(sealed, cluster, SystemClock().now())
    except KgitopsError as error:
        reasons += [*_expired(sealed, SystemClock().now()), *error.reasons]
    return decide(reasons, changes=True)


def distrust(sealed: SealedPlan, cluster: Cluster, now: datetime) -> list[Reason]:
    """Why the plan's file can't be trusted here and now, whatever is in it."""
    reasons = _expired(sealed, now)
    try:
        check_cluster(sealed.plan, cluster.read_state(frozenset()))
    except KgitopsError as error:
        reasons += error.reasons
    return reasons


def _expired(sealed: SealedPlan, now: datetime) -> list[Reason]:
    try:
        check_usable(sealed, now=now)
    except KgitopsError as error:
        return list(error.reasons)
    return []


def execute_resume(
    workspace: Workspace, policies: OpenPolicies, context: ApplyContext
) -> ApplyResult | None:
    """Go on with this project's unfinished run; None when there is none.

    Raises:
        KgitopsError: it can't be gone on with, and no change request was sent.
    """
    return resume(
        context,
        project=workspace.project,
        holder=lock_holder(),
        recheck=objections(workspace, policies, context, resumed=True),
    )


def objections(
    workspace: Workspace, policies: OpenPolicies, context: ApplyContext, *, resumed: bool
) -> Recheck:
    """Whoever could object to a plan when it was made, asked once more.

    The deletion limits, on the cluster and the project file as they are now; what a resumed run
    deleted already is no longer managed, and the share is of what was before it. And the policies,
    as they are now, on the whole cluster as it is now.
    """

    def recheck(plan: Plan, pending: Collection[str], current: ClusterState) -> tuple[Reason, ...]:
        managed = managed_counts(build_ownership(workspace.project, current.registry))
        if resumed:
            before = plan.managed_counts
            managed = {kind: max(count, before.get(kind, 0)) for kind, count in managed.items()}
        safety = replace(workspace.safety, allow_deletes=plan.allow_deletes)
        # Who gives a command names every object that goes.
        command = workspace.project.identity == COMMAND_PROJECT
        reasons = () if command else deletion_limits(plan.changes, managed, safety)
        if not pending:
            return reasons
        missing = tuple(missing_policies(plan, policies.bundle))
        if missing or policies.evaluator is None:
            return (*missing, *reasons)
        denied = judge_again(
            plan,
            pending,
            policies.evaluator,
            context.cluster.read_state(),
            policies.bundle,
            today=utc_day(context.clock.now()),
        )
        return (*denied, *reasons)

    return recheck


def lock_holder() -> str:
    """Who holds the lock, as someone who is locked out would want to be told."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "someone"
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
