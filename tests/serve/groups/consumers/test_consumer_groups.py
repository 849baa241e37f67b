"""Groups of KIP-848: members reach their targets step by step, and are fenced by epochs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.assigning import by_range, uniform
from kgitops.serve.groups.consumers.group import (
    NOTHING,
    ConsumerGroupState,
    ConsumerMember,
    HeartbeatAnswer,
    ModernGroup,
    Partitions,
    ReadTopic,
)
from kgitops.serve.groups.consumers.heartbeats import (
    ConsumerHeartbeat,
    FencedError,
    check_heartbeat,
    consumer_heartbeat,
)
from kgitops.serve.groups.consumers.patterns import matching
from kgitops.serve.groups.consumers.reconciling import (
    next_consumer_deadline_ms,
    without_late_consumers,
)
from kgitops.serve.groups.settings import GroupSettings
from kgitops.serve.patterns import InvalidPatternError

SESSION_MS = 45_000


class ConsumerSteps:
    """A group, the time, and the topics that there are."""

    def __init__(self, partitions: int = 4) -> None:
        self.group = ModernGroup()
        self.now_ms = 0
        self.topics = {"orders": ReadTopic(b"o", partitions)}

    def beat(self, member_id: str, epoch: int, **more: object) -> HeartbeatAnswer:
        """Send a heartbeat."""
        request = ConsumerHeartbeat(member_id=member_id, epoch=epoch, **more)
        self.group, answer = consumer_heartbeat(
            self.group,
            request,
            lambda names: {name: self.topics[name] for name in names & self.topics.keys()},
            self.now_ms,
            GroupSettings(),
        )
        return answer

    def join(self, member_id: str, *topics: str, **more: object) -> HeartbeatAnswer:
        """Send a first heartbeat."""
        return self.beat(
            member_id,
            0,
            **{
                "topics": frozenset(topics or ("orders",)),
                "rebalance_timeout_ms": 60_000,
                "owned": NOTHING,
                **more,
            },
        )

    def error(self, member_id: str, epoch: int, **more: object) -> ErrorCode:
        """Send a heartbeat that is refused."""
        with pytest.raises(FencedError) as caught:
            self.beat(member_id, epoch, **more)
        return caught.value.answer.error

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.now_ms += ms
        self.group = without_late_consumers(self.group, self.now_ms)


def orders(*partitions: int) -> Partitions:
    """Partitions of ``orders``."""
    return frozenset((b"o", item) for item in partitions)


def test_one_member_has_all() -> None:
    """At once; later heartbeats tell it nothing new."""
    steps = ConsumerSteps()
    answer = steps.join("a")
    assert (answer.epoch, answer.assigned) == (1, orders(0, 1, 2, 3))
    assert steps.beat("a", 1).assigned is None
    assert steps.group.state is ConsumerGroupState.STABLE


def test_partitions_go_from_one_to_another() -> None:
    """The second gets them once the first has given them up, and not before."""
    steps = ConsumerSteps()
    steps.join("a")
    second = steps.join("b")
    assert (second.epoch, second.assigned) == (2, NOTHING)
    told = steps.beat("a", 1)
    assert (told.epoch, told.assigned) == (1, orders(0, 1))
    assert steps.group.state is ConsumerGroupState.RECONCILING
    assert steps.beat("b", 2).assigned is None
    assert steps.beat("a", 1, owned=orders(0, 1, 2, 3)).epoch == 1
    assert steps.beat("a", 1, owned=orders(0, 1)).epoch == 2
    given_ = steps.beat("b", 2)
    assert (given_.epoch, given_.assigned) == (2, orders(2, 3))
    assert steps.group.state is ConsumerGroupState.STABLE


def test_who_does_not_give_up_in_time_is_out() -> None:
    """After its rebalance timeout, though it sends heartbeats."""
    steps = ConsumerSteps()
    steps.join("a", rebalance_timeout_ms=10_000)
    steps.join("b")
    steps.beat("a", 1)
    assert next_consumer_deadline_ms(steps.group) == 10_000
    steps.wait(10_000)
    assert list(steps.group.members) == ["b"]
    assert steps.error("a", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert steps.beat("b", 2).assigned == orders(0, 1, 2, 3)


def test_a_session_ends() -> None:
    """The others share what the member had."""
    steps = ConsumerSteps()
    steps.join("a")
    steps.now_ms = 1
    steps.join("b")
    steps.wait(SESSION_MS - 1)
    assert list(steps.group.members) == ["b"]
    assert steps.group.state is ConsumerGroupState.ASSIGNING
    assert steps.beat("b", 2).assigned == orders(0, 1, 2, 3)


def test_epochs_fence() -> None:
    """A lost answer may be asked for again, with what was assigned before."""
    steps = ConsumerSteps()
    steps.join("a")
    steps.join("b")
    steps.beat("a", 1)
    assert steps.beat("a", 1, owned=orders(0, 1)).epoch == 2
    assert steps.beat("a", 1, owned=orders(0)).epoch == 2
    assert steps.error("a", 1) is ErrorCode.FENCED_MEMBER_EPOCH
    assert steps.error("a", 1, owned=orders(3)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert steps.error("a", 9) is ErrorCode.FENCED_MEMBER_EPOCH
    assert steps.error("x", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_fenced_member_joins_again() -> None:
    """With nothing, and is given its share again."""
    steps = ConsumerSteps()
    steps.join("a")
    answer = steps.join("a")
    assert (answer.epoch, answer.assigned) == (1, orders(0, 1, 2, 3))


def test_members_leave() -> None:
    """The answer has the epoch of leaving."""
    steps = ConsumerSteps()
    steps.join("a")
    steps.join("b")
    assert steps.beat("a", -1).epoch == -1
    assert steps.beat("b", 2).assigned == orders(0, 1, 2, 3)
    steps.beat("b", -1)
    assert steps.group.state is ConsumerGroupState.EMPTY


def test_a_static_member_comes_back() -> None:
    """It has what it had; while it has not left, another process is told to wait."""
    steps = ConsumerSteps()
    steps.join("a", instance_id="i")
    steps.join("b")
    steps.beat("a", 1, instance_id="i")
    steps.beat("a", 1, instance_id="i", owned=orders(0, 1))
    with pytest.raises(FencedError) as caught:
        steps.join("a2", instance_id="i")
    assert caught.value.answer.error is ErrorCode.UNRELEASED_INSTANCE_ID
    epoch = steps.group.epoch
    assert steps.beat("a", -2, instance_id="i").epoch == -2
    assert steps.beat("b", 2).assigned == orders(2, 3)
    answer = steps.join("a2", instance_id="i")
    assert (answer.assigned, steps.group.epoch) == (orders(0, 1), epoch)
    assert steps.error("a", 2, instance_id="i") is ErrorCode.FENCED_INSTANCE_ID


def test_topics_change() -> None:
    """More partitions, and a topic that is made after it was subscribed to."""
    steps = ConsumerSteps()
    steps.join("a", "orders", "later")
    steps.topics["orders"] = ReadTopic(b"o", 5)
    assert steps.beat("a", 1).assigned == orders(0, 1, 2, 3, 4)
    steps.topics["later"] = ReadTopic(b"l", 1)
    assert steps.beat("a", 2).assigned == orders(0, 1, 2, 3, 4) | {(b"l", 0)}
    assert steps.beat("a", 3, topics=frozenset({"later"})).assigned == {(b"l", 0)}


def test_patterns() -> None:
    """The whole name is matched, and a new topic that fits is read from the next heartbeat on."""
    names = frozenset({"orders", "orders.eu", "prices"})
    assert matching("orders.*", names) == {"orders", "orders.eu"}
    assert matching("order", names) == frozenset()
    assert matching("(?i)PRICES|x", names) == {"prices"}
    for wrong in ("(", "x" * 1001):
        with pytest.raises(InvalidPatternError):
            matching(wrong, names)
    steps = ConsumerSteps()
    steps.topics["later"] = ReadTopic(b"l", 1)
    matched = frozenset({"orders"})
    answer = steps.join("a", topics=None, pattern="o.*|later", matched=matched)
    assert answer.assigned == orders(0, 1, 2, 3)
    matched = frozenset({"orders", "later"})
    assert steps.beat("a", 1, matched=matched).assigned == orders(0, 1, 2, 3) | {(b"l", 0)}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"epoch": -3}, "MemberEpoch is invalid."),
        ({"epoch": -2}, "InstanceId can't be null."),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"owned": None}, "TopicPartitions must be empty when (re-)joining."),
        ({"owned": orders(1)}, "TopicPartitions must be empty when (re-)joining."),
        ({"assignor": "x"}, "ServerAssignor x is not supported. Supported assignors: uniform, "),
    ],
)
def test_what_no_member_may_send(more: dict[str, object], message: str) -> None:
    """In Kafka's words."""
    right = ConsumerHeartbeat(
        member_id="a", epoch=0, rebalance_timeout_ms=1, topics=frozenset(), owned=NOTHING
    )
    check_heartbeat("g", right)
    with pytest.raises(FencedError) as caught:
        check_heartbeat("g", replace(right, **more))
    assert str(caught.value).startswith(message)


def test_range_cuts_each_topic_in_runs() -> None:
    """The first members have one more."""
    both = frozenset({"orders", "prices"})
    group = ModernGroup(members={key: ConsumerMember(id=key, topics=both) for key in "ba"})
    topics = {"orders": ReadTopic(b"o", 3), "prices": ReadTopic(b"p", 1)}
    assert by_range(group, topics) == {
        "a": orders(0, 1) | {(b"p", 0)},
        "b": orders(2),
    }


SUBSCRIPTIONS = st.dictionaries(
    st.sampled_from("abcde"), st.frozensets(st.sampled_from("xyz"), max_size=3), max_size=5
)
TOPICS = st.fixed_dictionaries({name: st.integers(0, 6) for name in "xyz"})


@given(SUBSCRIPTIONS, SUBSCRIPTIONS, TOPICS)
def test_uniform_gives_each_partition_to_one_reader(before, after, counts) -> None:
    """All that are read are given out; equal subscriptions differ by one at most."""
    topics = {name: ReadTopic(name.encode(), count) for name, count in counts.items()}
    target: dict[str, Partitions] = {}
    for subscribed in (before, after):
        members = {key: ConsumerMember(id=key, topics=names) for key, names in subscribed.items()}
        target = dict(uniform(ModernGroup(members=members, target=target), topics))
    given_out = [item for partitions in target.values() for item in partitions]
    assert len(given_out) == len(set(given_out))
    read = frozenset[str]().union(*after.values()) if after else frozenset()
    assert len(given_out) == sum(counts[name] for name in read)
    for key, partitions in target.items():
        assert {topic.decode() for topic, _ in partitions} <= after[key]
    if len(set(after.values())) == 1:
        sizes = [len(partitions) for partitions in target.values()]
        assert max(sizes) - min(sizes) <= 1
