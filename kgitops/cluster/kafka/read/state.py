"""What a real cluster holds, read in few, large requests."""

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kgitops.cluster.kafka.read.acls import Acls, acls_of, acls_request
from kgitops.cluster.kafka.read.brokers import (
    brokers_of,
    brokers_request,
    defaults_of,
    isolation_of,
    throttles_of,
)
from kgitops.cluster.kafka.read.quotas import Quotas, quotas_of, quotas_request
from kgitops.cluster.kafka.read.rounds import ROUNDS, Topics, list_topics, read_topics, too_lively
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model import clock
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.registry import RegistryState
from kgitops.model.resources.addresses import topic_address
from kgitops.model.resources.topics import TopicState

BACKEND = "kafka"


def read_state(
    wire: Wire, registry: KafkaRegistryLog, topics: frozenset[str] | None = None
) -> ClusterState:
    """The cluster now; ``topics`` narrows which topics are read.

    Raises:
        UnreachableError: it can't be read, or the principal may not read what a diff needs.
        SafetyError: its registry can't be trusted.
    """
    captured_at = clock.to_text(datetime.now(UTC))
    names = None if topics is None else sorted(topics)
    with _no_garbage(), ThreadPoolExecutor(max_workers=2) as beside:
        for _ in range(ROUNDS):
            registered = beside.submit(registry.read_state)
            around = beside.submit(_read_around, wire)
            found = read_topics(wire, names)
            managed = registered.result()
            if names is None and _is_hidden_or_new(wire, managed, found):
                continue
            return _state(captured_at, found, around.result(), managed)
    raise too_lively()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What there is beside topics."""

    brokers: tuple[Broker, ...]
    acls: Acls
    quotas: Quotas


def _read_around(wire: Wire) -> _Around:
    requests = [acls_request(), quotas_request(), brokers_request()]
    acls, quotas, brokers = wire.send_all(requests, lambda answer: answer)
    return _Around(
        acls=acls_of(wire, requests[0], acls),
        quotas=quotas_of(wire, requests[1], quotas),
        brokers=brokers_of(wire, requests[2], brokers),
    )


def _is_hidden_or_new(wire: Wire, registry: RegistryState | None, found: Topics) -> bool:
    """Whether a managed topic that is not in the list exists all the same.

    A list of all topics silently leaves out what the principal may not describe, so nothing that
    is managed counts as gone before it was asked for by name: then a refusal is an error. One that
    shows itself was made after the others were listed.
    """
    owners = registry.owners if registry else {}
    names = {
        name
        for address, owner in owners.items()
        if not owner.spent
        and (name := str(owner.last_applied.get("name"))) not in found.listed
        and address == topic_address(name)
    }
    return bool(names and list_topics(wire, sorted(names)).topics)


def _state(
    captured_at: str, found: Topics, around: _Around, registry: RegistryState | None
) -> ClusterState:
    topics = {name: _topic(name, found) for name in found.listed}
    return ClusterState(
        cluster_id=found.cluster_id,
        backend=BACKEND,
        brokers=tuple(
            replace(broker, throttles=throttles_of(found.settings[broker.id]))
            if broker.id in found.settings
            else broker
            for broker in around.brokers
        ),
        topics=topics,
        acls=around.acls.bindings,
        quotas=around.quotas.by_entity,
        moving={
            name: tuple(sorted(moves))
            for name, moves in sorted(found.moves.items())
            if name in topics
        },
        broker_defaults=defaults_of(found.settings[min(found.settings)]),
        settings=isolation_of(found.settings[broker] for broker in sorted(found.settings)),
        has_authorizer=around.acls.enforced,
        registry=registry,
        not_checked=(*around.acls.not_checked, *around.quotas.not_checked),
        captured_at=captured_at,
    )


def _topic(name: str, found: Topics) -> TopicState:
    listed, moves = found.listed[name], found.moves.get(name)
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
        configs=found.configs[name],
        reassigning=bool(moves),
    )


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Nothing of what is read is a cycle: looking for some costs more than all the rest."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
