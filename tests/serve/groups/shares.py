"""Requests of a share group's members, by the raw client (KIP-932)."""

from collections.abc import Mapping, Sequence

from serve.plain_requests import ask
from serve.raw_client import RawClient

from kgitops.wire.messages import Message

Acks = Mapping[int, Sequence[tuple[int, int, Sequence[int]]]]
"""Ranges and their types of acknowledgement, by partition."""


def beat(client: RawClient, member: str = "a", epoch: int = 0, **fields: object) -> Message:
    """Send a heartbeat of a member of the group ``g``, which reads ``orders`` if it joins."""
    if epoch == 0:
        fields = {"subscribed_topic_names": ["orders"], **fields}
    how = {"group_id": "g", "member_id": member, "member_epoch": epoch, **fields}
    return ask(client, "ShareGroupHeartbeat", 1, **how)


def _rows(topic_id: bytes, acks: Acks) -> dict[str, object]:
    partitions = [
        {
            "partition_index": index,
            "acknowledgement_batches": [
                {"first_offset": first, "last_offset": last, "acknowledge_types": list(types)}
                for first, last, types in ranges
            ],
        }
        for index, ranges in acks.items()
    ]
    return {"topic_id": topic_id, "partitions": partitions}


def share_fetch(
    client: RawClient,
    topic_id: bytes,
    epoch: int = 0,
    *,
    member: str = "a",
    group: str = "g",
    acks: Acks | None = None,
    version: int = 2,
    **fields: object,
) -> Message:
    """Send a ShareFetch; one that opens a session reads partition 0."""
    wanted = ({0: []} if epoch == 0 else {}) if acks is None else acks
    limits = {"max_wait_ms": 0, "min_bytes": 1, "max_records": 500, "batch_size": 500}
    how = {"group_id": group, "member_id": member, "share_session_epoch": epoch}
    topics = [_rows(topic_id, wanted)] if wanted else []
    return ask(client, "ShareFetch", version, **{**limits, **how, "topics": topics, **fields})


def share_acknowledge(
    client: RawClient,
    topic_id: bytes,
    epoch: int,
    acks: Acks,
    *,
    member: str = "a",
    group: str = "g",
    version: int = 2,
    **fields: object,
) -> Message:
    """Send a ShareAcknowledge."""
    how = {"group_id": group, "member_id": member, "share_session_epoch": epoch}
    topics = [_rows(topic_id, acks)] if acks else []
    return ask(client, "ShareAcknowledge", version, **how, topics=topics, **fields)


def acquired(answer: Message) -> list[tuple[int, int, int]]:
    """First offset, last offset and deliveries of all that a ShareFetch acquired."""
    assert answer.error_code == 0, answer
    return [
        (run.first_offset, run.last_offset, run.delivery_count)
        for topic in answer.responses
        for row in topic.partitions
        for run in row.acquired_records
    ]


def codes(answer: Message, field: str = "error_code") -> dict[int, int]:
    """The error codes by partition."""
    return {
        row.partition_index: getattr(row, field)
        for topic in answer.responses
        for row in topic.partitions
    }
