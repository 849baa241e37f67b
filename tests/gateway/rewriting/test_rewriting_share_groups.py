"""Share groups (KIP-932): subscriptions and sessions that outlive a change of links."""

import pytest
from gateway.rewriting.frames import LINKS, ORDERS, Rewriter, table_of
from real_kafka.foreign_requests import Filled

from kgitops.gateway.rewriting.apis import GROUP_RESOURCE, versions_of
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.messages import Message

FOREIGN = b"\x09" * 16
SHARE_AND_STREAMS = (
    *("ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"),
    *("DescribeShareGroupOffsets", "AlterShareGroupOffsets", "DeleteShareGroupOffsets"),
    *("StreamsGroupHeartbeat", "StreamsGroupDescribe"),
)


def group_ids(message: Message) -> list[str]:
    """The ids of all groups that a message names."""
    fields = message.__struct_fields__
    if "group_ids" in fields:
        return list(message.group_ids)
    rows = message.groups if "groups" in fields else [message]
    return [row.group_id for row in rows]


@pytest.mark.parametrize("name", SHARE_AND_STREAMS)
def test_share_and_streams_groups_have_ids_as_all_groups_have(name: str) -> None:
    """VC-118: behind the same prefix, which the rights on groups are lowered to."""
    api = apis()[keys()[name]]
    for version in versions_of(api):
        asked = Filled("Orders", ORDERS, b"").request(api, version, GROUP_RESOURCE)
        assert group_ids(asked) == ["Orders"]
        sent, _ = Rewriter(table_of()).request(asked, version)
        assert group_ids(sent) == ["emea.sales:Orders"]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (messages.ShareGroupDescribeRequest, messages.ShareGroupDescribeResponse),
        (messages.StreamsGroupDescribeRequest, messages.StreamsGroupDescribeResponse),
    ],
)
def test_share_and_streams_groups_are_described_by_local_ids(
    kind: Message, answer: Message
) -> None:
    """VC-118."""
    client = Rewriter(table_of())
    version = 1 if kind is messages.ShareGroupDescribeRequest else 0
    _, exchange = client.request(kind(group_ids=["g"]), version)
    found = answer(groups=[answer.DescribedGroup(group_id="emea.sales:g")])
    assert group_ids(client.response(found, exchange)) == ["g"]


def test_a_share_consumer_is_told_of_later_topics() -> None:
    """It joins with a name that no topic can have: brokers let nobody join without any."""
    client = Rewriter(table_of())
    kind = messages.ShareGroupHeartbeatRequest

    def sent(topics: list[str] | None, epoch: int) -> list[str] | None:
        found, exchange = client.request(
            kind(group_id="g", member_id="m", member_epoch=epoch, subscribed_topic_names=topics), 1
        )
        client.response(messages.ShareGroupHeartbeatResponse(), exchange)
        assert found.group_id == "emea.sales:g"
        return found.subscribed_topic_names

    assert sent(["Orders", "later"], 0) == ["5f1c.Orders"]
    assert sent(["later"], 0) == ["emea.sales:later"]
    assert sent(None, 1) is None
    client.table = table_of(LINKS | {b"later": (b"5f1c.later", FOREIGN)}, 2)
    assert sent(None, 1) == ["5f1c.later"]
    assert sent(None, 2) is None
    # A member that has joined may have no topic left.
    client.table = table_of({}, 3)
    assert sent(None, 2) == []
    consumer = messages.ConsumerGroupHeartbeatRequest
    joining = consumer(group_id="c", member_id="m", subscribed_topic_names=["Orders"])
    assert client.request(joining, 0)[0].subscribed_topic_names == ["emea.sales:Orders"]
    by_pattern, _ = client.request(joining, 1)
    assert by_pattern.subscribed_topic_names == []
    assert by_pattern.subscribed_topic_regex == r"\Qemea.sales:\E"


def test_a_share_session_ends_when_links_change() -> None:
    """The broker would go on with the topics that it remembers of the session."""
    client = Rewriter(table_of())
    kind = messages.ShareFetchRequest

    def asked(epoch: int) -> Message:
        return kind(group_id="g", member_id="member", share_session_epoch=epoch)

    assert client.request(asked(0), 1)[0].group_id == "emea.sales:g"
    client.request(asked(1), 2)
    client.table = table_of(LINKS, 2)
    client.request(asked(2), 2)
    client.table = table_of({b"Orders": (b"other", FOREIGN)}, 3)
    assert client.refusal(asked(3), 2).error_code == 122  # SHARE_SESSION_NOT_FOUND
    client.request(asked(-1), 2)
    client.request(asked(0), 2)
    client.request(asked(1), 2)


@pytest.mark.parametrize("version", [1, 2])
def test_share_sessions_have_no_topics_of_others(version: int) -> None:
    """The same answer to another tenant's id and to one that no topic has; brokers see neither."""
    client = Rewriter(table_of())
    fetch, acknowledge = messages.ShareFetchRequest, messages.ShareAcknowledgeRequest
    for topic_id in (FOREIGN, b"\x08" * 16):
        fetched = fetch(
            group_id="g",
            member_id="m",
            topics=[fetch.FetchTopic(topic_id=each) for each in (ORDERS, topic_id)],
        )
        assert client.refusal(fetched, version).error_code == 100  # UNKNOWN_TOPIC_ID
        acknowledged = acknowledge(
            group_id="g",
            member_id="m",
            share_session_epoch=1,
            topics=[acknowledge.AcknowledgeTopic(topic_id=topic_id)],
        )
        assert client.refusal(acknowledged, version).error_code == 100
    fetched = fetch(group_id="g", member_id="m", topics=[fetch.FetchTopic(topic_id=ORDERS)])
    sent, exchange = client.request(fetched, version)
    assert sent.topics[0].topic_id == ORDERS
    kind = messages.ShareFetchResponse
    rows = [kind.ShareFetchableTopicResponse(topic_id=each) for each in (ORDERS, FOREIGN)]
    endpoint = kind.NodeEndpoint(node_id=2, host="broker-2", port=9092)
    answer = client.response(kind(responses=rows, node_endpoints=[endpoint]), exchange)
    assert [row.topic_id for row in answer.responses] == [ORDERS]
    assert (answer.node_endpoints[0].host, answer.node_endpoints[0].port) == (
        "gateway.example",
        9102,
    )
