"""SyncGroup, heartbeats, leaving, sessions, and who may commit."""

import pytest
from serve.groups.steps import REBALANCE_MS, SESSION_MS, GroupSteps

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.checks import commit_error


def test_followers_wait_for_the_leader() -> None:
    """Then each has its own assignment; one that was left out has an empty one."""
    steps = GroupSteps()
    for name in ("a", "b", "c"):
        steps.join(new_id=name)
    steps.wait(0)
    waits = steps.sync("b", 1), steps.sync("c", 1)
    assert not steps.answers.keys() & set(waits)
    leads = steps.sync("a", 1, {"a": b"1", "b": b"2"})
    assert [steps.synced(ticket).assignment for ticket in (leads, *waits)] == [b"1", b"2", b""]
    assert steps.group.state is GroupState.STABLE
    assert steps.synced(steps.sync("b", 1)).assignment == b"2"


@pytest.mark.parametrize(
    ("member", "generation", "more", "error"),
    [
        ("x", 1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", 0, {}, ErrorCode.ILLEGAL_GENERATION),
        ("a", 2, {}, ErrorCode.ILLEGAL_GENERATION),
        ("a", 1, {"protocol": "other"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("a", 1, {"protocol_type": "other"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("a", 1, {"protocol": "range", "protocol_type": "consumer"}, ErrorCode.NONE),
    ],
)
def test_who_may_sync(member, generation, more, error) -> None:
    """A member of this generation, with the group's protocol."""
    steps = GroupSteps()
    steps.stable("a")
    assert steps.synced(steps.sync(member, generation, **more)).error is error


def test_sync_in_a_rebalance() -> None:
    """The member is told to join again."""
    steps = GroupSteps()
    steps.stable("a", "b")
    steps.join("a")
    error = steps.synced(steps.sync("b", 1)).error
    assert error is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_do_not_sync_are_out() -> None:
    """The rebalance timeout counts for that phase too."""
    steps = GroupSteps()
    steps.join(new_id="a", session_timeout_ms=1_000_000)
    steps.join(new_id="b", session_timeout_ms=1_000_000)
    steps.wait(0)
    waits = steps.sync("b", 1)
    steps.wait(REBALANCE_MS)
    assert steps.synced(waits).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(steps.group.members) == ["b"]
    assert steps.group.leader == "b"


def test_the_leader_dies() -> None:
    """Its session ends; another leads the next generation."""
    steps = GroupSteps()
    generation = steps.stable("a", "b")
    steps.wait(SESSION_MS - 1)
    assert steps.beat("b", generation) is ErrorCode.NONE
    steps.wait(1)
    assert steps.beat("b", generation) is ErrorCode.REBALANCE_IN_PROGRESS
    answer = steps.joined(steps.join("b"))
    assert (answer.leader, answer.generation, len(answer.members)) == ("b", generation + 1, 1)


def test_who_waits_needs_no_heartbeat() -> None:
    """A parked JoinGroup or SyncGroup is sign of life enough."""
    steps = GroupSteps()
    steps.stable("a", "b", session_timeout_ms=1_000_000)
    waits = steps.join("b", protocols=(("range", b"new"),), session_timeout_ms=1000)
    steps.wait(REBALANCE_MS - 1)
    assert "b" in steps.group.members
    steps.wait(1)
    assert steps.joined(waits).generation == 2
    steps.wait(1000)
    assert not steps.group.members


def test_all_members_die() -> None:
    """The group is empty, and remembers its generation."""
    steps = GroupSteps()
    steps.stable("a", "b")
    steps.wait(SESSION_MS)
    assert (steps.group.state, steps.group.generation) == (GroupState.EMPTY, 2)
    assert steps.beat("a", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats() -> None:
    """Of this generation's members; also while assignments are awaited."""
    steps = GroupSteps()
    steps.join(new_id="a")
    steps.wait(0)
    assert steps.beat("a", 1) is ErrorCode.NONE
    assert steps.beat("a", 0) is ErrorCode.ILLEGAL_GENERATION
    assert steps.beat("x", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_leave() -> None:
    """Each has an answer of its own, and the others share what is free."""
    steps = GroupSteps()
    generation = steps.stable("a", "b")
    assert steps.leave(("a", None), ("x", None)) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert steps.beat("b", generation) is ErrorCode.REBALANCE_IN_PROGRESS
    assert steps.leave(("b", None)) == [ErrorCode.NONE]
    assert steps.group.state is GroupState.EMPTY
    assert steps.group.protocol_type == "consumer"


def test_a_pending_id_leaves() -> None:
    """The rebalance that waited for it goes on."""
    steps = GroupSteps()
    steps.stable("a")
    steps.join(new_id="b", must_know_its_id=True)
    waits = steps.join("a")
    assert steps.leave(("b", None)) == [ErrorCode.NONE]
    assert steps.joined(waits).generation == 2


@pytest.mark.parametrize(
    ("member", "instance", "generation", "error"),
    [
        ("a", None, 1, ErrorCode.NONE),
        ("a", None, 0, ErrorCode.ILLEGAL_GENERATION),
        ("x", None, 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", "i", 1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit(member, instance, generation, error) -> None:
    """A member of the current generation, once the group has one."""
    steps = GroupSteps()
    steps.stable("a")
    assert commit_error(steps.group, member, instance, generation) is error


def test_commits_without_members() -> None:
    """Anybody's, unless a generation is named that is gone."""
    steps = GroupSteps()
    assert commit_error(None, "", None, -1) is ErrorCode.NONE
    assert commit_error(None, "a", None, 1) is ErrorCode.ILLEGAL_GENERATION
    steps.stable("a")
    assert commit_error(steps.group, "", None, -1, transactional=True) is ErrorCode.NONE
    steps.leave(("a", None))
    assert commit_error(steps.group, "", None, -1) is ErrorCode.NONE
    assert commit_error(steps.group, "a", None, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_commits_while_assignments_are_awaited() -> None:
    """The member has joined a new generation, and has no partitions to commit in yet."""
    steps = GroupSteps()
    steps.join(new_id="a")
    steps.wait(0)
    assert commit_error(steps.group, "a", None, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert commit_error(steps.group, "a", None, 1, transactional=True) is ErrorCode.NONE
