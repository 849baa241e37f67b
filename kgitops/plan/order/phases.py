"""The phase of a change in a plan: first creations, then grants, then deletions.

For virtual clusters the phases are those of KIP-1134's migration: links before the rights on them,
members last, and all deletions in the reverse order (VC-090, VC-400, VC-403).
"""

from enum import IntEnum, auto

from kgitops.model.requests import AclRequest, DeleteAclRequest
from kgitops.model.resources.acls import CLUSTER_NAME, PermissionType, ResourceType
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
    deletes = Action.DELETE in change.actions
    match change.kind:
        case Kind.BROKER:
            return Phase.TOPIC
        case Kind.TOPIC:
            return _topic(change)
        case Kind.QUOTA:
            return _quota(change)
        case Kind.USER:
            return _either(change, Phase.USER, Phase.USER_REMOVE)
        case Kind.ACL:
            if deletes and _is_migrated(change):
                return Phase.MIGRATED
            if deletes:
                return Phase.DENY_LIFT if _denies(change) else Phase.REVOKE
            return Phase.DENY if _denies(change) else Phase.ALLOW
        case Kind.VIRTUAL_CLUSTER:
            return _either(change, Phase.VIRTUAL_CLUSTER, Phase.VIRTUAL_CLUSTER_DELETE)
        case Kind.LINK:
            return _either(change, Phase.LINK, Phase.LINK_REMOVE)
        case Kind.GROUP:
            return _either(change, Phase.GROUP, Phase.GROUP_REMOVE)
        case Kind.CLIENT_METRICS | Kind.BROKER_CONFIG:
            return _either(change, Phase.QUOTA, Phase.QUOTA_REMOVE)
        case Kind.BINDING:
            scoped = split_scoped_address(change.address)
            if scoped and scoped.segment == "txn":
                return _either(change, Phase.GROUP, Phase.GROUP_REMOVE)
            return _either(change, Phase.BIND, Phase.UNBIND)


def order_key(change: Change) -> PhaseKey:
    """Return the sort key: the phase, global before local, virtual cluster, kind, key (VC-400)."""
    of_binding = _acl_key(change) if change.kind is Kind.ACL else None
    if of_binding:
        return (phase(change), 1, *of_binding)
    scoped = split_scoped_address(change.address)
    if scoped:
        return (phase(change), 1, scoped.virtual_cluster, scoped.segment, scoped.tail)
    return (phase(change), 0, change.address)


def _topic(change: Change) -> Phase:
    if Action.DELETE in change.actions:
        return Phase.TOPIC_DELETE
    if Action.FORGET in change.actions and split_scoped_address(change.address):
        # A topic of a virtual cluster that is forgotten is unlinked (contract, Removal).
        return Phase.LINK_REMOVE if change.requests else Phase.HANDED_OVER
    return Phase.TOPIC_CREATE if Action.CREATE in change.actions else Phase.TOPIC


def _quota(change: Change) -> Phase:
    removes = Action.DELETE in change.actions
    if split_scoped_address(change.address):
        return Phase.VIRTUAL_CLUSTER_QUOTA_REMOVE if removes else Phase.VIRTUAL_CLUSTER_QUOTA
    if change.address.startswith("quota/virtual-cluster="):
        return Phase.CAP_REMOVE if removes else Phase.CAP
    return Phase.QUOTA_REMOVE if removes else Phase.QUOTA


def _either(change: Change, makes: Phase, breaks: Phase) -> Phase:
    if Action.DELETE in change.actions:
        return breaks
    return Phase.HANDED_OVER if Action.FORGET in change.actions else makes


def _denies(change: Change) -> bool:
    """Return whether it is about a Deny, of which there may be nothing to show but its removal."""
    for planned in change.requests:
        if isinstance(planned.request, AclRequest):
            return planned.request.binding.permission_type is PermissionType.DENY
    view = change.after or change.before
    return view is not None and view["permission"] == PermissionType.DENY


def _is_migrated(change: Change) -> bool:
    return any(
        isinstance(planned.request, DeleteAclRequest) and planned.request.migrated_to
        for planned in change.requests
    )


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
