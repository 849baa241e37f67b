"""Appending a batch to the registry's topic as one contender among others, atomically."""

import time
from collections.abc import Mapping, Sequence

from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder
from msgspec import Struct

from kgitops.cluster.kafka.registry.topic import RegistryTopic, check_authorized, error_text
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.results import ErrorCode

Entries = Sequence[tuple[str, Mapping[str, Json] | None]]

NOT_ENOUGH_REPLICAS = 19
_BATCH_BYTES = 1 << 20
_ALL = -1
_RETRY_S = 15.0
# Errors after which nothing was appended, and a retry or another leader may succeed.
_AGAIN = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        NOT_ENOUGH_REPLICAS,
    }
)


class AppendResult(Struct, frozen=True, kw_only=True):
    """The last entry's offset, and the timestamp that the log gave it.

    ``sent_at`` is the reading of ``lease.ticks``, in seconds, before it was sent.
    """

    offset: int
    timestamp_ms: int
    sent_at: float


class NotLeaderError(Exception):
    """Nothing was appended: this broker does not lead the partition."""


def message(key: str, value: Mapping[str, Json] | None) -> tuple[bytes, bytes | None]:
    """Encode key and value as they are stored in the topic."""
    return key.encode(errors="surrogateescape"), None if value is None else canonical_json(value)


def append_batch(
    wire: Wire, topic: RegistryTopic, entries: Entries, sent_at: float
) -> AppendResult:
    """Append the entries as one batch, which Kafka accepts as a whole or not at all; sent once.

    Raises:
        NotLeaderError: nothing was appended; find the leader again, then retry.
        UnreachableError: no answer, so what happened is unknown; or the cluster refuses.
        ValueError: they don't fit into one batch; only the fencing writer appends so much.
    """
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=_BATCH_BYTES)
    for key, value in entries:
        if builder.append(int(time.time() * 1000), *message(key, value)) is None:
            raise ValueError(f"{len(entries)} records are more than a contender may append at once")
    builder.close()
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(
        index=0, records=builder.buffer()
    )
    request = ProduceRequest(
        transactional_id=None,
        acks=_ALL,
        timeout_ms=int(_RETRY_S * 1000),
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=REGISTRY_TOPIC, topic_id=topic.topic_id, partition_data=[partition]
            )
        ],
    )
    reply = wire.send(request, to=topic.leader).responses[0].partition_responses[0]
    if reply.error_code in _AGAIN:
        raise NotLeaderError(error_text(reply.error_code))
    check_authorized(wire.principal, reply.error_code, "Produce")
    if reply.error_code:
        raise UnreachableError(
            f"the registry {REGISTRY_TOPIC} can't be written: "
            f"{error_text(reply.error_code, reply.error_message)}; try again"
        )
    return AppendResult(
        offset=reply.base_offset + len(entries) - 1,
        timestamp_ms=reply.log_append_time_ms,
        sent_at=sent_at,
    )
