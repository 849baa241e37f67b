"""The whole pipeline on one page: load, read, plan, let policies and brokers judge, seal.

What is declared (``loaded``) and what is there (``read_state``) meet in ``make_plan``; a sealed
plan is what ``workflow.execution`` approves and applies, exactly it or nothing.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import TypeVar

from kgitops.apply.settings import SystemClock
from kgitops.approval.judging import denying, judge_plan
from kgitops.cluster.port import Cluster
from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState
from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.source import Finding
from kgitops.plan.lowering import with_lowering
from kgitops.plan.plan import Plan
from kgitops.plan.plan_file import SealedPlan, seal
from kgitops.plan.planner import make_plan
from kgitops.policy.rules import Bundle
from kgitops.workflow.broker_checks import validate_on_brokers
from kgitops.workflow.fail_on import with_grades_refused
from kgitops.workflow.git import read_git
from kgitops.workflow.homes import PROJECT_FILE
from kgitops.workflow.leftovers import find_undoing
from kgitops.workflow.policies import Policies, load_policies, opened
from kgitops.workflow.selection import Workspace
from kgitops.workflow.stages import OnStage, in_silence
from kgitops.workflow.usage import with_impact, with_offsets

T = TypeVar("T")

PLAN_HOLDS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the selected documents ask for, and the policies that judge it."""

    desired: DesiredState
    policies: Policies


@contextmanager
def loaded(workspace: Workspace, on_stage: OnStage = in_silence) -> Iterator[Loaded]:
    """What is declared, within a ``with`` block: at its end the policies are closed.

    Raises:
        FindingsError: with every finding of every document; a policy can't be loaded.
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
    findings: list[Finding] = []
    bundle = _collecting(findings, lambda: load_policies(workspace, manifests))
    with opened(bundle or Bundle()) as policies:
        on_stage("checking the manifests")
        desired = _collecting(findings, lambda: _build(workspace, manifests))
        _collecting(findings, policies.wait)
        if desired is None or findings:
            raise FindingsError(findings)
        yield Loaded(desired, policies)


def _collecting(findings: list[Finding], load: Callable[[], T]) -> T | None:
    """What ``load`` gives; None, and the findings, where it can't."""
    try:
        return load()
    except FindingsError as error:
        findings += error.findings
        return None


def _build(workspace: Workspace, manifests: ManifestSet) -> DesiredState:
    return build_desired(
        manifests,
        project=workspace.project,
        whole=workspace.whole,
        targets=workspace.selection.targets,
        excludes=workspace.selection.excludes,
        safety=workspace.safety,
        principal=workspace.principal,
        allow_configs=workspace.allow_configs,
    )


def plan_against(
    cluster: Cluster, declared: Loaded, workspace: Workspace, on_stage: OnStage = in_silence
) -> SealedPlan:
    """The plan that makes ``cluster`` what is declared, judged by policies and brokers, sealed.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    desired = declared.desired
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
    plan = with_lowering(plan, current, cluster.capabilities.virtual_clusters)
    plan = with_grades_refused(plan, workspace.selection.fail_on)
    on_stage("asking the policies")
    plan = judge_plan(plan, declared.policies.judging, current, desired, declared.policies.bundle)
    plan = with_impact(cluster, current, plan)
    is_said = denying(declared.policies.judging, current, principal=plan.principal)
    return seal_now(validate_on_brokers(plan, cluster, on_stage, is_said=is_said), current)


def _check_addresses(desired: DesiredState, current: ClusterState) -> None:
    """An address that names nothing is a typing error, not an empty plan."""
    named = desired.scope.targets | desired.scope.excludes
    if not named:
        return
    known = set(desired.addresses)
    if current.registry:
        known |= set(current.registry.owners)
    for address in sorted(named - known):
        near = get_close_matches(address, sorted(known), n=1)
        hint = f"did you mean {near[0]}?" if near else "kgitops plan --full shows the addresses"
        raise UsageError(f"no declared or managed object has the address {address!r}; {hint}")


def seal_now(plan: Plan, current: ClusterState) -> SealedPlan:
    """Seal a plan with this moment, a day to live and a nonce of its own."""
    created = SystemClock().now()
    return seal(
        plan,
        captured_at=current.captured_at,
        created=created,
        expires=created + PLAN_HOLDS,
        nonce=secrets.token_hex(16),
    )
