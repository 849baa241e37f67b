"""Static members (KIP-345): they keep their places, and two of one instance id fence each other."""

from serve.groups.steps import REBALANCE_MS, SESSION_MS, GroupSteps

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode


def test_a_static_member_comes_back() -> None:
    """Under a new id, with its old assignment, and without a rebalance."""
    steps = GroupSteps()
    generation = steps.stable("a", "b", instances=True)
    back = steps.joined(steps.join(new_id="b2", instance_id="i-b"))
    assert (back.error, back.member_id, back.generation) == (ErrorCode.NONE, "b2", generation)
    assert steps.group.state is GroupState.STABLE
    synced = steps.synced(steps.sync("b2", generation, instance_id="i-b"))
    assert synced.assignment == b"of b"
    assert steps.beat("b", generation, "i-b") is ErrorCode.FENCED_INSTANCE_ID
    assert steps.beat("b2", generation, "i-b") is ErrorCode.NONE


def test_a_static_leader_comes_back() -> None:
    """KIP-814: a new client is told to skip the assignment, an old one that another leads."""
    for skips in (True, False):
        steps = GroupSteps()
        steps.stable("a", "b", instances=True)
        ticket = steps.join(new_id="a2", instance_id="i-a", may_skip_assignment=skips)
        back = steps.joined(ticket)
        assert back.skip_assignment is skips
        assert back.leader == ("a2" if skips else "a")
        assert len(back.members) == (2 if skips else 0)
        assert steps.group.leader == "a2"


def test_a_static_member_that_is_away_keeps_its_place() -> None:
    """Through a rebalance, until its session ends."""
    steps = GroupSteps()
    steps.stable("a", "b", instances=True, session_timeout_ms=100_000)
    steps.join("a", instance_id="i-a", session_timeout_ms=100_000)
    steps.wait(REBALANCE_MS)
    assert list(steps.group.members) == ["a", "b"]
    assert steps.group.generation == 2
    assert steps.group.state is GroupState.COMPLETING_REBALANCE


def test_a_rebalance_that_no_static_member_joins() -> None:
    """It waits for their sessions to end, and leaves the group empty."""
    steps = GroupSteps()
    steps.stable("a", "b", instances=True, rebalance_timeout_ms=1000)
    assert steps.leave(("", "i-b")) == [ErrorCode.NONE]
    steps.wait(1000)
    assert steps.group.state is GroupState.PREPARING_REBALANCE
    assert list(steps.group.members) == ["a"]
    steps.wait(SESSION_MS)
    assert steps.group.state is GroupState.EMPTY


def test_the_older_of_two_is_fenced() -> None:
    """While it waits, and by whatever it sends afterwards."""
    steps = GroupSteps()
    older = steps.join(new_id="a", instance_id="i")
    newer = steps.join(new_id="a2", instance_id="i")
    assert steps.joined(older).error is ErrorCode.FENCED_INSTANCE_ID
    steps.wait(0)
    assert steps.joined(newer).member_id == steps.joined(newer).leader == "a2"
    assert steps.joined(steps.join("a", instance_id="i")).error is ErrorCode.FENCED_INSTANCE_ID
    synced = steps.sync("a", 1, instance_id="i")
    assert steps.synced(synced).error is ErrorCode.FENCED_INSTANCE_ID
    assert steps.leave(("a", "i")) == [ErrorCode.FENCED_INSTANCE_ID]


def test_a_static_member_comes_back_while_assignments_are_awaited() -> None:
    """The leader may have been told of its old id: all join again."""
    steps = GroupSteps()
    steps.join(new_id="a", instance_id="i-a")
    steps.join(new_id="b", instance_id="i-b")
    steps.wait(0)
    waits = steps.sync("b", 1, instance_id="i-b")
    steps.join(new_id="b2", instance_id="i-b")
    assert steps.synced(waits).error is ErrorCode.FENCED_INSTANCE_ID
    assert steps.group.state is GroupState.PREPARING_REBALANCE


def test_a_static_member_comes_back_with_other_protocols() -> None:
    """Where they change the group's choice there is a rebalance."""
    steps = GroupSteps()
    steps.stable("a", instances=True, protocols=(("range", b""), ("rr", b"")))
    steps.join(new_id="a2", instance_id="i-a", protocols=(("rr", b""), ("range", b"")))
    steps.wait(0)
    assert (steps.group.generation, steps.group.protocol) == (2, "rr")


def test_an_unknown_instance() -> None:
    """With an id it is unknown; without one it is new."""
    steps = GroupSteps()
    steps.stable("a", instances=True)
    error = steps.joined(steps.join("x", instance_id="i-x")).error
    assert error is ErrorCode.UNKNOWN_MEMBER_ID
    assert steps.leave(("", "i-x"), ("", None)) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
