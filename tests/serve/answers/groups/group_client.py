"""Requests of a group's members, by the raw client."""

from contextlib import ExitStack

from serve.plain_requests import Fields, ask, request_of
from serve.raw_client import RawClient, raw_client
from serve.topic_requests import create, new_topic

from kgitops.serve.server import KafkaServer
from kgitops.wire import messages
from kgitops.wire.messages import Message

CONSUMER = "consumer"
_PROTOCOL = messages.JoinGroupRequest.JoinGroupRequestProtocol
SUBSCRIBED_TO_ORDERS = bytes.fromhex("0000 00000001 0006") + b"orders" + bytes.fromhex("ffffffff")
"""The metadata of a consumer that reads ``orders``, in version 0."""


def make_topic(client: RawClient, name: str, partitions: int = 3) -> bytes:
    """Create a topic; its id."""
    (made,) = create(client, new_topic(name, partitions, 1))
    assert made.error_code == 0
    return bytes(made.topic_id)


def coordinator_of(client: RawClient, server: KafkaServer, group: str) -> int:
    """The index of the broker that coordinates the group."""
    request = messages.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    row = client.ask("FindCoordinator", 6, request).coordinators[0]
    assert row.error_code == 0
    ports = [endpoint.port for endpoint in server.endpoints]
    return ports.index(row.port)


def at_coordinator(
    stack: ExitStack, server: KafkaServer, client: RawClient, group: str, count: int
) -> list[RawClient]:
    """Connections to the group's coordinator."""
    endpoint = server.endpoints[coordinator_of(client, server, group)]
    return [stack.enter_context(raw_client(endpoint, f"c{index}")) for index in range(count)]


def join_request(group: str, member_id: str = "", **more: object) -> Message:
    """A JoinGroup of a consumer."""
    return messages.JoinGroupRequest(
        **{
            "group_id": group,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 30_000,
            "member_id": member_id,
            "protocol_type": CONSUMER,
            "protocols": [_PROTOCOL(name="range", metadata=SUBSCRIBED_TO_ORDERS)],
            **more,
        }
    )


def join(client: RawClient, group: str, version: int = 9, **more: object) -> Message:
    """Join until it is done: with the id that the first answer gives."""
    answer = client.ask("JoinGroup", version, join_request(group, **more))
    if answer.error_code == 79:
        request = join_request(group, answer.member_id, **more)
        answer = client.ask("JoinGroup", version, request)
    return answer


def sync(
    client: RawClient, group: str, joined: Message, assignments: dict[str, bytes], version: int = 5
) -> Message:
    """Bring or fetch the assignment."""
    rows = [{"member_id": key, "assignment": value} for key, value in assignments.items()]
    return ask(
        client,
        "SyncGroup",
        version,
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type=CONSUMER,
        protocol_name="range",
        assignments=rows,
    )


def heartbeat(client: RawClient, group: str, joined: Message, version: int = 4) -> int:
    """Send a heartbeat; the error code."""
    request = messages.HeartbeatRequest(
        group_id=group, generation_id=joined.generation_id, member_id=joined.member_id
    )
    code: int = client.ask("Heartbeat", version, request).error_code
    return code


def commit_request(
    group: str,
    topic: str,
    offsets: dict[int, int],
    *,
    joined: Message = None,
    topic_id: bytes = messages.NIL_UUID,
    metadata: str | None = None,
    leader_epoch: int = -1,
) -> Message:
    """An OffsetCommit, of a member or of nobody."""
    kept = {"committed_leader_epoch": leader_epoch, "committed_metadata": metadata}
    rows = [
        {"partition_index": index, "committed_offset": offset, **kept}
        for index, offset in offsets.items()
    ]
    member: Fields = {}
    if joined is not None:
        epoch = joined.generation_id
        member = {"member_id": joined.member_id, "generation_id_or_member_epoch": epoch}
    topics = {"name": topic, "topic_id": topic_id, "partitions": rows}
    return request_of("OffsetCommit", {"group_id": group, "topics": topics, **member})


def commit(client: RawClient, version: int, request: Message) -> dict[int, int]:
    """Commit; the error codes by partition."""
    answer = client.ask("OffsetCommit", version, request)
    return {
        row.partition_index: row.error_code for topic in answer.topics for row in topic.partitions
    }


def fetch_request(version: int, group: str, topics: dict[str, list[int]] | None) -> Message:
    """An OffsetFetch by names."""
    rows = topics and [{"name": k, "partition_indexes": v} for k, v in topics.items()]
    one = {"group_id": group, "topics": rows}
    return request_of("OffsetFetch", one if version < 8 else {"groups": one})


def fetch(
    client: RawClient, version: int, group: str, topics: dict[str, list[int]] | None
) -> dict[tuple[str, int], tuple[int, int, str, int]]:
    """Offset, leader epoch, metadata and error code by topic and partition."""
    answer = client.ask("OffsetFetch", version, fetch_request(version, group, topics))
    if version >= 8:
        answer = answer.groups[0]
    assert answer.error_code == 0
    return {
        (topic.name, row.partition_index): (
            row.committed_offset,
            row.committed_leader_epoch,
            row.metadata,
            row.error_code,
        )
        for topic in answer.topics
        for row in topic.partitions
    }
