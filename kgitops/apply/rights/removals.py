"""The rules for removals: the last applied deletionPolicy or a Tombstone must allow them."""

from collections.abc import Sequence

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.registry import Owner
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.kinds import GLOBAL_GROUP, Kind
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.plan.document.plan import Action, Change
from kgitops.plan.ownership import removal_policy

_REMOVES = req.AlterVirtualClusterRequest(virtual_cluster="", change=ChangeType.REMOVE)


def may_be_given_up(owner: Owner, tombstone: str | None) -> bool:
    """Return whether the project may give the object up; the plan spends ``tombstone`` on it."""
    return bool(tombstone) or removal_policy(owner) is not DeletionPolicy.PROTECT


def is_only_removal(change: Change, live: Owner | None) -> bool:
    """Return whether the requests only remove this object, or its name, and do nothing else.

    Of a quota only keys, and of a user only mechanisms, that were last applied may be removed:
    ``live`` is the record.
    """
    requests = [planned.request for planned in change.requests]
    if Action.FORGET in change.actions:
        # The name of the topic is removed; the topic stays.
        return not requests or (
            change.kind is Kind.TOPIC and _is_one_removal(requests, EntityType.TOPIC)
        )
    match change.kind:
        case Kind.TOPIC:
            return len(requests) == 1 and isinstance(requests[0], req.DeleteTopicRequest)
        case Kind.ACL:
            return len(requests) == 1 and isinstance(requests[0], req.DeleteAclRequest)
        case Kind.QUOTA:
            return len(requests) == 1 and _removes_only_applied_keys(requests[0], live)
        case Kind.USER:
            return bool(requests) and _removes_only_applied_mechanisms(requests, live)
        case Kind.CLIENT_METRICS | Kind.BROKER_CONFIG:
            return len(requests) == 1 and _removes_only_applied_configs(requests[0], live)
        case Kind.GROUP if kind_of(change.address) == GLOBAL_GROUP:
            return _deletes_only_group(requests, live)
        case Kind.VIRTUAL_CLUSTER:
            return len(requests) == 1 and isinstance(requests[0], req.DeleteVirtualClusterRequest)
        case Kind.GROUP:
            others = [it for it in requests if not isinstance(it, req.DeleteGroupRequest)]
            return len(requests) <= 2 and _is_one_removal(others, EntityType.GROUP)
        case Kind.LINK | Kind.BINDING:
            return _is_one_removal(requests, None)
        case Kind.BROKER:
            return False


def may_remove(request: req.Request, change: Change, live: Owner, tombstone: str | None) -> bool:
    """Return whether the last applied declaration or a Tombstone allows the request to remove."""
    last = live.last_applied
    policy = DeletionPolicy.DELETE if tombstone else removal_policy(live)
    written = bool(tombstone) or bool(last["deletionPolicyWritten"])
    orphan = policy is DeletionPolicy.ORPHAN
    if isinstance(request, req.DeleteGroupRequest):
        return policy is DeletionPolicy.DELETE and written
    if isinstance(request, req.AlterVirtualClusterRequest) and orphan:
        # Orphan keeps a topic's records and a group's offsets, and gives up the name.
        group = change.kind is Kind.GROUP and not live.adopted
        return group or (change.kind is Kind.TOPIC and written)
    return policy is DeletionPolicy.DELETE


def _is_one_removal(requests: Sequence[req.Request], entity_type: EntityType | None) -> bool:
    """Return whether this is one removal from a virtual cluster, of this type if one is given."""
    (request,) = requests if len(requests) == 1 else (None,)
    if not isinstance(request, req.AlterVirtualClusterRequest):
        return False
    plain = replace(request, virtual_cluster="", entity_type=None, entity_name=None)
    return plain == _REMOVES and entity_type in (None, request.entity_type)


def _removes_only_applied_mechanisms(requests: Sequence[req.Request], live: Owner | None) -> bool:
    applied = live.last_applied.get("scram", {}) if live else {}
    removed = [
        request.mechanism
        for request in requests
        if isinstance(request, req.AlterUserScramCredentialsRequest) and request.removes
    ]
    return len(set(removed)) == len(requests) and applied.keys() >= set(map(str, removed))


def _deletes_only_group(requests: Sequence[req.Request], live: Owner | None) -> bool:
    """Return whether the requests delete a group, and the configs that were last applied."""
    deletions = [it for it in requests if isinstance(it, req.DeleteConsumerGroupRequest)]
    others = [it for it in requests if it not in deletions]
    only = all(_removes_only_applied_configs(it, live) for it in others)
    return only and len(others) <= 1 and len(deletions) <= 1


def _removes_only_applied_configs(request: req.Request, live: Owner | None) -> bool:
    applied = live.last_applied.get("configs", {}) if live else {}
    if not isinstance(request, req.AlterConfigResourceRequest) or not request.configs:
        return False
    return all(value is None and key in applied for key, value in request.configs.items())


def _removes_only_applied_keys(request: req.Request, live: Owner | None) -> bool:
    applied = live.last_applied.get("quotas", {}) if live else {}
    if not isinstance(request, req.AlterClientQuotaRequest) or not request.quotas:
        return False
    return all(value is None and key in applied for key, value in request.quotas.items())
