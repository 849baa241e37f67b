"""A snapshot as objects by address."""

import msgspec

from kgitops.cluster.snapshot import write_snapshot
from kgitops.comparison.comparing import ComparedState, StateKind, by_partition
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    quota_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)

_CLUSTER = ("cluster_id", "backend", "has_authorizer", "broker_defaults", "not_checked")


def snapshot_objects(state: ClusterState, name: str) -> ComparedState:
    """The objects of a cluster and their owners; not when it was read, nor how large logs are.

    A record of the registry whose object is not in the snapshot is an object of its own, so that
    the object counts as removed: ``registry/topic/orders``.
    """
    document = msgspec.json.decode(write_snapshot(state))
    objects: dict[str, Json] = {"cluster": {key: document[key] for key in _CLUSTER}}
    for topic in document["topics"]:
        objects[topic_address(topic.pop("name"))] = by_partition(topic, "assignment")
    for acl in state.acls:
        objects[acl_address(acl)] = {}
    for entity, quota in state.quotas.items():
        objects[quota_address(entity)] = {
            "quotas": {key: str(value) for key, value in quota.quotas.items()}
        }
    for user, held in (document.get("users") or {}).items():
        objects[user_address(user)] = {"scram": held}
    for broker in document["brokers"]:
        objects[broker_address(broker.pop("id"))] = broker
    for part in document.get("virtual_clusters", ()):
        objects[virtual_cluster_address(part.pop("name"))] = part
    for group, offsets in document.get("group_offsets", {}).items():
        objects[f"group/{group}"] = {"offsets": offsets}
    registry = document["registry"]
    for address, owner in (registry or {}).get("owners", {}).items():
        if address in objects:
            objects[address]["owner"] = owner
        else:
            objects[f"registry/{address}"] = {"owner": owner}
    return ComparedState(kind=StateKind.SNAPSHOT, name=name, objects=objects)
