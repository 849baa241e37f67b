"""A request with one item for every API that is forwarded."""

from collections.abc import Mapping

from serve.plain_requests import Fields, request_of

from kgitops.wire.messages import Message

_PARTITION = {"partition_index": 0}
_USER = {"resource_type": 2, "resource_name": "User:alice", "resource_operation": 1}
_CONFIGS = {"resources": {"resource_type": 2, "resource_name": "orders"}}
ONE_ITEM: Mapping[str, Fields] = {
    "CreateTopics": {"topics": {"name": "orders", "num_partitions": 1, "replication_factor": 1}},
    "DeleteTopics": {"topics": {"name": "orders"}},
    "CreatePartitions": {"topics": {"name": "orders", "count": 2, "assignments": None}},
    "CreateAcls": {
        "creations": {
            "resource_type": 2,
            "resource_name": "orders",
            "principal": "User:alice",
            "host": "*",
            "operation": 3,
            "permission_type": 3,
        }
    },
    "DeleteAcls": {
        "filters": {
            "resource_type_filter": 2,
            "resource_name_filter": None,
            "operation": 1,
            "permission_type": 1,
        }
    },
    "AlterConfigs": _CONFIGS,
    "IncrementalAlterConfigs": _CONFIGS,
    "ElectLeaders": {"topic_partitions": {"topic": "orders", "partitions": [0]}},
    "AlterPartitionReassignments": {
        "topics": {"name": "orders", "partitions": {**_PARTITION, "replicas": [1]}}
    },
    "ListPartitionReassignments": {"topics": {"name": "orders", "partition_indexes": [0]}},
    "AlterClientQuotas": {
        "entries": {
            "entity": {"entity_type": "user", "entity_name": "alice"},
            "ops": {"key": "producer_byte_rate", "value": 1024.0},
        }
    },
    "AlterUserScramCredentials": {"deletions": {"name": "alice", "mechanism": 1}},
    "DescribeQuorum": {"topics": {"topic_name": "__cluster_metadata", "partitions": _PARTITION}},
    "CreateVirtualClusters": {"virtual_clusters": {"name": "team"}},
    "AlterVirtualClusters": {"virtual_cluster": {"name": "team", "resources": _USER}},
    "DeleteVirtualClusters": {"virtual_clusters": {"name": "team"}},
}


def with_an_item(api: str, version: int, timeout_ms: int = 60_000) -> Message:
    """A request about one topic ``orders`` or user ``alice``, or about nothing in particular."""
    fields = ONE_ITEM.get(api, {})
    if api == "DeleteTopics" and version < 6:
        fields = {"topic_names": ["orders"]}
    made = request_of(api, fields)
    if hasattr(made, "timeout_ms"):
        made.timeout_ms = timeout_ms
    return made
