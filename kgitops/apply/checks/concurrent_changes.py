"""What others have done since a plan was made that would stop it half-way: it is not begun then."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import StaleError
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType, EntityType
from kgitops.plan.document.plan import Change, Plan


def check_strangers(plan: Plan, changes: Sequence[Change], state: ClusterState) -> None:
    """Nothing is in the way of ``changes`` that the plan does not remove itself.

    Brokers would refuse to delete a virtual cluster that somebody was bound to meanwhile, or a
    topic that was linked to, but only when all else that the plan removes is gone (VC-413).

    Raises:
        StaleError: something is; object and field are named.
    """
    leaving = frozenset(_leaving(_requests(plan.changes)))
    places = _Places(state)
    problem = next(
        (
            f"{change.address}: {found}"
            for change in changes
            for found in _in_the_way(_requests([change]), leaving, places)
        ),
        None,
    )
    if problem:
        raise StaleError(f"{problem}; make a new plan")


def _requests(changes: Iterable[Change]) -> Iterator[Request]:
    return (planned.request for change in changes for planned in change.requests)


def _leaving(requests: Iterable[Request]) -> Iterator[str]:
    """The addresses of what the plan takes away from where it is."""
    for request in requests:
        if not isinstance(request, AlterVirtualClusterRequest):
            continue
        entity_type, name = request.entity_type, request.entity_name
        if entity_type is None or name is None:
            continue
        if request.change is ChangeType.REMOVE or request.replaces is not None:
            yield member_address(request.virtual_cluster, entity_type, name)
        if request.moved_from is not None:
            yield member_address(request.moved_from, entity_type, name)


class _Places:
    """Where everything of virtual clusters is, looked up only where a plan asks."""

    def __init__(self, state: ClusterState) -> None:
        self._found = state.virtual_clusters

    @cached_property
    def links_to(self) -> Mapping[str, Sequence[str]]:
        """The addresses of the links to each physical topic."""
        links: defaultdict[str, list[str]] = defaultdict(list)
        for found in self._found.values():
            for link in found.links.values():
                address = member_address(found.name, EntityType.TOPIC, link.name)
                links[link.topic].append(address)
        return links

    @cached_property
    def bound(self) -> Mapping[tuple[EntityType, str], str]:
        """The virtual cluster of each user and client id."""
        return {
            (entity_type, member): found.name
            for found in self._found.values()
            for entity_type in EXCLUSIVE
            for member in found.members(entity_type)
        }

    def members_of(self, name: str) -> Iterator[str]:
        """The addresses of all that is in a virtual cluster."""
        if name in self._found:
            for entity_type in EntityType:
                for member in sorted(self._found[name].members(entity_type)):
                    yield member_address(name, entity_type, member)


def _in_the_way(
    requests: Iterable[Request], leaving: frozenset[str], places: _Places
) -> Iterator[str]:
    for request in requests:
        match request:
            case DeleteTopicRequest(topic=topic):
                others = (it for it in places.links_to.get(topic, ()) if it not in leaving)
                yield from (f"its links were no others and are {it} as well" for it in others)
            case DeleteVirtualClusterRequest(virtual_cluster=name):
                others = (it for it in places.members_of(name) if it not in leaving)
                yield from (f"what is in it was nothing else and is {it} as well" for it in others)
            case AlterVirtualClusterRequest(
                change=ChangeType.ADD, entity_type=EntityType() as entity_type, moved_from=None
            ) if entity_type in EXCLUSIVE:
                at = places.bound.get((entity_type, request.entity_name or ""))
                if at not in (None, request.virtual_cluster):
                    yield f"the virtual cluster that it is in was none and is {at}"
            case _:
                pass
