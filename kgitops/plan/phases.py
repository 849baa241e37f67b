"""The phase of a change in a plan: first creations, then grants, then deletions.

For virtual clusters the phases are those of KIP-1134's migration: links before the rights on them,
members last, and all deletions in the reverse order (VC-090, VC-400, VC-403).

Waves are what is judged, and sent, together.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum, auto
from typing import TypeVar

from kgitops.manifests.kind_models import class_of
from kgitops.model import requests as req
from kgitops.model.requests import AclRequest
from kgitops.model.resources.acls import CLUSTER_NAME, ResourceType
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.virtual_clusters import ChangeType
from kgitops.plan.document.plan import Action, Change, PlannedRequest

PhaseKey = tuple[int | str, ...]


class Phase(IntEnum):
    """The phases in their order; U10 … D170 are their names in KIP-1134's rules."""

    HANDED_OVER = auto()
    """Registry only: an object that moves to another address leaves its old one first."""
    VIRTUAL_CLUSTER = auto()  # U10
    TOPIC_CREATE = auto()  # U20
    TOPIC = auto()
    LINK = auto()  # U30
    GROUP = auto()  # U40
    QUOTA = auto()
    DENY = auto()  # U50
    ALLOW = auto()
    CAP = auto()  # U60
    VIRTUAL_CLUSTER_QUOTA = auto()
    BIND = auto()  # U70
    MIGRATED = auto()  # U80
    USER = auto()
    USER_REMOVE = auto()
    UNBIND = auto()  # D110
    REVOKE = auto()  # D120
    DENY_LIFT = auto()
    VIRTUAL_CLUSTER_QUOTA_REMOVE = auto()  # D130
    CAP_REMOVE = auto()
    QUOTA_REMOVE = auto()
    GROUP_REMOVE = auto()  # D140
    LINK_REMOVE = auto()  # D150
    TOPIC_DELETE = auto()  # D160
    VIRTUAL_CLUSTER_DELETE = auto()  # D170


def phase(change: Change) -> Phase:
    return class_of(change.address).phase(change)


def order_key(change: Change) -> PhaseKey:
    """Return the sort key: the phase, global before local, virtual cluster, kind, key (VC-400)."""
    of_binding = _acl_key(change) if change.kind is Kind.ACL else None
    if of_binding:
        return (phase(change), 1, *of_binding)
    scoped = split_scoped_address(change.address)
    if scoped:
        return (phase(change), 1, scoped.virtual_cluster, scoped.segment, scoped.tail)
    return (phase(change), 0, change.address)


def either(change: Change, makes: Phase, breaks: Phase) -> Phase:
    """Return the phase of what comes or changes, or of a removal."""
    if Action.DELETE in change.actions:
        return breaks
    return Phase.HANDED_OVER if Action.FORGET in change.actions else makes


def _acl_key(change: Change) -> tuple[str, ...] | None:
    """Return the key of a binding that concerns virtual clusters; None for any other."""
    for planned in change.requests:
        if isinstance(planned.request, AclRequest):
            acl = planned.request.binding
            names_one = acl.resource_type is ResourceType.CLUSTER
            names_one = names_one and acl.resource_name != CLUSTER_NAME
            if not (acl.scoped or names_one):
                return None
            return (
                acl.resource_name if names_one else acl.virtual_cluster,
                acl.resource_type,
                acl.resource_name,
                acl.pattern_type,
                acl.principal,
                acl.operation,
                change.address,
            )
    return None


T = TypeVar("T")
WireKind = tuple[str, ...]


def in_waves(requests: Sequence[PlannedRequest]) -> list[PlannedRequest]:
    """Sort the requests as they are carried out: each after all that it depends on.

    Dependencies that are not among the requests count as done.
    """
    return [planned for group in in_groups(requests) for planned in group]


def in_groups(requests: Sequence[PlannedRequest]) -> list[list[PlannedRequest]]:
    """Sort the requests into groups, each of which could be one wire request."""
    ids = {planned.id for planned in requests}
    done: set[str] = set()
    ordered: list[list[PlannedRequest]] = []
    waiting = list(requests)
    while waiting:
        ready = [
            p for p in waiting if all(name in done or name not in ids for name in p.depends_on)
        ]
        ready = ready or waiting  # a cycle: an apply refuses it, but policies judge all requests
        ordered += by_wire_kind(ready, lambda planned: wire_kind(planned.request))
        done |= {planned.id for planned in ready}
        waiting = [planned for planned in waiting if planned.id not in done]
    return ordered


def by_wire_kind(items: Iterable[T], kind_of: Callable[[T], WireKind]) -> list[list[T]]:
    """Group the items of one wave by the wire request that can hold them.

    Deletions come last, so that replacements exist before anything is deleted.
    """
    groups: dict[WireKind, list[T]] = {}
    for item in items:
        groups.setdefault(kind_of(item), []).append(item)
    return [groups[kind] for kind in sorted(groups, key=_breaks)]


def _breaks(kind: WireKind) -> bool:
    return kind[0].startswith("Delete") or ChangeType.REMOVE in kind


def wire_kind(request: req.Request) -> WireKind:
    """Return the api, and the step of an alteration: different steps are different requests."""
    if isinstance(request, req.AlterTopicRequest):
        return req.api_name(request), request.step.value
    if isinstance(request, req.AlterVirtualClusterRequest):
        return req.api_name(request), request.change.value
    if isinstance(request, req.AlterUserScramCredentialsRequest):
        change = ChangeType.REMOVE if request.removes else ChangeType.ADD
        return req.api_name(request), change.value
    return (req.api_name(request),)
