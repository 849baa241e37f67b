"""The phase of a change in a plan: first creations, then grants, then deletions.

For virtual clusters the phases are those of KIP-1134's migration: links before the rights on them,
members last, and all deletions in the reverse order (VC-090, VC-400, VC-403).
"""

from enum import IntEnum, auto

from kgitops.manifests.kind_models import class_of
from kgitops.model.requests import AclRequest
from kgitops.model.resources.acls import CLUSTER_NAME, ResourceType
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.model.resources.kinds import Kind
from kgitops.plan.document.plan import Action, Change

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
    """Return the phase of a change."""
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
