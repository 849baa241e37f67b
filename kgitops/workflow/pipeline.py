"""The whole pipeline on one page: load, read, plan, let the brokers judge, seal.

What is declared (``load_desired``) and what is there (``read_state``) meet in ``make_plan``; a
sealed plan is what ``workflow.execution`` approves and applies, exactly it or nothing.
"""

import secrets
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches

from kgitops.cluster.port import Cluster
from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState
from kgitops.manifests.load import load_manifests
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UsageError
from kgitops.plan.plan import Plan
from kgitops.plan.plan_file import SealedPlan, seal
from kgitops.plan.planner import make_plan
from kgitops.workflow.broker_checks import validate_on_brokers
from kgitops.workflow.git import read_git
from kgitops.workflow.homes import PROJECT_FILE
from kgitops.workflow.leftovers import find_undoing
from kgitops.workflow.selection import Workspace
from kgitops.workflow.stages import OnStage, in_silence
from kgitops.workflow.usage import with_impact, with_offsets

PLAN_HOLDS = timedelta(days=1)


def load_desired(workspace: Workspace, on_stage: OnStage = in_silence) -> DesiredState:
    """What the selected documents ask for.

    Raises:
        FindingsError: with every finding of every document.
        UsageError: there is nothing to load.
    """
    if not workspace.manifests:
        raise UsageError(
            f"there is no {PROJECT_FILE} here and no PATH was given; run kgitops init, or name "
            "the files or folders to load"
        )
    selection = workspace.selection
    on_stage("loading the manifests")
    manifests = load_manifests(
        workspace.manifests,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=selection.environ,
        known_clusters=workspace.known_clusters,
        env_values=workspace.cluster.env_values,
    )
    on_stage("checking the manifests")
    return build_desired(
        manifests,
        project=workspace.project,
        whole=workspace.whole,
        targets=selection.targets,
        excludes=selection.excludes,
        safety=workspace.safety,
        principal=workspace.principal,
        allow_configs=workspace.allow_configs,
    )


def plan_against(
    cluster: Cluster, desired: DesiredState, workspace: Workspace, on_stage: OnStage = in_silence
) -> SealedPlan:
    """The plan that makes ``cluster`` what is desired, checked by its brokers, sealed.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    on_stage("reading the cluster")
    current = cluster.read_state()
    _check_addresses(desired, current)
    current = with_offsets(cluster, desired, current)
    on_stage("comparing")
    sha, dirty = read_git(workspace.base, workspace.sources)
    plan = make_plan(
        desired,
        current,
        target_name=workspace.target_name,
        capabilities=cluster.capabilities,
        git_sha=sha,
        dirty=dirty,
        undoing=find_undoing(cluster, current, desired.project.identity),
    )
    plan = with_impact(cluster, current, plan)
    return seal_now(validate_on_brokers(plan, cluster, on_stage), current)


def _check_addresses(desired: DesiredState, current: ClusterState) -> None:
    """An address that names nothing is a typing error, not an empty plan."""
    named = desired.scope.targets | desired.scope.excludes
    if not named:
        return
    known = {topic.address for topic in desired.topics}
    known |= {acl.address for acl in desired.acls} | {quota.address for quota in desired.quotas}
    known |= {tombstone.address for tombstone in desired.tombstones}
    if current.registry:
        known |= set(current.registry.owners)
    for address in sorted(named - known):
        near = get_close_matches(address, sorted(known), n=1)
        hint = f"did you mean {near[0]}?" if near else "kgitops plan --full shows the addresses"
        raise UsageError(f"no declared or managed object has the address {address!r}; {hint}")


def seal_now(plan: Plan, current: ClusterState) -> SealedPlan:
    """Seal a plan with this moment, a day to live and a nonce of its own."""
    created = datetime.now(UTC)
    return seal(
        plan,
        captured_at=current.captured_at,
        created=created,
        expires=created + PLAN_HOLDS,
        nonce=secrets.token_hex(16),
    )
