"""Registers the declared brokers of a cluster when it boots."""

from collections.abc import Iterable, Sequence

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)
from kgitops.model.cluster_state import Broker
from kgitops.model.errors import UsageError

DEFAULT_BROKERS = 3


def broker_list(declared: int | Sequence[Broker] | None) -> tuple[Broker, ...]:
    """The brokers of a declaration: a count stands for the ids from 1 on.

    Raises:
        UsageError: there are none, or an id is given twice.
    """
    if declared is None:
        declared = DEFAULT_BROKERS
    if isinstance(declared, int):
        declared = tuple(Broker(id=number) for number in range(1, declared + 1))
    ids = [broker.id for broker in declared]
    if not ids:
        raise UsageError("an embedded cluster needs at least one broker; give brokers: 1 or more")
    for broker in ids:
        if broker < 0:
            raise UsageError(f"the broker id {broker} is negative; give ids from 0 on")
        if ids.count(broker) > 1:
            raise UsageError(f"the broker id {broker} is given twice; give each broker its own id")
    return tuple(sorted(declared, key=lambda broker: broker.id))


def register_brokers(draft: Draft, declared: int | Sequence[Broker] | None, name: str) -> None:
    """Register the declared brokers that are new, or in another rack than before.

    Raises:
        UsageError: an existing broker is not declared any more.
    """
    if declared is None:
        return
    brokers = broker_list(declared)
    held = {broker.id: broker for broker in draft.delta.brokers.all()}
    dropped = held.keys() - {broker.id for broker in brokers}
    if dropped:
        raise UsageError(
            f"the embedded cluster {name} has the brokers {_ids(held)}, but only "
            f"{_ids(broker.id for broker in brokers)} are declared; a broker can't be dropped: "
            f"declare {_ids(sorted(dropped))} too, or use another store"
        )
    for broker in brokers:
        there = held.get(broker.id)
        # A mere count says nothing about racks.
        moved = not isinstance(declared, int) and there is not None and there.rack != broker.rack
        if there is None or moved:
            draft.write(RegisterBrokerRecord(id=broker.id, rack=broker.rack))


def fence_brokers(draft: Draft, brokers: frozenset[int]) -> None:
    """Make exactly these brokers dead to clients."""
    for broker in draft.delta.brokers.all():
        if broker.fenced != (broker.id in brokers):
            draft.write(BrokerRegistrationChangeRecord(id=broker.id, fenced=not broker.fenced))


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids))
