"""The deletion limits are asked once more when a plan is applied."""

from pathlib import Path

import pytest
from apply.plans import Apply, open_cluster
from builders import (
    a_binding,
    a_desired,
    a_topic,
    a_topic_state,
    an_acl,
    applied,
    plan_of,
    with_changes,
)
from cli.projects import Project, topic
from msgspec.structs import replace

from kgitops.desired.state import Safety
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.topics import RATES
from kgitops.model.verdict import Reason
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Bundle
from kgitops.workflow.execution import build_recheck
from kgitops.workflow.policies import OpenPolicies
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace

READERS = [an_acl(a_binding(f"User:reader-{number}")) for number in range(25)]
FULL = applied(a_topic(), *READERS)
PLAN = plan_of(a_desired(a_topic(), *READERS[5:]), FULL)
"""Deletes 5 of 25: the 20 % that are allowed."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    project = Project(tmp_path).write(topic())
    found = open_workspace(Selection(paths=(project.folder,)))
    return replace(found, project=a_desired().project)


def objected(
    workspace: Workspace, plan: Plan, state: ClusterState, *, resumed: bool
) -> tuple[Reason, ...]:
    """Without policies the limits alone object."""
    context = Apply(cluster=open_cluster())._context
    recheck = build_recheck(workspace, OpenPolicies(Bundle()), context, resumed=resumed)
    return recheck(plan, [planned.id for planned in plan.requests], state)


def after_three(state: ClusterState) -> ClusterState:
    """What a run leaves that dies in the middle of the deletions."""
    done = READERS[:3]
    assert state.registry
    gone = {acl.address for acl in done}
    owners = {key: owner for key, owner in state.registry.owners.items() if key not in gone}
    left = with_changes(state, gone=[acl.binding for acl in done])
    return replace(left, registry=replace(state.registry, owners=owners))


def test_a_plan_within_the_limits_passes_them_again(workspace: Workspace) -> None:
    assert objected(workspace, PLAN, FULL, resumed=False) == ()


def test_a_cluster_that_shrank_since_makes_the_share_too_big(workspace: Workspace) -> None:
    (reason,) = objected(workspace, PLAN, after_three(FULL), resumed=False)
    assert "safety.maxDeletePercent is 20, of 22 managed" in reason.sentence


def test_what_the_run_itself_deleted_does_not_stop_its_resume(workspace: Workspace) -> None:
    assert objected(workspace, PLAN, after_three(FULL), resumed=True) == ()


@pytest.mark.parametrize("resumed", [True, False])
def test_limits_that_were_lowered_since_count(resumed: bool, workspace: Workspace) -> None:
    strict = replace(workspace, safety=replace(workspace.safety, max_deletes=4))
    (reason,) = objected(strict, PLAN, FULL, resumed=resumed)
    assert "safety.maxDeletes is 4" in reason.sentence


def test_what_the_plan_was_allowed_counts(workspace: Workspace) -> None:
    allowed: Plan = replace(PLAN, allow_deletes={"Acl": 5})
    strict = replace(workspace, safety=replace(workspace.safety, max_deletes=4))
    assert objected(strict, allowed, FULL, resumed=False) == ()


@pytest.mark.parametrize("rate", [1000, 2000])
def test_replicas_move_at_the_rate_of_the_project_file(workspace: Workspace, rate: int) -> None:
    """The plan's own word for it is a stale one, unless its run has begun."""
    moving = a_topic(assignment=((1, 2), (2, 3)))
    state = with_changes(
        applied(moving, brokers=[Broker(id=number) for number in (1, 2, 3)]),
        a_topic_state(assignment=moving.assignment),
    )
    moved = a_topic(assignment=((1, 3), (2, 3)))
    plan = plan_of(a_desired(moved, safety=Safety(replication_throttle=rate)), state)
    declared = replace(workspace, safety=replace(workspace.safety, replication_throttle=1000))
    reasons = objected(declared, plan, state, resumed=False)
    assert bool(reasons) is (rate != 1000)
    assert all("spec.safety.replicationThrottle is 1000 now" in it.sentence for it in reasons)
    assert objected(declared, plan, state, resumed=True) == ()


def test_a_throttle_that_is_there_keeps_its_rate(workspace: Workspace) -> None:
    """Contract §2: what an unfinished run left is only undone."""
    moving = a_topic(assignment=((1, 2), (2, 3)))
    left = dict.fromkeys(RATES, "77")
    brokers = [Broker(id=number, throttles=left) for number in (1, 2, 3)]
    state = with_changes(
        applied(moving, brokers=brokers), a_topic_state(assignment=moving.assignment)
    )
    plan = plan_of(a_desired(a_topic(assignment=((1, 3), (2, 3)))), state)
    assert objected(workspace, plan, state, resumed=False) == ()
