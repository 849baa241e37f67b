"""The whole pipeline on one page: load, read, plan, validate, seal; approve, apply.

YAML -> manifests -> desired -+
+-> plan -> policy -> apply -> cluster.execute
cluster.read_state -> current-+
"""

import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import groupby

from kgitops.cluster.port import Cluster
from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState
from kgitops.manifests.load import load_manifests
from kgitops.model.capabilities import Validation
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UntrustedPlanError, UsageError
from kgitops.model.requests import api_name
from kgitops.model.results import RequestResult
from kgitops.model.verdict import Reason
from kgitops.plan.broker_validation import checkable, record_validation
from kgitops.plan.plan import Plan
from kgitops.plan.plan_file import SealedPlan, seal
from kgitops.plan.planner import make_plan
from kgitops.plan.safety import deletion_limits, managed_counts
from kgitops.workflow.git import read_git
from kgitops.workflow.selection import PROJECT_FILE, Selection, Workspace

PLAN_HOLDS = timedelta(days=1)
_BATCH = 500


def load_desired(workspace: Workspace, selection: Selection) -> DesiredState:
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
    manifests = load_manifests(
        workspace.manifests,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=selection.environ,
    )
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


def plan_against(cluster: Cluster, desired: DesiredState, workspace: Workspace) -> SealedPlan:
    """The plan that makes ``cluster`` what is desired, checked by its brokers, sealed.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    current = cluster.read_state()
    _check_addresses(desired, current)
    sha, dirty = read_git(workspace.base)
    plan = make_plan(
        desired,
        current,
        target_name=workspace.target_name,
        capabilities=cluster.capabilities,
        git_sha=sha,
        dirty=dirty,
    )
    return seal_now(validate_on_brokers(plan, cluster), current)


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


def validate_on_brokers(plan: Plan, cluster: Cluster) -> Plan:
    """Let the brokers judge what they can (``validate_only``); nothing is changed."""
    asked = [
        planned
        for planned in checkable(plan)
        if cluster.capabilities.validation.get(api_name(planned.request)) is Validation.BROKER
    ]
    results: dict[str, RequestResult] = {}
    for _, group in groupby(asked, key=lambda planned: api_name(planned.request)):
        requests = list(group)
        for start in range(0, len(requests), _BATCH):
            batch = requests[start : start + _BATCH]
            answers = cluster.execute(
                [planned.request for planned in batch],
                validate_only=True,
                principal=plan.principal,
            )
            results |= {planned.id: answer for planned, answer in zip(batch, answers, strict=True)}
    return record_validation(plan, results)


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


def check_project(sealed: SealedPlan, workspace: Workspace) -> None:
    """A saved plan belongs to the project that it was made for.

    Raises:
        UntrustedPlanError: it was made for another project.
    """
    made_for = sealed.plan.desired
    if made_for.identity != workspace.project.identity:
        raise UntrustedPlanError(
            f"the plan was made for the project {made_for.project!r} ({made_for.identity}), this "
            f"is {workspace.project.name!r} ({workspace.project.identity}); run apply where "
            "that project's file is"
        )


def recheck_limits(plan: Plan, workspace: Workspace, current: ClusterState) -> tuple[Reason, ...]:
    """The deletion limits once more, on the cluster and the project file as they are now."""
    return deletion_limits(
        plan.changes,
        managed_counts(current.registry, plan.desired.identity),
        replace(workspace.safety, allow_deletes=plan.allow_deletes),
    )
