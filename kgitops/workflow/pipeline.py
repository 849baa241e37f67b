"""The whole pipeline on one page: read, plan, pass the stages, seal.

What is declared (``workflow.loading``) and what is there (``read_state``, ``workflow.reading``)
meet in ``make_plan``; the stages are in ``workflow.stages``, in this order. A sealed plan is what
``workflow.execution`` approves and applies, exactly it or nothing.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.cluster.refusals import read_all
from kgitops.desired.state import DesiredState
from kgitops.model.clock import SystemClock
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UsageError
from kgitops.model.wording import nearest
from kgitops.plan.document.documents import RunToResume
from kgitops.plan.document.file import SealedPlan, seal
from kgitops.plan.document.plan import Plan
from kgitops.plan.planner import NOTHING_UNCHANGED, make_plan
from kgitops.workflow.loading import Loaded, OnStage, ignore_stage
from kgitops.workflow.project.project_root import read_git
from kgitops.workflow.project.selection import Workspace
from kgitops.workflow.reading import (
    find_pending_undo_requests,
    find_run_to_resume,
    with_brokers_configs,
    with_declared_objects,
    with_host_ranges,
    with_offsets,
)
from kgitops.workflow.stages import (
    Planning,
    Stage,
    with_doubtful_passwords,
    with_foreign_users,
    with_grades_refused,
    with_group_collisions,
    with_impact,
    with_missing_names,
    with_physical_requests,
    with_unfinished_drift,
    with_validation,
    with_verdicts,
)

STAGES: tuple[Stage, ...] = (
    with_missing_names,
    with_unfinished_drift,
    with_doubtful_passwords,
    with_physical_requests,
    with_foreign_users,
    with_group_collisions,
    with_grades_refused,
    with_verdicts,
    with_impact,
    with_validation,
)
"""The stages of a plan that was just made: whatever needs no policies comes before them."""
OF_COMMANDS: tuple[Stage, ...] = (with_physical_requests, with_verdicts, with_validation)
"""The stages of a plan that a command asks for: no document declares it."""
PLAN_HOLDS = timedelta(days=1)


def plan_against(
    cluster: Cluster, declared: Loaded, workspace: Workspace, on_stage: OnStage = ignore_stage
) -> SealedPlan:
    """The plan that makes ``cluster`` what is declared, judged by policies and brokers, sealed.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    on_stage("reading the cluster")
    unfinished_run, current = read_all(
        lambda: find_run_to_resume(cluster, workspace), cluster.read_state
    )
    _check_addresses(declared.desired, current)
    plan = plan_current(cluster, current, declared, workspace, on_stage)
    return seal_now(plan, current, unfinished_run=unfinished_run)


def plan_current(
    cluster: Cluster,
    current: ClusterState,
    declared: Loaded,
    workspace: Workspace,
    on_stage: OnStage = ignore_stage,
) -> Plan:
    """The plan that makes the cluster, read as ``current``, what is declared in the workspace.

    Raises:
        UnreachableError: the cluster can't be read.
    """
    plan = plan_state(
        Planning(
            cluster=cluster,
            desired=declared.desired,
            current=current,
            policies=declared.policies,
            fail_on=workspace.selection.fail_on,
            on_stage=on_stage,
        ),
        target_name=workspace.target_name,
        git=read_git(workspace.base, workspace.sources),
    )
    if workspace.selection.offline:
        return plan
    return replace(plan, target=replace(plan.target, unpinned=workspace.cluster.unpinned))


def plan_state(
    at: Planning,
    *,
    target_name: str,
    git: tuple[str | None, bool],
    unchanged_counts: Mapping[str, int] = NOTHING_UNCHANGED,
    base_digest: str | None = None,
) -> Plan:
    """The plan that makes ``at.current`` what is declared, judged by policies and brokers.

    The cluster is asked for what ``current`` does not hold. A fleet leaves unchanged objects out of
    both sides and gives ``unchanged_counts`` (see ``make_plan``); ``base_digest`` is then that of
    the whole cluster.

    Raises:
        UnreachableError: the cluster can't be read.
        FindingsError: neither kgitops nor the brokers know a declared config.
        OtherClusterError: ``current`` is not the state of the pinned cluster.
    """
    cluster, desired, current = at.cluster, at.desired, at.current
    if desired.pin is not None:
        desired.pin.check(current.cluster_id, snapshot=True)
    current = with_offsets(cluster, desired, current)
    current = with_declared_objects(cluster, desired, current)
    desired = with_brokers_configs(cluster, desired, current)
    at.on_stage("comparing")
    sha, dirty = git
    plan = make_plan(
        desired,
        current,
        target_name=target_name,
        capabilities=with_host_ranges(cluster, desired, current),
        git_sha=sha,
        dirty=dirty,
        pending_undo_requests=find_pending_undo_requests(cluster, current, desired.project),
        unchanged_counts=unchanged_counts,
        base_digest=base_digest,
    )
    at = replace(at, desired=desired, current=current)
    for stage in STAGES:
        plan = stage(plan, at)
    return plan


def _check_addresses(desired: DesiredState, current: ClusterState) -> None:
    """Refuse an address that names nothing: it is a typing error, not an empty plan."""
    named = desired.scope.targets | desired.scope.excludes
    if not named:
        return
    addresses = set(desired.addresses)
    if current.registry:
        addresses |= set(current.registry.owners)
    for address in sorted(named - addresses):
        near = nearest(address, sorted(addresses))
        hint = f"did you mean {near}?" if near else "kgitops plan --full shows the addresses"
        raise UsageError(f"no declared or managed object has the address {address!r}; {hint}")


def seal_now(
    plan: Plan,
    current: ClusterState,
    now: datetime | None = None,
    *,
    unfinished_run: RunToResume | None = None,
) -> SealedPlan:
    """Seal a plan with this moment, an expiry after a day and a nonce of its own."""
    created = now or SystemClock().now()
    return seal(
        plan,
        captured_at=current.captured_at,
        created=created,
        expires=created + PLAN_HOLDS,
        nonce=secrets.token_hex(16),
        unfinished_run=unfinished_run,
    )
