"""Served clusters of any options, and the requests that tests of answers send."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from cluster.clusters import ROOT, admin
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import AuthorizerKind, Compat, Options
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.serve.background import serving
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message


@contextmanager
def served(
    cluster: EmbeddedCluster, broker: int = 0, client_id: str | None = "raw"
) -> Iterator[RawClient]:
    """A connection to a broker of the cluster, by its number in the order of ids."""
    with serving(cluster) as server, raw_client(server.endpoints[broker], client_id) as client:
        yield client


def cluster_of(
    *,
    compat: Compat = Compat.SEED,
    brokers: int | Sequence[Broker] = 3,
    static_configs: Mapping[str, str] | None = None,
    rights: Sequence[AclBinding] | None = None,
) -> EmbeddedCluster:
    """A cluster in memory; with ``rights`` clients have these alone, of User:ANONYMOUS."""
    cluster = boot(
        None,
        brokers=brokers,
        options=Options(
            compat=compat,
            static_configs=static_configs or {},
            authorizer=AuthorizerKind.NONE if rights is None else AuthorizerKind.ACLS,
            super_users=frozenset({ROOT}),
        ),
    )
    assert all(result.ok for result in admin(cluster, ROOT).create_acls(rights or ()))
    return cluster


def new_topic(
    name: str,
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


def create(
    client: RawClient,
    *topics: str | Message,
    version: int = 7,
    timeout_ms: int = 10_000,
    validate_only: bool = False,
) -> list[Message]:
    """Send CreateTopics; its rows."""
    request = messages.CreateTopicsRequest(
        topics=[new_topic(topic) if isinstance(topic, str) else topic for topic in topics],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )
    return list(client.ask("CreateTopics", version, request).topics)


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
