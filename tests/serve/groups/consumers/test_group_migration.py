"""A group changes its type while members are in it, in Kafka's words and with nobody fenced."""

from collections.abc import Sequence

import pytest
from serve.groups.steps import GroupSteps
from serve.served import cluster_of

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.errors import KgitopsError
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.classic_members import (
    classic_heartbeat,
    classic_join,
    classic_leave,
    classic_sync,
)
from kgitops.serve.groups.consumers.group import (
    NOTHING,
    ConsumerGroupState,
    HeartbeatAnswer,
    ModernGroup,
    ReadTopic,
)
from kgitops.serve.groups.consumers.heartbeats import (
    ConsumerHeartbeat,
    FencedError,
    consumer_heartbeat,
)
from kgitops.serve.groups.consumers.reconciling import (
    next_consumer_deadline_ms,
    without_late_consumers,
)
from kgitops.serve.groups.embedded_protocol import read_assignment, write_assignment
from kgitops.serve.groups.expiring import Leaving
from kgitops.serve.groups.group import JoinAnswer, SyncAnswer
from kgitops.serve.groups.joining import Joining
from kgitops.serve.groups.migration import (
    downgraded,
    may_be_downgraded,
    told_to_join_again,
    upgraded,
)
from kgitops.serve.groups.settings import GroupSettings, MigrationPolicy
from kgitops.serve.groups.syncing import Syncing
from kgitops.wire import messages
from kgitops.wire.codec import write

TOPICS = {"orders": ReadTopic(b"o", 4)}
SESSION_MS, REBALANCE_MS = 10_000, 60_000


def subscription(owned: Sequence[int] = (), version: int = 1) -> bytes:
    """The metadata of a consumer that reads ``orders``."""
    row = messages.ConsumerProtocolSubscription.TopicPartition
    message = messages.ConsumerProtocolSubscription(
        topics=["orders"],
        owned_partitions=[row(topic="orders", partitions=list(owned))] if owned else [],
    )
    return version.to_bytes(2, "big") + bytes(write(message, version))


def assignment(*partitions: int) -> bytes:
    """What a classic member is assigned."""
    return write_assignment([("orders", item) for item in partitions], subscription())


def partitions_of(data: bytes) -> list[int]:
    """The partitions in an assignment."""
    return [item for row in read_assignment(data).assigned_partitions for item in row.partitions]


def find(names: frozenset[str]) -> dict[str, ReadTopic]:
    """The topics that exist."""
    return {name: TOPICS[name] for name in names & TOPICS.keys()}


class MixedGroup:
    """A group of KIP-848 with members of both kinds, and the time."""

    def __init__(self, group: ModernGroup | None = None, **settings: object) -> None:
        self.group = group or ModernGroup()
        self.now_ms = 0
        self.settings = GroupSettings(**settings)

    def beat(self, member_id: str, epoch: int, **more: object) -> HeartbeatAnswer:
        """Send ConsumerGroupHeartbeat."""
        first = {
            "topics": frozenset({"orders"}),
            "rebalance_timeout_ms": REBALANCE_MS,
            "owned": NOTHING,
        }
        request = ConsumerHeartbeat(
            member_id=member_id, epoch=epoch, **{**({} if epoch else first), **more}
        )
        self.group, answer = consumer_heartbeat(
            self.group, request, find, self.now_ms, self.settings
        )
        return answer

    def join(
        self, member_id: str = "", new_id: str = "", owned: Sequence[int] = (), **more: object
    ) -> JoinAnswer:
        """Send JoinGroup."""
        request = Joining(
            ticket=1,
            new_member_id=new_id,
            member_id=member_id,
            **{
                "protocols": (("cooperative-sticky", subscription(owned)),),
                "session_timeout_ms": SESSION_MS,
                "rebalance_timeout_ms": REBALANCE_MS,
                **more,
            },
        )
        self.group, answer = classic_join(self.group, request, find, self.now_ms, self.settings)
        return answer

    def sync(self, member_id: str, generation: int, **more: object) -> SyncAnswer:
        """Send SyncGroup."""
        request = Syncing(ticket=1, member_id=member_id, generation=generation, **more)
        self.group, answer = classic_sync(self.group, request, self.now_ms)
        return answer

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None):
        """Send Heartbeat."""
        self.group, error = classic_heartbeat(
            self.group, member_id, instance_id, generation, self.now_ms
        )
        return error

    def leave(self, *members: Leaving) -> Sequence[ErrorCode]:
        """Send LeaveGroup."""
        self.group, errors = classic_leave(self.group, members)
        return errors

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.now_ms += ms
        self.group = without_late_consumers(self.group, self.now_ms)

    def has(self, member_id: str, generation: int) -> list[int]:
        """The partitions that SyncGroup tells a member."""
        answer = self.sync(member_id, generation)
        assert answer.error is ErrorCode.NONE
        return partitions_of(answer.assignment)


def classic_group(*members: str, **request: object) -> GroupSteps:
    """A stable classic group whose members share ``orders``."""
    steps = GroupSteps()
    told = {"protocols": (("cooperative-sticky", subscription()),), **request}
    for name in members:
        steps.join(new_id=name, **told)
    steps.wait(0)
    share = {name: assignment(*range(index, 4, len(members))) for index, name in enumerate(members)}
    for name in reversed(members):
        steps.sync(name, 1, share if name == members[0] else {})
    assert steps.group.state is GroupState.STABLE
    return steps


def taken_over(steps: GroupSteps, **settings: object) -> MixedGroup:
    """The classic group as one of KIP-848."""
    made = GroupSettings(**settings)
    return MixedGroup(upgraded("g", steps.group, find, 0, made), **settings)


def test_members_keep_what_they_have() -> None:
    """Until a member of KIP-848 has joined; then each gives up its part by joining again."""
    mixed = taken_over(classic_group("a", "b"))
    assert mixed.group.epoch == 1
    assert mixed.heartbeat("a", 1) is ErrorCode.NONE
    assert (mixed.has("a", 1), mixed.has("b", 1)) == ([0, 2], [1, 3])
    first = mixed.beat("new", 0)
    assert (first.epoch, first.assigned) == (2, NOTHING)
    assert mixed.group.state is ConsumerGroupState.RECONCILING
    assert mixed.heartbeat("a", 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert mixed.sync("a", 1).error is ErrorCode.REBALANCE_IN_PROGRESS
    told = mixed.join("a", owned=[0, 2])
    assert (told.error, told.leader, told.members, told.protocol_type, told.protocol) == (
        ErrorCode.NONE,
        "",
        (),
        "consumer",
        "cooperative-sticky",
    )
    kept = mixed.has("a", told.generation)
    assert kept in ([0], [2], [0, 2])
    again = mixed.join("a", owned=kept)
    assert again.generation == 2
    mixed.join("b", owned=[1, 3])
    kept_by_b = mixed.has("b", mixed.group.members["b"].epoch)
    mixed.join("b", owned=kept_by_b)
    given = mixed.beat("new", 2).assigned
    assert given is not None
    every = [*mixed.has("a", 2), *mixed.has("b", 2), *(item for _, item in given)]
    assert sorted(every) == [0, 1, 2, 3]
    assert mixed.heartbeat("a", 2) is mixed.heartbeat("b", 2) is ErrorCode.NONE
    assert mixed.group.state is ConsumerGroupState.STABLE


def test_eager_members_have_given_up_all() -> None:
    """They tell no partitions when they join, and have their new ones at once."""
    mixed = taken_over(classic_group("a"))
    mixed.beat("new", 0)
    told = mixed.join("a")
    assert (told.generation, len(mixed.has("a", 2))) == (2, 2)
    assert len(mixed.beat("new", 2).assigned or ()) == 2


def test_a_member_waits_for_what_others_have() -> None:
    """It is told to join again once that is free, and not before."""
    mixed = MixedGroup()
    mixed.beat("new", 0)
    joined = mixed.join(new_id="a")
    assert (joined.generation, mixed.has("a", 2)) == (2, [])
    assert mixed.heartbeat("a", 2) is ErrorCode.NONE
    kept = mixed.beat("new", 1).assigned
    mixed.beat("new", 1, owned=kept)
    assert mixed.heartbeat("a", 2) is ErrorCode.REBALANCE_IN_PROGRESS
    mixed.join("a")
    assert len(mixed.has("a", 2)) == 2
    assert mixed.heartbeat("a", 2) is ErrorCode.NONE


def test_waiting_members_are_told_of_the_rebalance() -> None:
    """Those that wait in JoinGroup and SyncGroup, and a group without a generation."""
    steps = GroupSteps(initial_delay_ms=100)
    ticket = steps.join(new_id="a", protocols=(("range", subscription()),))
    mixed = taken_over(steps)
    assert mixed.beat("new", 0).epoch == 1
    answers = dict(told_to_join_again(steps.group).answers)
    assert answers[ticket] == JoinAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS, member_id="a")
    assert mixed.join("a", protocols=(("range", subscription()),)).generation == 1
    steps = classic_group("a", "b")
    steps.join("a", protocols=(("cooperative-sticky", subscription()),))
    steps.join("b", protocols=(("cooperative-sticky", subscription()),))
    ticket = steps.sync("b", 2)
    answers = dict(told_to_join_again(steps.group).answers)
    assert answers[ticket] == SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS)


CANNOT = "Cannot upgrade classic group g to consumer group because "


@pytest.mark.parametrize(
    ("steps", "settings", "problem"),
    [
        (
            classic_group("a"),
            {"migration_policy": MigrationPolicy.DISABLED},
            "online upgrade is disabled.",
        ),
        (
            classic_group("a"),
            {"migration_policy": MigrationPolicy.DOWNGRADE},
            "online upgrade is disabled.",
        ),
        (
            classic_group("a", protocol_type="connect"),
            {},
            "the group does not use the consumer embedded protocol.",
        ),
        (
            classic_group("a", "b"),
            {"consumer_max_size": 1},
            "the group size exceeds the consumer group maximum size.",
        ),
        (
            classic_group("a", protocols=(("range", b"\0\1?"),)),
            {},
            "the embedded consumer protocol is malformed.",
        ),
    ],
)
def test_groups_that_can_not_be_upgraded(
    steps: GroupSteps, settings: dict[str, object], problem: str
) -> None:
    """With Kafka's error, and Kafka's words."""
    with pytest.raises(FencedError) as caught:
        taken_over(steps, **settings)
    assert caught.value.answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert caught.value.answer.message == CANNOT + problem


def test_assignments_with_data_of_an_assignor() -> None:
    """The data would be lost: librdkafka's cooperative-sticky has some, as on Kafka."""
    steps = GroupSteps()
    steps.join(new_id="a", protocols=(("sticky", subscription()),))
    steps.wait(0)
    message = messages.ConsumerProtocolAssignment(user_data=b"x")
    steps.sync("a", 1, {"a": b"\0\0" + bytes(write(message, 0))})
    with pytest.raises(FencedError) as caught:
        taken_over(steps)
    assert caught.value.answer.message == (
        CANNOT + "an unsupported custom assignor is in use. Please refer to the documentation or "
        "switch to a default assignor before re-attempting the upgrade."
    )


def test_who_is_no_classic_member() -> None:
    """Members of KIP-848 included: these send other heartbeats."""
    mixed = MixedGroup()
    mixed.beat("new", 0)
    assert mixed.heartbeat("new", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert mixed.sync("x", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert mixed.join(new_id="a", must_know_its_id=True) == JoinAnswer(
        error=ErrorCode.MEMBER_ID_REQUIRED, member_id="a"
    )
    mixed.join("a")
    assert mixed.heartbeat("a", 7) is ErrorCode.ILLEGAL_GENERATION
    assert mixed.sync("a", 7).error is ErrorCode.ILLEGAL_GENERATION
    for told in ({"protocol": "range"}, {"protocol_type": "connect"}):
        answer = mixed.sync("a", 2, **told)
        assert answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert mixed.join("b", protocols=(("range", subscription()),)).error is inconsistent
    assert mixed.join("b", protocol_type="connect").error is inconsistent
    assert mixed.join("b", protocols=(("cooperative-sticky", b""),)).error is inconsistent
    errors = mixed.leave(Leaving(member_id="new"), Leaving(member_id="x"), Leaving(member_id="a"))
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert errors == [unknown, unknown, ErrorCode.NONE]
    assert list(mixed.group.members) == ["new"]
    full = MixedGroup(consumer_max_size=1)
    full.beat("new", 0)
    assert full.join("a").error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_static_members_change_their_protocol() -> None:
    """The one takes the other's place, and what it has."""
    steps = GroupSteps()
    protocols = (("cooperative-sticky", subscription()),)
    steps.join(new_id="a", instance_id="i", protocols=protocols)
    steps.join(new_id="b", instance_id="j", protocols=protocols)
    steps.wait(0)
    steps.sync("b", 1, instance_id="j")
    steps.sync("a", 1, {"a": assignment(0, 1), "b": assignment(2, 3)}, instance_id="i")
    mixed = taken_over(steps)
    new = mixed.beat("a2", 0, instance_id="i")
    assert (new.epoch, new.assigned) == (1, frozenset({(b"o", 0), (b"o", 1)}))
    assert mixed.heartbeat("a", 1, "i") is ErrorCode.FENCED_INSTANCE_ID
    assert mixed.heartbeat("b", 1, "j") is ErrorCode.NONE
    before = mixed.group
    back = mixed.join(new_id="a3", instance_id="i")
    assert (back.member_id, back.generation) == ("a3", 1)
    assert may_be_downgraded(before, mixed.group, mixed.settings)
    group = downgraded(before, mixed.group, 0)
    assert (group.state, group.generation) == (GroupState.STABLE, 1)
    assert partitions_of(group.members["a3"].assignment) == [0, 1]
    assert partitions_of(group.members["b"].assignment) == [2, 3]


def test_the_last_member_of_kip_848_goes() -> None:
    """The group is classic, in the generation that the others know, and rebalances."""
    mixed = MixedGroup()
    mixed.beat("new", 0)
    mixed.join(new_id="a")
    mixed.beat("new", 1, owned=mixed.beat("new", 1).assigned)
    mixed.join("a")
    before = mixed.group
    mixed.beat("new", -1)
    assert may_be_downgraded(before, mixed.group, mixed.settings)
    group = downgraded(before, mixed.group, 0)
    assert (group.state, group.generation) == (GroupState.PREPARING_REBALANCE, 2)
    assert (list(group.members), group.leader) == (["a"], "a")
    assert len(partitions_of(group.members["a"].assignment)) == 2
    steps = GroupSteps()
    steps.group = group
    assert steps.beat("a", 2) is ErrorCode.REBALANCE_IN_PROGRESS
    again = steps.join("a", protocols=(("cooperative-sticky", subscription()),))
    assert steps.joined(again).leader == "a"
    for settings in (
        {"migration_policy": MigrationPolicy.UPGRADE},
        {"migration_policy": MigrationPolicy.DISABLED},
        {"max_size": 0},
    ):
        assert not may_be_downgraded(before, mixed.group, GroupSettings(**settings))
    alone = MixedGroup()
    alone.beat("new", 0)
    before = alone.group
    alone.beat("new", -1)
    assert not may_be_downgraded(before, alone.group, alone.settings)


def test_classic_members_are_late() -> None:
    """To join again, to fetch their assignment, and with heartbeats."""
    mixed = taken_over(classic_group("a", "b"))
    mixed.beat("new", 0)
    assert mixed.heartbeat("a", 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert mixed.heartbeat("b", 1) is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(6):
        mixed.wait(SESSION_MS - 1)
        mixed.beat("new", 2)
        mixed.heartbeat("a", 1)
        mixed.heartbeat("b", 1)
    assert list(mixed.group.members) == ["a", "b", "new"]
    mixed.wait(REBALANCE_MS - mixed.now_ms)
    assert list(mixed.group.members) == ["new"]
    mixed = MixedGroup()
    mixed.beat("new", 0)
    mixed.join(new_id="a", session_timeout_ms=2 * REBALANCE_MS)
    assert next_consumer_deadline_ms(mixed.group) == 45_000
    mixed.now_ms = 40_000
    mixed.beat("new", 1, owned=NOTHING)
    mixed.wait(REBALANCE_MS - 40_000)
    assert list(mixed.group.members) == ["new"]
    mixed = MixedGroup()
    mixed.beat("new", 0)
    mixed.join(new_id="a")
    mixed.has("a", 2)
    mixed.wait(SESSION_MS)
    assert list(mixed.group.members) == ["new"]


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        (None, MigrationPolicy.BIDIRECTIONAL),
        ("UPGRADE", MigrationPolicy.UPGRADE),
        ("disabled", MigrationPolicy.DISABLED),
    ],
)
def test_the_policy_is_a_brokers_config(value: str | None, policy: MigrationPolicy) -> None:
    """In any case, as Kafka reads it."""
    configs = {} if value is None else {"group.consumer.migration.policy": value}
    assert GroupSettings.of(configs).migration_policy is policy


def test_an_unknown_policy() -> None:
    """No broker starts with one."""
    problem = "configuration group.consumer.migration.policy: write bidirectional, upgrade,"
    with pytest.raises(KgitopsError, match=problem):
        cluster_of(static_configs={"group.consumer.migration.policy": "sideways"})
