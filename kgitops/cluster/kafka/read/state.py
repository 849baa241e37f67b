"""Reading the state of a Kafka cluster in few, large requests."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.kafka.read.acls import AclListing, acls_of, acls_request
from kgitops.cluster.kafka.read.brokers import (
    brokers_of,
    brokers_request,
    defaults_of,
    isolation_of,
    throttles_of,
)
from kgitops.cluster.kafka.read.quotas import QuotaListing, quotas_of, quotas_request
from kgitops.cluster.kafka.read.rounds import (
    ROUNDS,
    ConsistentTopics,
    list_topics,
    read_topics,
    unstable_read_error,
)
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.refusals import MissingRightsError, of_all_topics, read_all
from kgitops.model import clock
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.garbage_collection import without_garbage_collection
from kgitops.model.registry import RegistryState
from kgitops.model.resources.addresses import topic_address
from kgitops.model.resources.topics import TopicState

BACKEND = "kafka"
_LINK = "link/"


def read_state(
    wire: Wire, registry: KafkaRegistryLog, topics: frozenset[str] | None = None
) -> ClusterState:
    """Read the cluster; ``topics`` narrows which topics are read.

    Raises:
        UnreachableError: it can't be read, or the principal may not read what a plan needs.
        SafetyError: its registry can't be trusted.
    """
    captured_at = clock.to_text(datetime.now(UTC))
    names = None if topics is None else sorted(topics)
    with without_garbage_collection(), ThreadPoolExecutor(max_workers=2) as pool:
        for _ in range(ROUNDS):
            registered = pool.submit(registry.read_state)
            others = pool.submit(_read_other_objects, wire)
            try:
                topics_read, managed, other_objects = read_all(
                    lambda: read_topics(wire, names), registered.result, others.result
                )
            except MissingRightsError as error:
                raise of_all_topics(error) if names is None else error from None
            if names is None and _is_hidden_or_new(wire, managed, topics_read):
                continue
            return _state(captured_at, topics_read, other_objects, managed)
    raise unstable_read_error()


class _OtherObjects(Struct, frozen=True, kw_only=True):
    """The objects of a cluster other than topics."""

    brokers: tuple[Broker, ...]
    acls: AclListing
    quotas: QuotaListing


def _read_other_objects(wire: Wire) -> _OtherObjects:
    requests = [acls_request(), quotas_request(), brokers_request()]
    acls, quotas, brokers = wire.send_all(requests, lambda answer: answer)
    listed, by_entity, known = read_all(
        lambda: acls_of(wire, requests[0], acls),
        lambda: quotas_of(wire, requests[1], quotas),
        lambda: brokers_of(wire, requests[2], brokers),
    )
    return _OtherObjects(acls=listed, quotas=by_entity, brokers=known)


def _is_hidden_or_new(
    wire: Wire, registry: RegistryState | None, topics_read: ConsistentTopics
) -> bool:
    """Return whether a managed or linked topic that is missing from the list exists after all.

    A list of all topics silently omits those that the principal may not describe. So a managed
    topic, or one that a virtual cluster's link leads to, counts as gone only after it was asked for
    by name, where a refusal is an error. A topic that is found that way was created after the
    others were listed.
    """
    owners = registry.owners if registry else {}
    names = {
        name
        for address, owner in owners.items()
        if not owner.spent
        and (name := str(owner.last_applied.get("name"))) not in topics_read.listed
        and address == topic_address(name)
    }
    links = registry.virtual_clusters.items() if registry else ()
    names |= {str(link["topic"]) for key, link in links if key.startswith(_LINK)}
    names -= topics_read.listed.keys()
    return bool(names and list_topics(wire, sorted(names)).topics)


def _state(
    captured_at: str,
    topics_read: ConsistentTopics,
    others: _OtherObjects,
    registry: RegistryState | None,
) -> ClusterState:
    topics = {name: _topic(name, topics_read) for name in topics_read.listed}
    return ClusterState(
        cluster_id=topics_read.cluster_id,
        backend=BACKEND,
        brokers=tuple(
            replace(broker, throttles=throttles_of(topics_read.settings[broker.id]))
            if broker.id in topics_read.settings
            else broker
            for broker in others.brokers
        ),
        topics=topics,
        acls=others.acls.bindings,
        quotas=others.quotas.by_entity,
        moving={
            name: tuple(sorted(moves))
            for name, moves in sorted(topics_read.moves.items())
            if name in topics
        },
        broker_defaults=defaults_of(topics_read.settings[min(topics_read.settings)]),
        settings=isolation_of(
            topics_read.settings[broker] for broker in sorted(topics_read.settings)
        ),
        has_authorizer=others.acls.enforced,
        registry=registry,
        not_checked=(*others.acls.not_checked, *others.quotas.not_checked),
        captured_at=captured_at,
    )


def _topic(name: str, topics_read: ConsistentTopics) -> TopicState:
    listed, moves = topics_read.listed[name], topics_read.moves.get(name)
    assignment = listed.assignment
    if moves:
        assignment = tuple(
            moves[partition].target if partition in moves else replicas
            for partition, replicas in enumerate(assignment)
        )
    return TopicState(
        name=name,
        topic_id=listed.topic_id,
        assignment=assignment,
        configs=topics_read.configs[name],
        reassigning=bool(moves),
    )
