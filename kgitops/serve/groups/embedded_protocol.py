"""The bytes that consumers put into classic groups: topics they subscribe to, partitions they get.

As org.apache.kafka.clients.consumer.internals.ConsumerProtocol: two bytes of version, then a
message. A newer version is read as the newest known one, whose fields come first.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from kgitops.wire import messages
from kgitops.wire.codec import read_part, write
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import Message

T = TypeVar("T", bound=msgspec.Struct)

CONSUMER = "consumer"
"""The protocol type of consumers; Connect and others use groups for themselves."""
_VERSION_BYTES = 2
_NEWEST = 3


def read_subscription(metadata: bytes) -> Message:
    """Read a member's ConsumerProtocolSubscription.

    Raises:
        MalformedError: the bytes are something else.
    """
    return _read(messages.ConsumerProtocolSubscription, metadata)


def read_assignment(assignment: bytes) -> Message:
    """Read a member's ConsumerProtocolAssignment; no bytes are an assignment without partitions.

    Raises:
        MalformedError: the bytes are something else.
    """
    if not assignment:
        return messages.ConsumerProtocolAssignment()
    return _read(messages.ConsumerProtocolAssignment, assignment)


def write_assignment(partitions: Iterable[tuple[str, int]], metadata: bytes) -> bytes:
    """Write an assignment in the version of the member's metadata."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    row = messages.ConsumerProtocolAssignment.TopicPartition
    message = messages.ConsumerProtocolAssignment(
        assigned_partitions=[row(topic=topic, partitions=by_topic[topic]) for topic in by_topic]
    )
    version = _version(metadata)
    return version.to_bytes(_VERSION_BYTES, "big") + bytes(write(message, version))


def _read(kind: type[T], data: bytes) -> T:
    return read_part(kind, _version(data), data, _VERSION_BYTES)[0]


def _version(data: bytes) -> int:
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if len(data) < _VERSION_BYTES or version < 0:
        raise MalformedError("the bytes of a consumer begin with no version")
    return min(version, _NEWEST)
