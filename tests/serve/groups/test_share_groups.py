"""Members of share groups and the partitions that they are assigned, as values (KIP-932)."""

import pytest

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.group import ReadTopic
from kgitops.serve.groups.share_groups import (
    MemberSettings,
    ShareError,
    ShareGroup,
    ShareGroups,
    ShareSession,
    check_heartbeat,
    heartbeat,
    without_members,
)
from kgitops.wire import messages

SETTINGS = MemberSettings(session_timeout_ms=100, max_size=4)
TOPICS = {"orders": ReadTopic(b"o" * 16, 3), "clicks": ReadTopic(b"c" * 16, 2)}


def beat(
    group: ShareGroup,
    member: str,
    epoch: int,
    names: list[str] | None = None,
    now_ms: int = 0,
    topics: dict[str, ReadTopic] = TOPICS,
) -> ShareGroup:
    """The group after a heartbeat."""
    request = messages.ShareGroupHeartbeatRequest(
        group_id="g", member_id=member, member_epoch=epoch, subscribed_topic_names=names
    )

    def find(wanted: frozenset[str]) -> dict[str, ReadTopic]:
        return {name: topics[name] for name in wanted if name in topics}

    return heartbeat(group, request, ("client", "/host"), find, now_ms, SETTINGS)


def joined(*members: str, names: tuple[str, ...] = ("orders",)) -> ShareGroup:
    """A group of these members, all with their last assignment."""
    group = ShareGroup()
    for member in members:
        group = beat(group, member, 0, list(names))
    for member in members:
        group = beat(group, member, group.members[member].epoch)
    return group


def parts(group: ShareGroup, member: str) -> set[tuple[str, int]]:
    """The first letter of the topic, and the partition, of all that a member has."""
    return {(topic[:1].decode(), index) for topic, index in group.members[member].assigned}


def refused(group: ShareGroup, member: str, epoch: int, names: list[str] | None = None) -> int:
    """The code of a heartbeat that is refused."""
    with pytest.raises(ShareError) as error:
        beat(group, member, epoch, names)
    return error.value.code


def test_members_share_the_partitions() -> None:
    """Evenly; who had one keeps it."""
    group = joined("a")
    assert parts(group, "a") == {("o", 0), ("o", 1), ("o", 2)}
    group = joined("a", "b")
    assert (parts(group, "a"), parts(group, "b")) == ({("o", 0), ("o", 1)}, {("o", 2)})
    group = without_members(group, ["a"])
    group = beat(group, "b", group.members["b"].epoch)
    assert parts(group, "b") == {("o", 0), ("o", 1), ("o", 2)}


def test_members_keep_what_they_have() -> None:
    """Only the partitions of a member that left go to others."""
    topics = {"orders": ReadTopic(b"o" * 16, 4)}
    group = ShareGroup()
    for member in "abc":
        group = beat(group, member, 0, ["orders"], topics=topics)
    group = without_members(group, ["a"])
    for member in "bc":
        group = beat(group, member, group.members[member].epoch, topics=topics)
    assert parts(group, "b") == {("o", 2), ("o", 0)}
    assert parts(group, "c") == {("o", 3), ("o", 1)}


def test_more_members_than_partitions() -> None:
    """Several members read a partition, and each member has one."""
    group = joined("a", "b", "c", "d", names=("clicks",))
    read = [parts(group, member) for member in "abcd"]
    assert all(len(mine) == 1 for mine in read)
    assert sorted(min(mine)[1] for mine in read) == [0, 0, 1, 1]
    odd = joined("a", "b", "c", names=("clicks",))
    assert sum(len(parts(odd, member)) for member in "abc") == 4


def test_members_with_other_subscriptions() -> None:
    """Each topic's partitions go to its own readers."""
    group = beat(ShareGroup(), "a", 0, ["orders"])
    group = beat(group, "b", 0, ["clicks", "absent"])
    assert parts(group, "a") == {("o", 0), ("o", 1), ("o", 2)}
    assert parts(group, "b") == {("c", 0), ("c", 1)}


def test_epochs() -> None:
    """The group's rises with each change; a member gets it with its own heartbeat."""
    group = beat(ShareGroup(), "a", 0, ["orders"])
    assert (group.epoch, group.members["a"].epoch) == (2, 2)
    group = beat(group, "b", 0, ["orders"])
    assert (group.epoch, group.members["a"].epoch) == (3, 2)
    group = beat(group, "a", 2)
    assert group.members["a"].epoch == 3
    # The answer may have been lost.
    assert beat(group, "a", 2) == group
    assert refused(group, "a", 4) == ErrorCode.FENCED_MEMBER_EPOCH
    group = beat(group, "a", 3, ["clicks"])
    assert (group.epoch, parts(group, "a")) == (4, {("c", 0), ("c", 1)})
    assert refused(group, "a", 2) == ErrorCode.FENCED_MEMBER_EPOCH
    assert beat(group, "a", 0, ["clicks"]).members["a"].epoch == 4


def test_a_topic_grows() -> None:
    """Its new partitions are read from the next heartbeat on."""
    group = joined("a")
    grown = {**TOPICS, "orders": ReadTopic(b"o" * 16, 4)}
    group = beat(group, "a", 2, topics=grown)
    assert (group.epoch, ("o", 3) in parts(group, "a")) == (3, True)
    assert beat(group, "a", 3, topics=grown) == group


def test_members_that_are_not_let_in() -> None:
    """Who never joined, and who comes when the group is full."""
    group = joined(*"abcd")
    assert refused(group, "e", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(group, "e", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(group, "e", 0, ["orders"]) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert set(beat(group, "a", -1).members) == set("bcd")


@pytest.mark.parametrize(
    "fields",
    [
        {"member_id": ""},
        {"member_id": "x" * 37},
        {"group_id": ""},
        {"rack_id": ""},
        {"member_epoch": -2},
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": []},
    ],
)
def test_requests_that_no_member_sends(fields: dict[str, object]) -> None:
    """INVALID_REQUEST."""
    good = {"group_id": "g", "member_id": "a", "subscribed_topic_names": ["orders"]}
    check_heartbeat(messages.ShareGroupHeartbeatRequest(**good))
    with pytest.raises(ShareError) as error:
        check_heartbeat(messages.ShareGroupHeartbeatRequest(**{**good, **fields}))
    assert error.value.code is ErrorCode.INVALID_REQUEST


def test_sessions() -> None:
    """One for a member and a broker; the epoch goes round at its end."""
    shares = ShareGroups(lambda: 0)
    key = 1, "g", "a"
    session = shares.open_session(key, 1)
    assert shares.session(key, 1) is session
    for epoch, code in ((0, 123), (2, 123)):
        with pytest.raises(ShareError) as error:
            shares.session(key, epoch)
        assert error.value.code == code
    with pytest.raises(ShareError) as error:
        shares.session((2, "g", "a"), 1)
    assert error.value.code is ErrorCode.SHARE_SESSION_NOT_FOUND
    with pytest.raises(ShareError) as error:
        shares.open_session((1, "g", "b"), 1)
    assert error.value.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert shares.open_session((2, "g", "b"), 1) is not session
    assert shares.open_session(key, 1) is not session
    session.epoch = 2**31 - 1
    session.advance()
    assert session.epoch == 1


def test_the_partitions_of_a_session() -> None:
    """A request adds some, and then forgets others."""
    session = ShareSession()
    session.update([("t", 0), ("t", 1)], [("t", 1)])
    assert session.partitions == {("t", 0): True}
    session.partitions["t", 0] = False
    session.update([("t", 0)], [("t", 7)])
    assert session.partitions == {("t", 0): False}
