"""The rules for what leaves: by the last applied deletionPolicy or by a Tombstone, no more."""

from collections.abc import Sequence
from dataclasses import replace

from kgitops.desired.state import DeletionPolicy
from kgitops.model.registry import Owner
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.document.plan import Action, Change, Kind
from kgitops.plan.ownership import removal_policy

_REMOVES = AlterVirtualClusterRequest(virtual_cluster="", change=ChangeType.REMOVE)


def may_leave(owner: Owner, tombstone: str | None) -> bool:
    """True if the object may leave its project at all; the plan spends the ``tombstone`` on it."""
    return bool(tombstone) or removal_policy(owner) is not DeletionPolicy.PROTECT


def only_removes(change: Change, live: Owner | None) -> bool:
    """True if its requests take this object away, or its name, and do nothing else.

    Of a quota only keys go that were last applied: ``live`` is the record of it.
    """
    requests = [planned.request for planned in change.requests]
    if Action.FORGET in change.actions:
        # The name of a topic goes; the topic stays.
        return not requests or (change.kind is Kind.TOPIC and _is_one(requests, EntityType.TOPIC))
    match change.kind:
        case Kind.TOPIC:
            return len(requests) == 1 and isinstance(requests[0], DeleteTopicRequest)
        case Kind.ACL:
            return len(requests) == 1 and isinstance(requests[0], DeleteAclRequest)
        case Kind.QUOTA:
            return len(requests) == 1 and _takes_keys(requests[0], live)
        case Kind.VIRTUAL_CLUSTER:
            return len(requests) == 1 and isinstance(requests[0], DeleteVirtualClusterRequest)
        case Kind.GROUP:
            left = [it for it in requests if not isinstance(it, DeleteGroupRequest)]
            return len(requests) <= 2 and _is_one(left, EntityType.GROUP)
        case Kind.LINK | Kind.BINDING:
            return _is_one(requests, None)
        case Kind.BROKER:
            return False


def has_right(request: Request, change: Change, live: Owner, tombstone: str | None) -> bool:
    """True if what was last applied, or a Tombstone, lets this request take something away."""
    last = live.last_applied
    policy = DeletionPolicy.DELETE if tombstone else removal_policy(live)
    written = bool(tombstone) or bool(last["deletionPolicyWritten"])
    orphan = policy is DeletionPolicy.ORPHAN
    if isinstance(request, DeleteGroupRequest):
        return policy is DeletionPolicy.DELETE and written
    if isinstance(request, AlterVirtualClusterRequest) and orphan:
        # Orphan keeps a topic's records and a group's offsets, and gives up the name.
        group = change.kind is Kind.GROUP and not live.adopted
        return group or (change.kind is Kind.TOPIC and written)
    return policy is DeletionPolicy.DELETE


def _is_one(requests: Sequence[Request], entity_type: EntityType | None) -> bool:
    """One removal out of a virtual cluster, of this type if one is named."""
    (request,) = requests if len(requests) == 1 else (None,)
    if not isinstance(request, AlterVirtualClusterRequest):
        return False
    plain = replace(request, virtual_cluster="", entity_type=None, entity_name=None)
    return plain == _REMOVES and entity_type in (None, request.entity_type)


def _takes_keys(request: Request, live: Owner | None) -> bool:
    known = live.last_applied.get("quotas", {}) if live else {}
    if not isinstance(request, AlterClientQuotaRequest) or not request.quotas:
        return False
    return all(value is None and key in known for key, value in request.quotas.items())
