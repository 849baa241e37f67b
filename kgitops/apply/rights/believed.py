"""Reads what is believed of a plan: its declarations, and choices that only the moment decides.

Everything else follows from them, on this cluster and by its registry (``rights.replan``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kgitops.apply.objects import find_object
from kgitops.apply.rights.owner_records import new_tombstone, recorded_declaration
from kgitops.desired.last_applied import ORIGIN, RegistrySource
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DesiredMember,
    DesiredObject,
    DesiredTopic,
    Tombstone,
    declared_object,
)
from kgitops.model.resources.addresses import kind_of, topic_address
from kgitops.model.resources.kinds import GLOBAL_GROUP
from kgitops.model.resources.topic_configs import is_throttle, normal_value
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.plan.context import EarlierFacts
from kgitops.plan.document.plan import Change, Plan, PlannedRequest
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.shown_values import requests_of


def declarations(changes: Iterable[Change]) -> Iterator[DesiredObject]:
    """Yield what the changes declare; copies of ACLs follow from their members.

    Raises:
        ValueError: one is not a declaration of its object.
    """
    for change in changes:
        try:
            declared = recorded_declaration(change)
        except ValueError as error:
            raise ValueError(f"{change.address} {error}") from error
        if declared is not None and not _origin(change):
            yield declared


def tombstones(changes: Iterable[Change], ownership: Ownership) -> Iterator[Tombstone]:
    """Yield the Tombstones that the changes execute."""
    for change in changes:
        name = new_tombstone(change, ownership)
        if name is not None:
            yield Tombstone(
                address=change.address,
                name=name,
                reason="",
                located=RegistrySource(change.address),
            )


# Members


def asking_members(
    changes: Iterable[Change], declared: frozenset[str], ownership: Ownership
) -> Iterator[DesiredMember]:
    """Yield this project's members for which old ACLs are deleted, and that do not change.

    The registry keeps no ``removeOldAclsFrom`` of a member that was applied before.
    """
    asked = {
        (request.migrated_to, request.binding.virtual_cluster)
        for change in changes
        for request in requests_of(change)
        if isinstance(request, req.DeleteAclRequest) and request.migrated_to is not None
    }
    for address, source in sorted(asked):
        if address in declared or ownership.status(address) is not OwnershipStatus.MINE:
            continue
        member = _recorded(address, ownership)
        if isinstance(member, DesiredMember):
            yield replace(member, remove_old_acls_from=source)


def copying_members(
    changes: Iterable[Change], declared: frozenset[str], ownership: Ownership
) -> Iterator[DesiredMember]:
    """Yield this project's members that do not change themselves, but copies of whose ACLs do."""
    members = set()
    for change in changes:
        live = ownership.owner(change.address)
        live_origin = live.last_applied.get(ORIGIN) if live else None
        for origin in (live_origin, _origin(change)):
            member = origin.get("member") if isinstance(origin, dict) else None
            if isinstance(member, str):
                members.add(member)
    for address in sorted(members - declared):
        if ownership.status(address) is OwnershipStatus.MINE:
            member = _recorded(address, ownership)
            if isinstance(member, DesiredMember):
                yield member


def _recorded(address: str, ownership: Ownership) -> DesiredObject:
    record = ownership.owners[address].last_applied
    return declared_object(address, record, RegistrySource(address))


def _origin(change: Change) -> object:
    return change.owner_after.last_applied.get(ORIGIN) if change.owner_after else None


# Choices of the moment


def earlier_facts(changes: Iterable[Change], state: ClusterState) -> EarlierFacts:
    """Return the placements, offsets and records that the changes rest on."""
    placements: dict[str, tuple[Assignment, Assignment]] = {}
    offsets: dict[str, Mapping[tuple[str, int], int]] = {}
    records: dict[str, Mapping[int, int]] = {}
    waits: set[str] = set()
    for change in changes:
        requests = requests_of(change)
        placement = _placement(requests, state)
        if placement is not None:
            placements[change.address] = placement
        if kind_of(change.address) == GLOBAL_GROUP:
            offsets[change.address] = {
                (item.topic, partition): offset
                for request in requests
                if isinstance(request, req.AlterConsumerGroupOffsetsRequest)
                for item in request.topics
                for partition, offset in item.offsets.items()
            }
        for request in requests:
            if isinstance(request, req.DeleteRecordsRequest):
                records[change.address] = request.deleted_message_offsets
            if _is_move(request) and placement is not None and placement[0] == placement[1]:
                waits.add(change.address)
    return EarlierFacts(
        placements=placements, offsets=offsets, records=records, waits=frozenset(waits)
    )


def _is_move(request: req.Request) -> bool:
    return isinstance(request, req.AlterTopicRequest) and request.step is req.AlterStep.REPLICAS


def _placement(
    requests: Sequence[req.Request], state: ClusterState
) -> tuple[Assignment, Assignment] | None:
    """Return the assignment with new partitions, and after the moves, that kgitops chose."""
    grown: Assignment | None = None
    final: Assignment | None = None
    for request in requests:
        if isinstance(request, req.CreateTopicRequest):
            grown = final = request.requested_state.assignment
        elif isinstance(request, req.AlterTopicRequest):
            if request.step is req.AlterStep.PARTITIONS:
                grown = request.requested_state.assignment
            elif request.step is req.AlterStep.REPLICAS:
                topic = state.topics.get(request.topic)
                grown = grown or (topic.assignment if topic else ())
                final = request.requested_state.assignment
    return None if grown is None else (grown, final or grown)


def check_sizes(
    objects: Iterable[DesiredObject], earlier: EarlierFacts, state: ClusterState
) -> None:
    """Check that topics have replicas for each partition: nobody is to place a billion of them.

    Raises:
        ValueError: a topic has not.
    """
    for item in objects:
        if isinstance(item, DesiredTopic) and item.assignment is None:
            grown, _ = earlier.placements.get(item.address, ((), ()))
            found = find_object(item.address, state)
            held = found.num_partitions if isinstance(found, TopicState) else 0
            if item.partitions > max(len(grown), held):
                raise ValueError(f"{item.address} has no replicas for {item.partitions} partitions")


def replication_throttle(plan: Plan, state: ClusterState) -> int:
    """Return the rate that the plan gives to brokers while replicas move; 0 for none."""
    changes = [change for change in plan.changes if change.requests]
    rates = [*_rates(changes, state), *_rates(changes, None)]
    if rates:
        return rates[0]
    return int(any(_marks_anew(change, state) for change in changes))


def _rates(changes: Iterable[Change], state: ClusterState | None) -> Iterator[int]:
    """Yield the rates that are set, without those that brokers of ``state`` have already."""
    held = {broker.id: broker.throttles or {} for broker in state.brokers} if state else {}
    for change in changes:
        request = change.requests[0].request if change.requests else None
        if isinstance(request, req.AlterBrokerRequest):
            for key, value in request.configs.items():
                is_rate = value is not None and value.isascii() and value.isdecimal()
                if is_rate and value and key not in held.get(request.broker, {}):
                    yield int(value)


def _marks_anew(change: Change, state: ClusterState) -> bool:
    """Return whether the change marks replicas of a topic as throttled that are not marked yet."""
    for planned in change.requests:
        request = planned.request
        if not isinstance(request, req.AlterTopicRequest) or planned.undoes is not None:
            continue
        asked = request.requested_state.requested_configs
        topic = state.topics.get(request.topic)
        held = topic.configs if topic else {}
        if any(
            is_throttle(key) and value is not None and value != _normal(key, held)
            for key, value in asked.items()
        ):
            return True
    return False


def _normal(key: str, held: Mapping[str, str]) -> str | None:
    return normal_value(key, held[key]) if key in held else None


def taken_over_throttles(
    pending: Iterable[PlannedRequest], changes: Iterable[Change]
) -> tuple[PlannedRequest, ...]:
    """Return those of the requests of unfinished runs that the changes take over.

    A plan made before such a run leaves its throttles to the next plan.
    """
    undoing = {change.address for change in changes if any(it.undoes for it in change.requests)}
    return tuple(planned for planned in pending if _undone(planned.request) in undoing)


def _undone(request: req.Request) -> str | None:
    if isinstance(request, req.AlterTopicRequest) and request.local is None:
        return topic_address(request.topic)
    return req.request_address(request)
