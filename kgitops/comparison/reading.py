"""Reads a file that is to be compared, a snapshot or a saved plan, as objects by address."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from kgitops.cluster.snapshot import read_snapshot, write_snapshot
from kgitops.comparison.comparing import ComparedState, StateKind, by_partition
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UntrustedPlanError, UsageError
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    group_address,
    quota_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import quota_text
from kgitops.plan.document.file import SealedPlan, to_text
from kgitops.plan.reading import read_plan
from kgitops.workflow.project.saved_plan import is_plan

_NEXT = "name a file of kgitops snapshot -o or plan -o, or the folder of kgitops fleet plan --out"
_WHOLE = (
    "principal",
    "partial",
    "allow_deletes",
    "allow_empty_folders",
    "allow_takeover",
)
_STATEMENTS = (
    "policies_loaded",
    "takeovers",
    "access_losses",
    "drift",
    "kept",
    "lowering",
    "warnings",
    "findings",
    "refusals",
)
_OF_A_PROJECT = ("project", "identity")
_OF_A_CHANGE = ("actions", "labels", "reason", "risks", "impact")
_OF_A_REQUEST = ("api", "body", "physical")
_MOVING = ("source", "unpinned", "last_run")
"""Places, which move with the lines above them, and the last apply of another project."""
_CLUSTER = (
    "cluster_id",
    "backend",
    "has_authorizer",
    "broker_defaults",
    "settings",
    "not_checked",
)
_REGISTRY = ("projects", "formerly", "releases")


def read_file(path: Path) -> ComparedState:
    """The state in a file.

    Raises:
        UsageError: there is no such file, or it can't be read.
        UnreachableError: it is neither a plan nor a snapshot.
        SafetyError: the snapshot can't be trusted.
        UntrustedPlanError: the plan can't be trusted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path} can't be read: {reason}; {_NEXT}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8; {_NEXT}") from error
    if not text.strip():
        raise UntrustedPlanError(f"{path} is empty; {_NEXT}")
    if is_plan(path) and '"kgitops.snapshot"' not in text:
        return plan_objects(read_plan(text, str(path)), str(path))
    return snapshot_objects(read_snapshot(text, str(path)), str(path))


def plan_objects(sealed: SealedPlan, name: str) -> ComparedState:
    """The changes of a plan; not its digests, nor when it was made and where documents stand."""
    return ComparedState(kind=StateKind.PLAN, name=name, objects=objects_of(sealed))


def objects_of(sealed: SealedPlan) -> dict[str, Json]:
    """The changes by address, and ``plan`` for what is said of all of them."""
    document = msgspec.json.decode(to_text(sealed))
    whole = _part(document, _WHOLE)
    whole["target"] = _still(document["target"])
    whole["desired"] = _part(document["desired"], _OF_A_PROJECT)
    whole["verdict"] = _part(document["verdict"], ("exit",))  # its reasons are compared below
    for key in _STATEMENTS:
        whole[key] = [_still(row) for row in document.get(key, ())]
    objects: dict[str, Json] = {"plan": whole}
    for change in document["changes"]:
        shown = _part(change, _OF_A_CHANGE)
        for side in ("before", "after"):
            if change[side] is not None:
                shown[side] = by_partition(change[side], "assignments")
        owners = change["ownership"].items()
        shown["ownership"] = {side: owner for side, owner in owners if owner is not None}
        shown["policies"] = [_still(row) for row in change["policies"]]
        shown["requests"] = [_part(request, _OF_A_REQUEST) for request in change["requests"]]
        objects[change["address"]] = shown
    return objects


def _part(value: Mapping[str, Json], keys: Iterable[str]) -> dict[str, Json]:
    return {key: value[key] for key in keys if key in value}


def _still(value: Json) -> Json:
    """A value without what differs from day to day though it says the same."""
    if not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if key not in _MOVING}


def snapshot_objects(state: ClusterState, name: str) -> ComparedState:
    """The objects of a cluster and their owners; not when it was read, nor how large logs are.

    A record of the registry whose object is not in the snapshot is an object of its own, so that
    the object counts as removed: ``registry/topic/orders``.
    """
    document = msgspec.json.decode(write_snapshot(state))
    registry = document["registry"]
    objects: dict[str, Json] = {"cluster": _part(document, _CLUSTER)}
    objects["cluster"]["registry"] = registry and _part(registry, _REGISTRY)
    for topic in document["topics"]:
        objects[topic_address(topic.pop("name"))] = by_partition(topic, "assignment")
    for acl in state.acls:
        objects[acl_address(acl)] = {}
    for entity, quota in state.quotas.items():
        objects[quota_address(entity)] = {
            "quotas": {key: quota_text(value) for key, value in quota.quotas.items()}
        }
    for user, held in (document.get("users") or {}).items():
        objects[user_address(user)] = {"scram": held}
    for broker in document["brokers"]:
        objects[broker_address(broker.pop("id"))] = broker
    for part in document.get("virtual_clusters", ()):
        objects[virtual_cluster_address(part.pop("name"))] = part
    for group, offsets in document.get("group_offsets", {}).items():
        objects[group_address(group)] = {"offsets": offsets}
    for address, owner in (registry or {}).get("owners", {}).items():
        if address in objects:
            objects[address]["owner"] = owner
        else:
            objects[f"registry/{address}"] = {"owner": owner}
    # A snapshot without users says nothing of them, and not that there are none.
    read = Kind.USER in state.asked
    objects["cluster"]["users_read"] = read
    unread = () if read else ("user/", "registry/user/")
    return ComparedState(kind=StateKind.SNAPSHOT, name=name, objects=objects, unread=unread)
