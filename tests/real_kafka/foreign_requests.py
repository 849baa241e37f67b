"""Requests of every kind that name what is not the client's, and the answers as values."""

import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from kgitops.wire.apis import Api
from kgitops.wire.codec import read
from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition, version_range
from kgitops.wire.frames import request_frame, response_tags
from kgitops.wire.messages import Message, message_class

NUMBERS = {
    "MaxWaitMs": 10,
    "TimeoutMs": 1000,
    "SessionTimeoutMs": 10_000,
    "RebalanceTimeoutMs": 10_000,
    "MaxBytes": 1 << 20,
    "PartitionMaxBytes": 1 << 20,
    "MaxTimestamp": -1,
    "Timestamp": -1,
    "CurrentLeaderEpoch": -1,
    "LeaderEpoch": -1,
    "LastFetchedEpoch": -1,
    "CommittedLeaderEpoch": -1,
    "CommitTimestamp": -1,
    "LogStartOffset": -1,
    "ReplicaId": -1,
    "SessionEpoch": -1,
    "GenerationId": -1,
    "GenerationIdOrMemberEpoch": -1,
    "MemberEpoch": -1,
    "ProducerId": -1,
    "ProducerEpoch": -1,
    "TransactionTimeoutMs": 10_000,
    "Acks": -1,
    "RetentionTimeMs": -1,
    "DurationFilter": -1,
}
"""Values without which a broker does not get as far as to the names."""
GROUP = 32
"""The type of resource."""
MEMBER = "AAAAAAAAQACAAAAAAAAAAQ"
"""A member of share groups, which join with an id of their own and the epoch 0."""
RANDOM = {"member_id", "producer_id", "producer_epoch", "leader", "throttle_time_ms"}
"""Fields that a broker makes up: they tell nothing of a name."""


class Filled:
    """Builds requests with one element in each array, and a name in each place for one."""

    def __init__(self, name: str, topic_id: bytes, records: bytes) -> None:
        self._name = name
        self._topic_id = topic_id
        self._records = records

    def request(self, api: Api, version: int, resource_type: int) -> Message:
        """The request of a version."""
        message = definition(api.request)
        kind = message_class(api.request)
        made = self._struct(message, message.fields, kind, version, resource_type)
        if api.name == "ShareGroupHeartbeat":
            made.member_id, made.member_epoch = MEMBER, 0
        elif api.name == "ShareFetch":
            # It begins a session, so there is nothing yet that could be acknowledged.
            made.member_id, made.topics[0].partitions[0].acknowledgement_batches = MEMBER, []
        elif api.name == "ShareAcknowledge":
            made.member_id, made.share_session_epoch = MEMBER, version
        elif api.name == "StreamsGroupHeartbeat" and resource_type == GROUP:
            # Without a topology it is about its group alone.
            made.member_id, made.topology = MEMBER, None
        return made

    def _struct(
        self,
        message: MessageDefinition,
        fields: Sequence[FieldDefinition],
        kind: Any,  # noqa: ANN401 - a message's class
        version: int,
        resource_type: int,
    ) -> Message:
        values: dict[str, object] = {}
        for field in fields:
            if version not in version_range(field.versions) or field.tag is not None:
                continue
            inner = message.struct_fields(field)
            if inner is not None:
                part = getattr(message_class(message.name), field.element or field.type)
                made = self._struct(message, inner, part, version, resource_type)
                values[field.attribute] = [made] if field.element else made
            else:
                value = self._value(field, resource_type)
                if value is not None:
                    values[field.attribute] = value
        return kind(**values)

    def _value(self, field: FieldDefinition, resource_type: int) -> object:
        if field.name in NUMBERS:
            return NUMBERS[field.name]
        if field.name == "ResourceType":
            return resource_type
        if field.type == "uuid":
            return self._topic_id if field.name == "TopicId" else None
        named = field.entity in ("topicName", "groupId", "transactionalId")
        if named or field.name in ("Key", "CoordinatorKeys", "ResourceName"):
            return [self._name] if field.element else self._name
        if field.type == "records":
            return self._records
        return [0] if field.element == "int32" else None


class RawClient:
    """A connection that sends a frame and reads the answer to it."""

    def __init__(self, servers: str) -> None:
        host, port = servers.rsplit(":", 1)
        self._address = host, int(port)
        self._socket: socket.socket | None = None

    def ask(self, api: Api, version: int, message: Struct) -> bytes | None:
        """The body of the response; None if the connection is closed or says nothing."""
        if self._socket is None:
            self._socket = socket.create_connection(self._address, 10)
        self._socket.settimeout(10)
        try:
            self._socket.sendall(request_frame(api, version, 7, "client", message))
            size = struct.unpack(">i", self._exactly(4))[0]
            return self._exactly(size)[4 + response_tags(api, version) :]
        except OSError:
            self.close()
            return None

    def value(self, api: Api, version: int, message: Struct) -> Message | None:
        """The response as a value."""
        body = self.ask(api, version, message)
        return None if body is None else read(message_class(api.response), version, body)

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exactly(self, size: int) -> bytes:
        assert self._socket is not None
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data


def told(value: object, change: Callable[[object], object]) -> object:
    """A response as plain values, without what a broker makes up, each value changed."""
    if isinstance(value, Struct):
        fields = structs.asdict(value)
        return {name: told(each, change) for name, each in fields.items() if name not in RANDOM}
    if isinstance(value, list | tuple):
        return sorted((told(each, change) for each in value), key=repr)
    return change(value)


def used(announced: Mapping[int, range], known: Mapping[int, Api]) -> Iterator[tuple[Api, int]]:
    """Each API with each version that is announced and known here."""
    for key, versions in announced.items():
        for version in known[key].versions:
            if version in versions:
                yield known[key], version
