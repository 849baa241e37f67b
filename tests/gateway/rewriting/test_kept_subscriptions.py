"""The memory that subscriptions take: of what brokers accepted, and no more than there is."""

import pytest
from gateway.rewriting.frames import Rewriter, api_of, table_of

from kgitops.gateway.rewriting.exchange import (
    Forward,
    LocalAnswer,
    RefusedFrameError,
    RewriteState,
    read_header,
)
from kgitops.gateway.rewriting.requests import rewrite_request
from kgitops.gateway.rewriting.subscriptions import MOST_KEPT_BYTES
from kgitops.gateway.rewriting.topic_ids import TopicIds
from kgitops.gateway.sockets.memory import KeptMemory
from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.codec import read
from kgitops.wire.errors import TooLongError
from kgitops.wire.frames import request_frame, response_tags
from kgitops.wire.messages import Message

KINDS = [
    (messages.ConsumerGroupHeartbeatRequest, messages.ConsumerGroupHeartbeatResponse),
    (messages.ShareGroupHeartbeatRequest, messages.ShareGroupHeartbeatResponse),
]
NAMES = [f"topic-{number:04}-{'x' * 100}" for number in range(1000)]


def joining(kind: Message, group: str = "g", epoch: int = 0, count: int = 1000) -> Message:
    return kind(
        group_id=group, member_id="m", member_epoch=epoch, subscribed_topic_names=NAMES[:count]
    )


@pytest.mark.parametrize(("kind", "answer"), KINDS, ids=["consumer", "share"])
def test_what_the_broker_refuses_is_not_kept(kind: Message, answer: Message) -> None:
    """Nor that of a member which has left."""
    client = Rewriter(table_of())
    kept = client.connection.subscriptions
    _, exchange = client.request(joining(kind), 1)
    assert kept.used > 100_000, "it counts while the broker has it"
    client.response(answer(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED), exchange)
    assert (kept.used, kept.get("g")) == (0, None)
    _, exchange = client.request(joining(kind), 1)
    client.response(answer(), exchange)
    assert kept.used > 100_000
    _, exchange = client.request(joining(kind), 1)
    client.response(answer(), exchange)
    assert kept.used < 150_000, "one of a group"
    _, exchange = client.request(kind(group_id="g", member_id="m", member_epoch=-1), 1)
    client.response(answer(), exchange)
    assert (kept.used, kept.get("g")) == (0, None)


@pytest.mark.parametrize(("kind", "answer"), KINDS, ids=["consumer", "share"])
def test_a_connection_keeps_a_bounded_amount(kind: Message, answer: Message) -> None:
    """Of any number of groups, also of those that brokers have not answered yet."""
    client = Rewriter(table_of())
    found = [client.send(joining(kind, f"g{number}"), 1) for number in range(100)]
    assert 0 < sum(isinstance(each, Forward) for each in found) < 10
    assert client.connection.subscriptions.used <= MOST_KEPT_BYTES
    refusal = client.refusal(joining(kind, "more"), 1)
    assert refusal.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert "max-memory" in refusal.error_message
    client.connection.subscriptions.close()
    assert client.connection.subscriptions.used == 0


def test_names_that_no_topic_can_have_are_not_kept() -> None:
    """No link will lead from them; and a name counts once."""
    client = Rewriter(table_of())
    kind = messages.ConsumerGroupHeartbeatRequest
    names = ["x" * 250, "a b", "", "Orders", "é"] * 100
    sent, exchange = client.request(
        kind(group_id="g", member_id="m", subscribed_topic_names=names), 1
    )
    assert sent.subscribed_topic_names == ["5f1c.Orders"]
    assert exchange is not None
    assert exchange.accepted is not None
    assert exchange.accepted.subscription is not None
    assert exchange.accepted.subscription.topics == b"Orders"


def test_a_tenant_leaves_memory_to_others() -> None:
    """Of ``--max-memory``; a small subscription needs none, and a closed connection gives back."""
    memory = KeptMemory(16 * 1024 * 1024)

    def joins(tenant: str, count: int) -> tuple[bool, RewriteState]:
        names = RewriteState(TopicIds(), memory)
        message = joining(messages.ConsumerGroupHeartbeatRequest, count=count)
        frame = bytearray(request_frame(api_of(message), 1, 7, "c", message)[4:])
        found = rewrite_request(frame, read_header(frame), table_of(name=tenant), names)
        return isinstance(found, Forward), names

    greedy = [joins("greedy", 1000) for _ in range(100)]
    taken = sum(joined for joined, _ in greedy)
    assert 5 < taken < 15
    assert memory.used <= 1024 * 1024
    assert joins("greedy", 10)[0], "a small one"
    assert joins("other", 1000)[0]
    for _, names in greedy:
        names.subscriptions.close()
    assert joins("greedy", 1000)[0]


@pytest.mark.parametrize("count", [1, 1000])
def test_a_long_request_is_not_rewritten_at_once(count: int) -> None:
    """Neither by its bytes, nor by the elements between records."""
    produce = messages.ProduceRequest
    topic = produce.TopicProduceData(name="Orders")
    many = [topic] * (3 * count)
    for message, version in (
        (joining(messages.ConsumerGroupHeartbeatRequest, count=count), 1),
        (produce(acks=1, topic_data=many), 9),
        (messages.DescribeGroupsRequest(groups=NAMES[:count]), 5),
    ):
        client = Rewriter(table_of())
        frame = bytearray(request_frame(api_of(message), version, 7, "c", message)[4:])
        arguments = (frame, read_header(frame), client.table, client.connection)
        if count == 1:
            assert isinstance(rewrite_request(*arguments, at_once=True), Forward)
            continue
        with pytest.raises(TooLongError):
            rewrite_request(*arguments, at_once=True)
        assert isinstance(rewrite_request(*arguments), Forward)


@pytest.mark.parametrize(("kind", "answer"), KINDS, ids=["consumer", "share"])
def test_an_over_long_heartbeat_is_refused_before_it_is_read(
    kind: Message, answer: Message
) -> None:
    """Brokers store 1 MiB of a group at most; what comes here is not even a heartbeat."""
    client = Rewriter(table_of())
    frame = bytearray(request_frame(api_of(kind()), 1, 7, "c", kind())[4:])
    header = read_header(frame)
    frame[header.body :] = b"\xff" * (1024 * 1024 + 1)
    refused = rewrite_request(frame, header, client.table, client.connection)
    assert isinstance(refused, LocalAnswer)
    at = 4 + response_tags(header.api, 1)
    response = read(answer, 1, refused.body, at)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert "1 MiB" in response.error_message


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (messages.DescribeGroupsRequest(groups=["g"] * 100_001), 5),
        (
            messages.MetadataRequest(
                topics=[messages.MetadataRequest.MetadataRequestTopic(name="t")] * 100_001
            ),
            9,
        ),
        (
            messages.CreateTopicsRequest(
                topics=[messages.CreateTopicsRequest.CreatableTopic(name="t")] * 100_001
            ),
            7,
        ),
        (
            messages.ConsumerGroupHeartbeatRequest(
                group_id="g", member_id="m", subscribed_topic_names=["t"] * 100_001
            ),
            1,
        ),
    ],
    ids=["groups", "metadata", "topics", "subscription"],
)
def test_a_request_has_a_bounded_number_of_elements(message: Message, version: int) -> None:
    """A hundred thousand take the interpreter for milliseconds when they are freed at once."""
    with pytest.raises(RefusedFrameError, match="elements"):
        Rewriter(table_of()).send(message, version)
