"""Requests about topics, and what tests look at in their answers."""

from collections.abc import Mapping, Sequence

from serve.raw_client import RawClient

from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message


def new_topic(
    name: str = "orders",
    partitions: int = 2,
    replication_factor: int = 3,
    *,
    assignments: Sequence[tuple[int, Sequence[int]]] = (),
    configs: Mapping[str, str | None] | None = None,
) -> Message:
    """A row of CreateTopics."""
    request = messages.CreateTopicsRequest
    return request.CreatableTopic(
        name=name,
        num_partitions=-1 if assignments else partitions,
        replication_factor=-1 if assignments else replication_factor,
        assignments=[
            request.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(replicas))
            for partition, replicas in assignments
        ],
        configs=[
            request.CreatableTopicConfig(name=key, value=value)
            for key, value in (configs or {}).items()
        ],
    )


def creating(*topics: str | Message, timeout_ms: int = 60_000, **fields: object) -> Message:
    """A CreateTopics; of a topic that has only a name, with one partition and replica."""
    rows = [new_topic(topic, 1, 1) if isinstance(topic, str) else topic for topic in topics]
    return messages.CreateTopicsRequest(topics=rows, timeout_ms=timeout_ms, **fields)


def create(
    client: RawClient, *topics: str | Message, version: int = 7, **fields: object
) -> list[Message]:
    """Create topics, of two partitions if nothing is said; the rows of the answer."""
    rows = [new_topic(topic) if isinstance(topic, str) else topic for topic in topics]
    return list(client.ask("CreateTopics", version, creating(*rows, **fields)).topics)


def created(
    client: RawClient, *names: str, version: int = 7, **fields: object
) -> dict[str | None, int]:
    """Create topics of one partition; their error codes."""
    return codes(client.ask("CreateTopics", version, creating(*names, **fields)).topics)


def delete(
    client: RawClient,
    *topics: str | bytes | tuple[str | None, bytes],
    version: int = 6,
    timeout_ms: int = 10_000,
) -> list[Message]:
    """Send DeleteTopics with names, ids, or both; its rows."""
    request = messages.DeleteTopicsRequest(timeout_ms=timeout_ms)
    if version < 6:
        request.topic_names = list(topics)
    else:
        request.topics = [request.__class__.DeleteTopicState(*_named(topic)) for topic in topics]
    return list(client.ask("DeleteTopics", version, request).responses)


def metadata(client: RawClient, *names: str | None, version: int = 13, **how: object) -> Message:
    """Send Metadata for topics of these names; one None asks for all."""
    request = messages.MetadataRequest
    topics = None if names == (None,) else [request.MetadataRequestTopic(name=n) for n in names]
    if version >= 4:
        how.setdefault("allow_auto_topic_creation", False)
    return client.ask("Metadata", version, request(topics=topics, **how))


def seen(client: RawClient, name: str, *, creates: bool = False) -> int:
    """The error that Metadata has for a topic, which it may have created."""
    (row,) = metadata(client, name, allow_auto_topic_creation=creates).topics
    code: int = row.error_code
    return code


def codes(rows: Sequence[Message]) -> dict[str | None, int]:
    """Error codes by name."""
    return {row.name: row.error_code for row in rows}


def _named(topic: str | bytes | tuple[str | None, bytes]) -> tuple[str | None, bytes]:
    match topic:
        case str():
            return topic, NIL_UUID
        case bytes():
            return None, topic
        case _:
            return topic
