"""Approves and applies a plan, resumes an unfinished run, and repairs a registry."""

import secrets
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from kgitops.apply.applier import apply_plan
from kgitops.apply.checks import Recheck, check_cluster
from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.events import Event
from kgitops.apply.journal.damage import Damage, repair_registry
from kgitops.apply.lock import write_release
from kgitops.apply.result import ApplyResult
from kgitops.apply.run.resume import resume
from kgitops.approval import approve, judge_again, missing_policies, refusal
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, OtherClusterError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.requests import AlterUserScramCredentialsRequest
from kgitops.model.resources.kinds import Kind
from kgitops.model.verdict import Reason, Verdict, decide
from kgitops.plan.document.file import SealedPlan, check_usable
from kgitops.plan.document.plan import Plan
from kgitops.plan.ownership import build_ownership
from kgitops.plan.safety import deletion_limits, managed_counts, throttle_reasons
from kgitops.workflow.policies import OpenPolicies, utc_day
from kgitops.workflow.project.locking import lock_holder
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
        now = context.clock.now()
        reasons += plan_file_problems(sealed, context.cluster, workspace.target_name, now)
        raise refusal(decide(reasons, changes=True))
    return apply_plan(
        approved,
        context,
        holder=lock_holder(),
        run_id=new_id(),
        project=workspace.project,
        recheck=build_recheck(workspace, policies, context, resumed=False),
    )


def verdict_of_stopped_plan(sealed: SealedPlan, file: Path, selection: Selection) -> Verdict:
    """The verdict of a saved plan that stops, with all other reasons against applying it."""
    reasons = list(sealed.plan.verdict.reasons)
    try:
        workspace = open_workspace_of(sealed.plan, file, selection)
        with workspace.connected() as cluster:
            name = workspace.target_name
            reasons += plan_file_problems(sealed, cluster, name, SystemClock().now())
    except OtherClusterError as error:
        reasons += [*_expired(sealed, SystemClock().now()), *reasons_of_cluster(sealed.plan, error)]
    except KgitopsError as error:
        reasons += [*_expired(sealed, SystemClock().now()), *error.reasons]
    return decide(reasons, changes=True)


def reasons_of_cluster(plan: Plan, error: OtherClusterError) -> tuple[Reason, ...]:
    """The reasons not to apply a plan to a cluster that the project does not pin."""
    try:
        check_cluster(plan, error.cluster_id)
    except KgitopsError as other:
        return (*other.reasons, *error.reasons)
    return error.reasons


def plan_file_problems(
    sealed: SealedPlan, cluster: Cluster, name: str, now: datetime
) -> list[Reason]:
    """The reasons not to trust the plan's file here and now, regardless of its content."""
    reasons = _expired(sealed, now)
    try:
        check_cluster(sealed.plan, cluster.read_state(frozenset()).cluster_id, name)
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
    """Resume this project's unfinished run; None if there is none.

    Raises:
        KgitopsError: it can't be resumed, and no change request was sent.
    """
    return resume(
        context,
        project=workspace.project,
        holder=lock_holder(),
        recheck=build_recheck(workspace, policies, context, resumed=True),
    )


def build_recheck(
    workspace: Workspace, policies: OpenPolicies, context: ApplyContext, *, resumed: bool
) -> Recheck:
    """Build the check that repeats the objections to a plan when it is applied.

    It applies the deletion limits, and the rate at which replicas move, to the cluster and the
    project file of today; objects that a resumed run deleted still count as managed. And it asks
    the policies of today, on the whole cluster of today.
    """

    def recheck(plan: Plan, pending: Collection[str], current: ClusterState) -> tuple[Reason, ...]:
        managed = managed_counts(build_ownership(workspace.project, current.registry))
        if resumed:
            before = plan.managed_counts
            managed = {kind: max(count, before.get(kind, 0)) for kind, count in managed.items()}
        safety = replace(workspace.safety, allow_deletes=plan.allow_deletes)
        # A command names every object that goes.
        command = workspace.project.identity == COMMAND_PROJECT
        reasons = () if command else deletion_limits(plan.changes, managed, safety)
        if not resumed:  # a run ends with the throttles that it began with
            reasons += throttle_reasons(plan.changes, current, workspace.safety)
        if not pending:
            return reasons
        missing = tuple(missing_policies(plan, policies.bundle))
        if missing or policies.evaluator is None:
            return (*missing, *reasons)
        denied = judge_again(
            plan,
            pending,
            policies.evaluator,
            _state_to_judge(context.cluster, plan),
            policies.bundle,
            today=utc_day(context.clock.now()),
        )
        return (*denied, *reasons)

    return recheck


def _state_to_judge(cluster: Cluster, plan: Plan) -> ClusterState:
    """The whole cluster as policies see it, with the users that the plan changes."""
    state = cluster.read_state()
    users = frozenset(
        planned.request.user
        for planned in plan.requests
        if isinstance(planned.request, AlterUserScramCredentialsRequest)
    )
    return state.with_objects(cluster.read(Kind.USER, users), Kind.USER) if users else state


def repair_damaged_registry(
    cluster: Cluster,
    damages: Sequence[Damage],
    interrupted: Callable[[], int | None],
    on_event: Callable[[Event], None],
    lock_timeout_ms: int = 0,
) -> bool:
    """Repair just these damages, under the lock; False if it was interrupted before.

    Raises:
        KgitopsError: nothing was repaired.
    """
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(lock_timeout_ms=lock_timeout_ms),
        on_event=on_event,
        interrupted=interrupted,
    )
    return repair_registry(context, damages, holder=lock_holder(), name=new_id())


def release_project(
    cluster: Cluster,
    project: Project,
    to: str | None,
    interrupted: Callable[[], int | None],
    on_event: Callable[[Event], None],
    lock_timeout_ms: int = 0,
) -> bool:
    """Release the project's objects to ``to``, or withdraw the release; False if interrupted.

    Raises:
        KgitopsError: nothing was written.
    """
    context = ApplyContext(
        cluster=cluster,
        settings=ApplySettings(lock_timeout_ms=lock_timeout_ms),
        on_event=on_event,
        interrupted=interrupted,
    )
    return write_release(context, project, to, holder=lock_holder())


def new_id() -> str:
    """The name of a run: when it began, and a part that no other has."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
