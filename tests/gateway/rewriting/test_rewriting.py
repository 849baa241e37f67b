"""A member of a virtual cluster sees its names and no others, in each API that it may use."""

import pytest
from gateway.rewriting.frames import LINKS, ORDERS, Rewriter, table_of

from kgitops.gateway.rewriting.exchange import Forward, RefusedFrameError, read_header
from kgitops.gateway.rewriting.requests import rewrite_request
from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.frames import request_frame

FOREIGN = b"\x09" * 16


def test_metadata_of_all_topics_asks_for_those_of_the_virtual_cluster() -> None:
    """Neither does a listing show more, nor does asking create a topic."""
    client = Rewriter(table_of())
    sent, exchange = client.request(messages.MetadataRequest(topics=None), 12)
    assert [topic.name for topic in sent.topics] == ["5f1c.Orders", "5f1c.perf", "shared.stream"]
    assert not sent.allow_auto_topic_creation
    kind = messages.MetadataResponse
    rows = [
        kind.MetadataResponseTopic(name="5f1c.Orders", topic_id=ORDERS),
        kind.MetadataResponseTopic(name="5f1c.perf", error_code=29),
    ]
    broker = kind.MetadataResponseBroker(node_id=1, host="broker-1", port=9092, rack="a")
    answer = client.response(kind(topics=rows, brokers=[broker], cluster_id="c"), exchange)
    assert [topic.name for topic in answer.topics] == ["Orders"]
    assert [(each.host, each.port, each.rack) for each in answer.brokers] == [
        ("gateway.example", 9101, "a")
    ]
    assert client.addresses.seen == {1: (b"broker-1", 9092)}


@pytest.mark.parametrize("version", [0, 1, 3])
def test_metadata_of_an_empty_virtual_cluster_shows_nothing(version: int) -> None:
    """The empty list means all topics in version 0."""
    client = Rewriter(table_of({}))
    asked = messages.MetadataRequest(topics=None if version else [])
    sent, exchange = client.request(asked, version)
    assert [topic.name for topic in sent.topics] == ([] if version else ["emea.sales:"])
    row = messages.MetadataResponse.MetadataResponseTopic(name="emea.sales:", error_code=17)
    answer = client.response(messages.MetadataResponse(topics=[row] * (not version)), exchange)
    assert answer.topics == []


def test_an_unknown_topic_is_told_as_unknown_whatever_the_broker_says() -> None:
    """Its name is never one that a topic can have (VC-029)."""
    client = Rewriter(table_of())
    kind = messages.MetadataRequest
    sent, exchange = client.request(kind(topics=[kind.MetadataRequestTopic(name="secret")]), 9)
    assert [topic.name for topic in sent.topics] == ["emea.sales:secret"]
    row = messages.MetadataResponse.MetadataResponseTopic(name="emea.sales:secret", error_code=29)
    answer = client.response(messages.MetadataResponse(topics=[row]), exchange)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("secret", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ]


def test_both_names_of_a_topic_are_described() -> None:
    """One topic under two names in one virtual cluster (VC-039)."""
    client = Rewriter(table_of(LINKS | {b"emea.Orders": (b"5f1c.Orders", ORDERS)}))
    kind = messages.MetadataRequest
    both = [kind.MetadataRequestTopic(name=name) for name in ("emea.Orders", "Orders")]
    row = messages.MetadataResponse.MetadataResponseTopic(name="5f1c.Orders", topic_id=ORDERS)
    for topics in (both, None):
        sent, exchange = client.request(kind(topics=topics), 12)
        assert [topic.name for topic in sent.topics].count("5f1c.Orders") == 1
        answer = client.response(messages.MetadataResponse(topics=[row]), exchange)
        assert sorted(topic.name for topic in answer.topics) == ["Orders", "emea.Orders"]
        # Java's clients can't take two topics with one id, so the others have none.
        first, second = answer.topics
        assert (first.topic_id, second.topic_id) == (ORDERS, bytes(16))
        assert first.name == ("emea.Orders" if topics else "Orders")
    kind = messages.ListOffsetsRequest
    sent, exchange = client.request(kind(topics=[kind.ListOffsetsTopic(name="Orders")]), 7)
    found = messages.ListOffsetsResponse.ListOffsetsTopicResponse(name="5f1c.Orders")
    answer = client.response(messages.ListOffsetsResponse(topics=[found]), exchange)
    assert answer.topics[0].name == "Orders"


def test_ids_of_others_are_masked() -> None:
    """The broker is asked for a topic that nobody has, and the client gets its own id back."""
    client = Rewriter(table_of())
    kind = messages.FetchRequest
    topics = [kind.FetchTopic(topic_id=each) for each in (ORDERS, FOREIGN)]
    sent, exchange = client.request(kind(topics=topics), 13)
    assert sent.topics[0].topic_id == ORDERS
    masked = sent.topics[1].topic_id
    assert masked not in (FOREIGN, ORDERS)
    rows = [
        messages.FetchResponse.FetchableTopicResponse(topic_id=each)
        for each in (ORDERS, masked, b"\x08" * 16)
    ]
    answer = client.response(messages.FetchResponse(responses=rows), exchange)
    assert [row.topic_id for row in answer.responses] == [ORDERS, FOREIGN]


def test_an_id_beside_a_name_of_ones_own_is_not_taken_for_its_id() -> None:
    """All tenants that link to the topic would else have a wrong id of it."""
    client = Rewriter(table_of())
    kind = messages.MetadataRequest
    both = kind.MetadataRequestTopic(name="Orders", topic_id=FOREIGN)
    sent, exchange = client.request(kind(topics=[both]), 12)
    (asked,) = sent.topics
    row = messages.MetadataResponse.MetadataResponseTopic(
        name="5f1c.Orders", topic_id=asked.topic_id, error_code=100
    )
    answer = client.response(messages.MetadataResponse(topics=[row]), exchange)
    assert [(topic.name, topic.topic_id) for topic in answer.topics] == [("Orders", FOREIGN)]
    assert not client.connection.topic_ids.own(asked.topic_id, table_of())


def test_a_mask_can_not_be_computed() -> None:
    """A mask sent back as an id is masked itself, and never becomes an id of a topic."""
    client = Rewriter(table_of())
    kind = messages.FetchRequest

    def masked(topic_id: bytes) -> bytes:
        sent, _ = client.request(kind(topics=[kind.FetchTopic(topic_id=topic_id)]), 13)
        return bytes(sent.topics[0].topic_id)

    once = masked(FOREIGN)
    assert masked(once) not in (FOREIGN, once)
    assert masked(FOREIGN) == once


def test_an_id_is_learned_from_metadata() -> None:
    """The registry may not know the id of a linked topic."""
    client = Rewriter(table_of({b"late": (b"5f1c.late", b"")}))
    kind = messages.MetadataRequest
    _, exchange = client.request(kind(topics=[kind.MetadataRequestTopic(name="late")]), 12)
    row = messages.MetadataResponse.MetadataResponseTopic(name="5f1c.late", topic_id=FOREIGN)
    answer = client.response(messages.MetadataResponse(topics=[row]), exchange)
    assert answer.topics[0].topic_id == FOREIGN
    fetch = messages.FetchRequest
    sent, _ = client.request(fetch(topics=[fetch.FetchTopic(topic_id=FOREIGN)]), 13)
    assert sent.topics[0].topic_id == FOREIGN


def test_groups_of_others_are_not_listed() -> None:
    """A listing has the groups with the virtual cluster's prefix, without it."""
    client = Rewriter(table_of())
    _, exchange = client.request(messages.ListGroupsRequest(), 4)
    kind = messages.ListGroupsResponse
    groups = [
        kind.ListedGroup(group_id=each) for each in ("emea.sales:etl", "etl", "emea.sales2:x", "x")
    ]
    answer = client.response(kind(groups=groups), exchange)
    assert [group.group_id for group in answer.groups] == ["etl"]


def test_a_coordinator_is_found_by_a_local_id() -> None:
    """Keys have no type that tells what they name; old versions have one key only."""
    client = Rewriter(table_of())
    kind = messages.FindCoordinatorRequest
    sent, exchange = client.request(kind(coordinator_keys=["etl", "tx"], key_type=1), 4)
    assert sent.coordinator_keys == ["emea.sales:etl", "emea.sales:tx"]
    row = messages.FindCoordinatorResponse.Coordinator(
        key="emea.sales:etl", node_id=2, host="broker-2", port=9092
    )
    answer = client.response(messages.FindCoordinatorResponse(coordinators=[row]), exchange)
    found = answer.coordinators[0]
    assert (found.key, found.host, found.port) == ("etl", "gateway.example", 9102)
    sent, exchange = client.request(kind(key="etl"), 1)
    assert sent.key == "emea.sales:etl"
    answer = client.response(
        messages.FindCoordinatorResponse(node_id=1, host="broker-1", port=9092), exchange
    )
    assert (answer.host, answer.port) == ("gateway.example", 9101)


def test_the_blobs_of_a_classic_group_have_physical_names_for_the_coordinator() -> None:
    """It keeps offsets of the topics in them only; assignors' own data are left alone."""
    client = Rewriter(table_of())
    kind = messages.ConsumerProtocolSubscription
    local = kind(
        topics=["Orders", "later"],
        user_data=b"Orders",
        owned_partitions=[kind.TopicPartition(topic="stream", partitions=[3])],
    )
    blob = b"\0\x01" + bytes(write(local, 1))
    join = messages.JoinGroupRequest
    sent, exchange = client.request(
        join(
            group_id="etl",
            protocol_type="consumer",
            protocols=[join.JoinGroupRequestProtocol(name="range", metadata=blob)],
        ),
        5,
    )
    assert sent.group_id == "emea.sales:etl"
    physical = read(kind, 1, sent.protocols[0].metadata, 2)
    assert physical.topics == ["5f1c.Orders", "emea.sales:later"]
    assert physical.owned_partitions[0].topic == "shared.stream"
    assert physical.user_data == b"Orders"
    member = messages.JoinGroupResponse.JoinGroupResponseMember(metadata=sent.protocols[0].metadata)
    answer = client.response(messages.JoinGroupResponse(members=[member]), exchange)
    assert answer.members[0].metadata == blob

    data = messages.ConsumerProtocolAssignment
    assigned = b"\0\0" + bytes(
        write(data(assigned_partitions=[data.TopicPartition(topic="Orders", partitions=[0])]), 0)
    )
    sync = messages.SyncGroupRequest
    part = sync.SyncGroupRequestAssignment(member_id="m", assignment=assigned)
    sent, exchange = client.request(sync(group_id="etl", assignments=[part]), 3)
    assert b"5f1c.Orders" in sent.assignments[0].assignment
    answer = client.response(
        messages.SyncGroupResponse(assignment=sent.assignments[0].assignment), exchange
    )
    assert answer.assignment == assigned


def test_the_blobs_of_other_protocols_are_left_alone() -> None:
    """Connect's workers, and blobs that only look like the consumers'."""
    client = Rewriter(table_of())
    join = messages.JoinGroupRequest
    blob = b"\0\0" + bytes(write(messages.ConsumerProtocolSubscription(topics=["Orders"]), 0))
    protocol = join.JoinGroupRequestProtocol(name="sessioned", metadata=blob)
    sent, _ = client.request(
        join(group_id="connect", protocol_type="connect", protocols=[protocol]), 5
    )
    assert sent.protocols[0].metadata == blob
    sync = messages.SyncGroupRequest
    part = sync.SyncGroupRequestAssignment(member_id="m", assignment=blob)
    sent, _ = client.request(sync(group_id="connect", assignments=[part]), 3)
    assert sent.assignments[0].assignment == blob


def test_a_pattern_is_matched_with_local_names() -> None:
    """KIP-848's brokers match patterns with all topics that there are."""
    client = Rewriter(table_of())
    kind = messages.ConsumerGroupHeartbeatRequest
    sent, _ = client.request(
        kind(group_id="g", member_id="m", subscribed_topic_regex="(O|s).*", member_epoch=0), 1
    )
    assert sent.group_id == "emea.sales:g"
    assert sent.subscribed_topic_regex == r"\Q5f1c.Orders\E|\Qshared.stream\E"
    sent, _ = client.request(kind(group_id="g", member_id="m", subscribed_topic_regex="none"), 1)
    assert sent.subscribed_topic_regex == r"\Qemea.sales:\E"
    sent, _ = client.request(kind(group_id="g", member_id="m", subscribed_topic_regex="("), 1)
    assert sent.subscribed_topic_regex == "["


def test_a_subscription_is_told_again_when_links_change() -> None:
    """The client tells it once; a topic that is linked later is not missed."""
    client = Rewriter(table_of())
    kind = messages.ConsumerGroupHeartbeatRequest
    full = kind(group_id="g", member_id="m", subscribed_topic_names=["Orders", "later"])
    sent, exchange = client.request(full, 1)
    client.response(messages.ConsumerGroupHeartbeatResponse(), exchange)
    assert sent.subscribed_topic_names == ["5f1c.Orders"]
    beat = kind(group_id="g", member_id="m", subscribed_topic_names=None)
    sent, _ = client.request(beat, 1)
    assert sent.subscribed_topic_names is None
    client.table = table_of(LINKS | {b"later": (b"5f1c.later", FOREIGN)}, 2)
    for code in (14, 0):  # it is told again until the broker has accepted it
        sent, exchange = client.request(beat, 1)
        assert sent.subscribed_topic_names == ["5f1c.Orders", "5f1c.later"]
        answer = messages.ConsumerGroupHeartbeatResponse(error_code=code)
        client.response(answer, exchange)
    sent, _ = client.request(beat, 1)
    assert sent.subscribed_topic_names is None


def test_a_fetch_session_ends_when_links_change() -> None:
    """The broker would go on with the topics that it remembers of the session."""
    client = Rewriter(table_of())
    kind = messages.FetchRequest
    client.request(kind(session_id=0, session_epoch=0), 13)
    client.request(kind(session_id=5, session_epoch=1), 13)
    client.table = table_of({b"Orders": (b"other", FOREIGN)}, 2)
    answer = client.refusal(kind(session_id=5, session_epoch=2), 13)
    assert answer.error_code == 70
    client.request(kind(session_id=0, session_epoch=0), 13)
    client.request(kind(session_id=6, session_epoch=1), 13)
    for version in (7, 11, 15, 18):
        client.table = table_of({}, 3)
        client.connection.fetched = table_of()
        assert client.refusal(kind(session_id=6, session_epoch=2), version).error_code == 70


REFUSED = [
    (messages.CreateTopicsRequest, "topics", "CreatableTopic", {"name": "new"}, "topics"),
    (messages.DeleteTopicsRequest, "topics", "DeleteTopicState", {"name": "Orders"}, "responses"),
    (messages.CreatePartitionsRequest, "topics", "CreatePartitionsTopic", {"name": "o"}, "results"),
    (messages.CreateAclsRequest, "creations", "AclCreation", {}, "results"),
    (messages.DeleteAclsRequest, "filters", "DeleteAclsFilter", {}, "filter_results"),
    (
        messages.IncrementalAlterConfigsRequest,
        "resources",
        "AlterConfigsResource",
        {"resource_type": 2, "resource_name": "Orders"},
        "responses",
    ),
    (
        messages.AlterConfigsRequest,
        "resources",
        "AlterConfigsResource",
        {"resource_type": 2, "resource_name": "Orders"},
        "responses",
    ),
    (messages.AlterClientQuotasRequest, "entries", "EntryData", {}, "entries"),
]


@pytest.mark.parametrize(("kind", "items", "part", "fields", "results"), REFUSED)
def test_declared_objects_are_not_changed(kind, items, part, fields, results) -> None:  # type: ignore[no-untyped-def]
    """In each version, with a sentence that tells where they are changed."""
    for version in apis()[keys()[kind.__name__.removesuffix("Request")]].versions:
        client = Rewriter(table_of())
        request = kind(**{items: [getattr(kind, part)(**fields)]})
        if kind is messages.DeleteTopicsRequest and version < 6:
            request = kind(topic_names=["Orders"])
        (row,) = getattr(client.refusal(request, version), results)
        assert row.error_code == ErrorCode.POLICY_VIOLATION
        if not (kind is messages.DeleteTopicsRequest and version < 5):
            assert "can't be changed through the gateway" in row.error_message
        assert getattr(row, "name", None) in (None, "new", "Orders", "o")


def test_a_topic_that_exists_can_not_be_created() -> None:
    """As brokers say, whose policies come after that: Connect and others count on it."""
    kind = messages.CreateTopicsRequest
    topics = [kind.CreatableTopic(name=name) for name in ("Orders", "new")]
    answer = Rewriter(table_of()).refusal(kind(topics=topics), 7)
    assert [(row.name, row.error_code) for row in answer.topics] == [
        ("Orders", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("new", ErrorCode.POLICY_VIOLATION),
    ]


def test_errors_of_brokers_have_local_names() -> None:
    """A sentence may quote a topic or a group."""
    client = Rewriter(table_of())
    _, exchange = client.request(messages.DescribeConfigsRequest(), 4)
    kind = messages.DescribeConfigsResponse
    row = kind.DescribeConfigsResult(
        error_message="Topic 5f1c.Orders of group emea.sales:etl is wrong: shared.stream.",
        resource_type=2,
        resource_name="5f1c.Orders",
    )
    foreign = kind.DescribeConfigsResult(resource_type=2, resource_name="others")
    answer = client.response(kind(results=[row, foreign]), exchange)
    assert [each.resource_name for each in answer.results] == ["Orders"]
    assert answer.results[0].error_message == "Topic Orders of group etl is wrong: stream."


def test_api_versions_are_cut() -> None:
    """To the APIs and versions that the gateway understands; fewer before a login."""
    kind = messages.ApiVersionsResponse
    told = [
        kind.ApiVersion(api_key=0, min_version=0, max_version=99),
        kind.ApiVersion(api_key=17, min_version=0, max_version=1),
        kind.ApiVersion(api_key=75, min_version=0, max_version=0),
        kind.ApiVersion(api_key=9999, min_version=0, max_version=0),
    ]
    for client, keys_left in (
        (Rewriter(table_of()), [(0, 0, 13), (17, 1, 1)]),
        (Rewriter(None), [(0, 0, 13), (17, 1, 1), (75, 0, 0)]),
    ):
        _, exchange = client.request(messages.ApiVersionsRequest(), 3)
        answer = client.response(kind(api_keys=told), exchange)
        rows = [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys]
        assert rows == keys_left
    early = Rewriter(None)
    early.connection.logged_in = False
    _, exchange = early.request(messages.ApiVersionsRequest(), 3)
    answer = early.response(kind(api_keys=told), exchange)
    assert [row.api_key for row in answer.api_keys] == [0, 17]


def test_a_newer_api_versions_is_told_the_older_ones() -> None:
    """KIP-511: the answer has version 0, whatever was asked for."""
    api = apis()[18]
    frame = bytearray(request_frame(api, 4, 7, "client", messages.ApiVersionsRequest())[4:])
    frame[2:4] = (9).to_bytes(2, "big")
    client = Rewriter(None)
    answer = rewrite_request(frame, read_header(frame), None, client.connection)
    assert not isinstance(answer, Forward)
    found = read(messages.ApiVersionsResponse, 0, answer.body, 4)
    assert found.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.max_version) for row in found.api_keys] == [(18, 4)]


@pytest.mark.parametrize("acks", [0, 1, -1])
@pytest.mark.parametrize("version", apis()[0].versions)
def test_a_produce_without_acks_has_no_response(acks: int, version: int) -> None:
    """In no version, with and without a transactional id."""
    for transactional_id in (None, "tx" * 100):
        client = Rewriter(table_of())
        request = messages.ProduceRequest(acks=acks, transactional_id=transactional_id)
        sent, exchange = client.request(request, version)
        assert (exchange is None) == (acks == 0)
        assert sent.transactional_id == (transactional_id and f"emea.sales:{transactional_id}")


@pytest.mark.parametrize("name", ["DescribeTopicPartitions", "DescribeAcls", "ElectLeaders"])
def test_what_is_not_announced_closes_the_connection(name: str) -> None:
    """A client in a virtual cluster that uses it all the same."""
    request = messages.message_class(f"{name}Request")()
    with pytest.raises(RefusedFrameError, match=f"{name} can't be used through the gateway"):
        Rewriter(table_of()).send(request, apis()[keys()[name]].versions[0])


def test_clients_in_no_virtual_cluster_see_brokers_behind_the_gateway() -> None:
    """Nothing else of theirs changes."""
    client = Rewriter(None)
    sent, exchange = client.request(messages.MetadataRequest(topics=None), 12)
    assert sent.topics is None
    assert sent.allow_auto_topic_creation
    kind = messages.MetadataResponse
    broker = kind.MetadataResponseBroker(node_id=1, host="broker-1", port=9092)
    row = kind.MetadataResponseTopic(name="any", topic_id=FOREIGN)
    answer = client.response(kind(topics=[row], brokers=[broker]), exchange)
    assert [topic.name for topic in answer.topics] == ["any"]
    assert (answer.brokers[0].host, answer.brokers[0].port) == ("gateway.example", 9101)
