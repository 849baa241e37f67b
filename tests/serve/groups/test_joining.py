"""JoinGroup: cases of Kafka's ClassicGroup and GroupMetadataManager tests."""

import pytest
from serve.groups.steps import REBALANCE_MS, SESSION_MS, GroupSteps

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode


def test_two_members_join() -> None:
    """Both are answered at once, and the leader alone is told the members."""
    steps = GroupSteps()
    first, second = steps.join(new_id="a"), steps.join(new_id="b")
    assert not steps.answers
    assert steps.group.state is GroupState.PREPARING_REBALANCE
    steps.wait(0)
    leads, follows = steps.joined(first), steps.joined(second)
    assert (leads.generation, leads.leader, leads.protocol) == (1, "a", "range")
    assert [(member.id, member.metadata) for member in leads.members] == [("a", b"r"), ("b", b"r")]
    assert (follows.generation, follows.leader, follows.members) == (1, "a", ())
    assert steps.group.state is GroupState.COMPLETING_REBALANCE


def test_a_new_member_is_given_its_id_first() -> None:
    """KIP-394: it joins with the id; an id that was not given out is unknown."""
    steps = GroupSteps()
    given = steps.joined(steps.join(new_id="a", must_know_its_id=True))
    assert (given.error, given.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "a")
    assert not steps.group.members
    ticket = steps.join("a", must_know_its_id=True)
    steps.wait(0)
    assert steps.joined(ticket).error is ErrorCode.NONE
    assert steps.joined(steps.join("b")).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_is_not_joined_with_expires() -> None:
    """It holds the others up no longer than a session."""
    steps = GroupSteps()
    generation = steps.stable("a")
    steps.join(new_id="b", must_know_its_id=True)
    waits = steps.join("a")
    assert waits not in steps.answers
    steps.wait(SESSION_MS)
    assert steps.joined(waits).generation == generation + 1
    assert steps.joined(steps.join("b")).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_group_waits_for_more_members() -> None:
    """``group.initial.rebalance.delay.ms``, again after each that comes."""
    steps = GroupSteps(initial_delay_ms=3000)
    first = steps.join(new_id="a")
    steps.wait(2000)
    second = steps.join(new_id="b")
    steps.wait(1000)
    assert not steps.answers
    steps.wait(3000)
    assert steps.joined(first).generation == steps.joined(second).generation == 1


def test_the_first_wait_ends_at_the_rebalance_timeout() -> None:
    """Even if new members keep coming."""
    steps = GroupSteps(initial_delay_ms=3000)
    first = steps.join(new_id="m", rebalance_timeout_ms=7000)
    for number in range(4):
        steps.wait(1900)
        steps.join(new_id=str(number), rebalance_timeout_ms=7000)
        assert (first in steps.answers) is (steps.now_ms >= 7000)


def test_the_protocol_with_most_votes() -> None:
    """Of those that all members have."""
    steps = GroupSteps()
    a = steps.join(new_id="a", protocols=(("sticky", b""), ("range", b"1"), ("rr", b"")))
    steps.join(new_id="b", protocols=(("rr", b""), ("range", b"2")))
    steps.join(new_id="c", protocols=(("range", b"3"), ("rr", b"")))
    steps.wait(0)
    assert steps.joined(a).protocol == "range"
    assert [member.metadata for member in steps.joined(a).members] == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol_type": "connect"},
        {"protocols": (("other", b""),)},
        {"protocols": ()},
    ],
)
def test_a_member_that_does_not_fit(wrong: dict[str, object]) -> None:
    """Another protocol type, or no protocol that all have."""
    steps = GroupSteps()
    steps.stable("a")
    error = steps.joined(steps.join(new_id="b", **wrong)).error
    assert error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert list(steps.group.members) == ["a"]


@pytest.mark.parametrize("wrong", [{"protocol_type": ""}, {"protocols": ()}])
def test_a_first_member_must_tell_protocols(wrong: dict[str, object]) -> None:
    """An empty group takes any that has some."""
    steps = GroupSteps()
    error = steps.joined(steps.join(new_id="a", **wrong)).error
    assert error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_third_member_makes_the_others_join_again() -> None:
    """They learn of it by heartbeats; who does not join in time is out."""
    steps = GroupSteps()
    generation = steps.stable("a", "b")
    third = steps.join(new_id="c")
    assert steps.beat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS
    first = steps.join("a")
    assert not {third, first} & steps.answers.keys()
    for _ in range(7):
        steps.wait(SESSION_MS - 1)
        if "b" in steps.group.members:
            assert steps.beat("b", generation) is ErrorCode.REBALANCE_IN_PROGRESS
    assert steps.now_ms > REBALANCE_MS
    assert list(steps.group.members) == ["a", "c"]
    assert steps.joined(third).generation == steps.joined(first).generation == generation + 1
    assert steps.beat("b", generation) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_that_joins_again_unchanged() -> None:
    """It has lost an answer: nobody else need join again."""
    steps = GroupSteps()
    generation = steps.stable("a", "b")
    again = steps.joined(steps.join("b"))
    assert (again.error, again.generation, again.members) == (ErrorCode.NONE, generation, ())
    assert steps.group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("member", "protocols"), [("a", (("range", b"r"),)), ("b", (("range", b"new topics"),))]
)
def test_a_change_makes_a_rebalance(member: str, protocols: tuple[tuple[str, bytes], ...]) -> None:
    """A leader that joins again wants one, and a follower that reads something else needs one."""
    steps = GroupSteps()
    steps.stable("a", "b")
    assert steps.join(member, protocols=protocols) not in steps.answers
    assert steps.group.state is GroupState.PREPARING_REBALANCE


def test_joining_again_while_assignments_are_awaited() -> None:
    """Unchanged: the current generation; changed: who waits for an assignment joins again."""
    steps = GroupSteps()
    steps.join(new_id="a")
    steps.join(new_id="b")
    steps.wait(0)
    again = steps.joined(steps.join("a"))
    assert (again.generation, len(again.members)) == (1, 2)
    waits = steps.sync("b", 1)
    steps.join("a", protocols=(("range", b"other"),))
    assert steps.synced(waits).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert steps.group.state is GroupState.PREPARING_REBALANCE


def test_a_second_join_of_a_member_replaces_the_first() -> None:
    """The older request is answered, and the member is there once."""
    steps = GroupSteps()
    steps.stable("a", "b")
    older, newer = steps.join("a"), steps.join("a")
    assert steps.joined(older).error is ErrorCode.REBALANCE_IN_PROGRESS
    steps.join("b")
    assert steps.joined(newer).generation == 2


def test_a_full_group() -> None:
    """``group.max.size``."""
    steps = GroupSteps(max_size=1)
    steps.stable("a")
    error = steps.joined(steps.join(new_id="b")).error
    assert error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_leader_that_does_not_join_again_is_replaced() -> None:
    """By the oldest that does."""
    steps = GroupSteps()
    steps.stable("a", "b")
    b = steps.join("b", protocols=(("range", b"new"),))
    steps.wait(SESSION_MS)
    assert steps.joined(b).leader == "b"
    assert list(steps.group.members) == ["b"]


def test_a_new_member_whose_request_waits_for_too_long() -> None:
    """It may be gone: after five minutes it is told to begin anew."""
    steps = GroupSteps()
    generation = steps.stable("a", session_timeout_ms=1_000_000, rebalance_timeout_ms=900_000)
    ticket = steps.join(new_id="b")
    steps.wait(300_000)
    assert steps.joined(ticket).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert steps.beat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS
