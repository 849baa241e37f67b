"""A request of every API by a client that may do nothing, and the error that it is due.

The errors are those of Kafka's brokers (``KafkaApis``) and controllers (``ControllerApis``).
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from serve.data.batches import batch
from serve.plain_requests import Fields

from kgitops.model.results import ErrorCode as E
from kgitops.serve.nodes import NodeKind

BROKER, CONTROLLER = NodeKind
NOTHING = frozenset[int]()
"""No error, and nothing of others in the answer."""


class Named(Struct, frozen=True, kw_only=True):
    """Names of objects; either all exist, or none does."""

    word: str
    topic_id: bytes

    @property
    def topic(self) -> str:
        return f"{self.word}-topic"

    @property
    def group(self) -> str:
        return f"{self.word}-group"

    @property
    def consumers(self) -> str:
        """A group of KIP-848."""
        return f"{self.word}-consumers"

    @property
    def shares(self) -> str:
        """A share group (KIP-932)."""
        return f"{self.word}-shares"

    @property
    def transactional_id(self) -> str:
        return f"{self.word}-transactions"

    @property
    def user(self) -> str:
        return f"{self.word}-user"

    @property
    def virtual_cluster(self) -> str:
        return f"{self.word}-tenant"


class Denial(Struct, frozen=True):
    """A request, by the names of its fields, and the errors of its answer."""

    codes: frozenset[int]
    fields: Callable[[Named], Fields] = lambda _: {}
    kinds: frozenset[NodeKind] = frozenset(NodeKind)
    seed: frozenset[int] | None = None
    """Of KIP-4 and its kin, where they say otherwise."""
    ids_are_told: bool = False
    """Kafka does not take topic ids for secrets: an unknown one has an error of its own."""


def due(
    codes: E | frozenset[int], fields: Callable[[Named], Fields] = lambda _: {}, **more: object
) -> Denial:
    found = frozenset({int(codes)}) if isinstance(codes, E) else codes
    return Denial(found, fields, **more)  # type: ignore[arg-type] (the fields of Denial)


NO_TOPIC, NO_GROUP = E.TOPIC_AUTHORIZATION_FAILED, E.GROUP_AUTHORIZATION_FAILED
NO_CLUSTER, NO_TXN = E.CLUSTER_AUTHORIZATION_FAILED, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
AT_BROKERS, AT_CONTROLLERS = frozenset({BROKER}), frozenset({CONTROLLER})


def _member(n: Named) -> Fields:
    return {"group_id": n.group, "member_id": f"{n.word}-member"}


def _partitions(n: Named, row: Fields | None = None) -> Fields:
    return {"topics": {"name": n.topic, "partitions": row or {"partition_index": 0}}}


def _producer(n: Named) -> Fields:
    return {"transactional_id": n.transactional_id, "producer_id": 0, "producer_epoch": 0}


def _config(kind: int, name: str, **value: object) -> Fields:
    config = {"name": "retention.ms", "value": "1", **value}
    return {"resources": {"resource_type": kind, "resource_name": name, "configs": config}}


def _described_config(kind: int, name: str) -> Fields:
    return {"resources": {"resource_type": kind, "resource_name": name, "configuration_keys": None}}


_ANY, _TOPIC, _NO_SUCH_TYPE = 1, 2, 99
"""Types of resources; rights are asked for before a request is looked at."""
_ACL = {
    "resource_pattern_type": 3,
    "principal": "User:ANONYMOUS",
    "host": "*",
    "operation": 2,
    "permission_type": 3,
}
_ACL_FILTER = {
    "pattern_type_filter": 1,
    "operation": 1,
    "permission_type": 1,
    "resource_name_filter": None,
    "principal_filter": None,
    "host_filter": None,
}

DENIALS: Mapping[str, Sequence[Denial]] = {
    "ApiVersions": [
        due(NOTHING, lambda _: {"client_software_name": "a", "client_software_version": "1"})
    ],
    "SaslHandshake": [
        due(E.ILLEGAL_SASL_STATE, lambda _: {"mechanism": "PLAIN"}, kinds=AT_BROKERS),
        due(NOTHING, lambda _: {"mechanism": "PLAIN"}, kinds=AT_CONTROLLERS),
    ],
    "SaslAuthenticate": [
        due(E.ILLEGAL_SASL_STATE, lambda _: {"auth_bytes": b"\0a\0b"}, kinds=AT_BROKERS),
        due(
            E.SASL_AUTHENTICATION_FAILED,
            lambda _: {"auth_bytes": b"\0kafka\0kafka"},
            kinds=AT_CONTROLLERS,
        ),
    ],
    "Envelope": [
        due(
            NO_CLUSTER,
            lambda _: {
                "request_data": b"",
                "request_principal": b"\0\0\0\5User\5root\0\0",
                "client_host_address": bytes(4),
            },
        )
    ],
    "Metadata": [
        due(NOTHING, lambda _: {"topics": None, "include_topic_authorized_operations": True}),
        due(
            NO_TOPIC,
            lambda n: {
                "topics": {"name": n.topic},
                "allow_auto_topic_creation": True,
                "include_topic_authorized_operations": True,
            },
        ),
        due(NO_TOPIC, lambda _: {"topics": {"name": "__consumer_offsets"}}),
        due(
            NO_TOPIC,
            lambda n: {"topics": {"name": None, "topic_id": n.topic_id}},
            seed=frozenset({E.UNKNOWN_TOPIC_ID}),
            ids_are_told=True,
        ),
    ],
    "DescribeCluster": [
        due(NOTHING, lambda _: {"include_cluster_authorized_operations": True}, kinds=AT_BROKERS),
        due(NO_CLUSTER, lambda _: {"endpoint_type": 2}, kinds=AT_CONTROLLERS),
    ],
    "DescribeTopicPartitions": [
        due(NOTHING, lambda _: {"response_partition_limit": 2000, "cursor": None}),
        due(
            NO_TOPIC,
            lambda n: {
                "topics": {"name": n.topic},
                "response_partition_limit": 2000,
                "cursor": None,
            },
        ),
    ],
    "CreateTopics": [
        due(
            NO_TOPIC,
            lambda n, validate_only=validate_only: {
                "topics": {"name": n.topic, "num_partitions": 1, "replication_factor": 1},
                "validate_only": validate_only,
                "timeout_ms": 9999,
            },
            seed=frozenset({NO_CLUSTER}),
        )
        for validate_only in (True, False)
    ],
    "DeleteTopics": [
        due(
            NO_TOPIC,
            lambda n: {"topics": {"name": n.topic}, "timeout_ms": 9999},
            seed=frozenset({E.INVALID_TOPIC_EXCEPTION}),
        ),
        due(
            NO_TOPIC,
            lambda n: {
                "topics": {"name": None, "topic_id": n.topic_id},
                "timeout_ms": 9999,
            },
            seed=frozenset({E.UNKNOWN_TOPIC_ID}),
            ids_are_told=True,
        ),
    ],
    "CreatePartitions": [
        due(
            NO_TOPIC,
            lambda n, validate_only=validate_only: {
                "topics": {"name": n.topic, "count": 9, "assignments": None},
                "validate_only": validate_only,
                "timeout_ms": 9999,
            },
        )
        for validate_only in (True, False)
    ],
    "AlterPartitionReassignments": [
        due(
            NO_CLUSTER,
            lambda n: _partitions(n, {"partition_index": 0, "replicas": [2]}),
        )
    ],
    "ListPartitionReassignments": [
        due(NO_CLUSTER, lambda _: {"topics": None}),
        due(NO_CLUSTER, lambda n: {"topics": {"name": n.topic, "partition_indexes": [0]}}),
    ],
    "ElectLeaders": [
        due(NO_CLUSTER, lambda _: {"topic_partitions": None}),
        due(NO_CLUSTER, lambda n: {"topic_partitions": {"topic": n.topic, "partitions": [0]}}),
    ],
    "AlterReplicaLogDirs": [
        due(
            NO_CLUSTER,
            lambda n: {
                "dirs": {
                    "path": "/kgitops/broker-1",
                    "topics": {"name": n.topic, "partitions": [0]},
                }
            },
        )
    ],
    "DescribeLogDirs": [
        due(NO_CLUSTER, lambda _: {"topics": None}),
        due(NO_CLUSTER, lambda n: {"topics": {"topic": n.topic, "partitions": [0]}}),
    ],
    "DescribeQuorum": [
        due(
            NO_CLUSTER,
            lambda _: {
                "topics": {
                    "topic_name": "__cluster_metadata",
                    "partitions": {"partition_index": 0},
                }
            },
        )
    ],
    "UpdateFeatures": [
        due(
            NO_CLUSTER,
            lambda _: {
                "feature_updates": {
                    "feature": "metadata.version",
                    "max_version_level": 7,
                    "upgrade_type": 3,
                }
            },
        )
    ],
    "DescribeUserScramCredentials": [
        due(NO_CLUSTER, lambda _: {"users": None}),
        due(NO_CLUSTER, lambda n: {"users": {"name": n.user}}),
    ],
    "AlterUserScramCredentials": [
        due(
            NO_CLUSTER,
            lambda n: {
                "deletions": {"name": n.user, "mechanism": 1},
                "upsertions": {
                    "name": f"{n.user}2",
                    "mechanism": 1,
                    "iterations": 4096,
                    "salt": b"salt",
                    "salted_password": b"x" * 32,
                },
            },
        )
    ],
    "FindCoordinator": [
        due(NO_GROUP, lambda n: {"key_type": 0, "coordinator_keys": [n.group]}),
        due(NO_TXN, lambda n: {"key_type": 1, "coordinator_keys": [n.transactional_id]}),
    ],
    "ListGroups": [due(NOTHING)],
    "DescribeGroups": [
        due(
            NO_GROUP,
            lambda n: {"groups": [n.group, n.consumers], "include_authorized_operations": True},
        )
    ],
    "DeleteGroups": [due(NO_GROUP, lambda n: {"groups_names": [n.group, n.consumers]})],
    "ConsumerGroupDescribe": [
        due(
            NO_GROUP,
            lambda n: {"group_ids": [n.consumers, n.group], "include_authorized_operations": True},
        )
    ],
    "ShareGroupHeartbeat": [
        due(
            NO_GROUP,
            lambda n: {
                "group_id": n.shares,
                "member_id": f"{n.word}-member",
                "subscribed_topic_names": [n.topic],
            },
        )
    ],
    "ShareGroupDescribe": [due(NO_GROUP, lambda n: {"group_ids": [n.shares, n.consumers]})],
    "ShareFetch": [
        due(
            NO_GROUP,
            lambda n: {
                "group_id": n.shares,
                "member_id": f"{n.word}-member",
                "max_wait_ms": 0,
                "min_bytes": 1,
                "max_records": 1,
                "batch_size": 1,
                "topics": {"topic_id": n.topic_id, "partitions": {"partition_index": 0}},
            },
        )
    ],
    "ShareAcknowledge": [
        due(
            NO_GROUP,
            lambda n: {
                "group_id": n.shares,
                "member_id": f"{n.word}-member",
                "share_session_epoch": 1,
                "topics": {"topic_id": n.topic_id, "partitions": {"partition_index": 0}},
            },
        )
    ],
    "DescribeShareGroupOffsets": [
        due(NO_GROUP, lambda n: {"groups": {"group_id": n.shares, "topics": None}})
    ],
    "AlterShareGroupOffsets": [
        due(
            NO_GROUP,
            lambda n: {
                "group_id": n.shares,
                "topics": {
                    "topic_name": n.topic,
                    "partitions": {"partition_index": 0, "start_offset": 1},
                },
            },
        )
    ],
    "DeleteShareGroupOffsets": [
        due(NO_GROUP, lambda n: {"group_id": n.shares, "topics": {"topic_name": n.topic}})
    ],
    "OffsetCommit": [
        due(
            NO_GROUP,
            lambda n: {
                **_member(n),
                "topics": {
                    "topic_id": n.topic_id,
                    "partitions": {"partition_index": 0, "committed_offset": 5},
                },
            },
        )
    ],
    "OffsetFetch": [
        due(NO_GROUP, lambda n: {"groups": {"group_id": n.group, "topics": None}}),
        due(
            NO_GROUP,
            lambda n: {
                "groups": {
                    "group_id": n.consumers,
                    "topics": {"topic_id": n.topic_id, "partition_indexes": [0]},
                }
            },
        ),
    ],
    "OffsetDelete": [due(NO_GROUP, lambda n: {"group_id": n.group, **_partitions(n)})],
    "DescribeConfigs": [
        due(NO_TOPIC, lambda n: _described_config(2, n.topic)),
        due(NO_CLUSTER, lambda _: _described_config(4, "1"), kinds=AT_BROKERS),
        due(NO_CLUSTER, lambda _: _described_config(4, "")),
        due(NO_CLUSTER, lambda _: _described_config(8, "1"), kinds=AT_BROKERS),
        due(NO_CLUSTER, lambda n: _described_config(16, n.word)),
        due(NO_GROUP, lambda n: _described_config(32, n.group)),
    ],
    "IncrementalAlterConfigs": [
        due(NO_TOPIC, lambda n: _config(2, n.topic, config_operation=0)),
        due(NO_CLUSTER, lambda _: _config(4, "", config_operation=0)),
        due(NO_CLUSTER, lambda n: _config(16, n.word, config_operation=0)),
        due(NO_GROUP, lambda n: _config(32, n.group, config_operation=0)),
    ],
    "AlterConfigs": [
        due(NO_TOPIC, lambda n: _config(2, n.topic)),
        due(NO_CLUSTER, lambda _: _config(4, "")),
        due(NO_GROUP, lambda n: _config(32, n.group)),
    ],
    "ListConfigResources": [due(NO_CLUSTER), due(NO_CLUSTER, lambda _: {"resource_types": [32]})],
    "DescribeAcls": [
        due(NO_CLUSTER, lambda _, kind=kind: {**_ACL_FILTER, "resource_type_filter": kind})
        for kind in (_ANY, _NO_SUCH_TYPE)
    ],
    "CreateAcls": [
        due(
            NO_CLUSTER,
            lambda n, kinds=kinds: {
                "creations": [{**_ACL, "resource_type": k, "resource_name": n.topic} for k in kinds]
            },
        )
        for kinds in ([_TOPIC], [_NO_SUCH_TYPE, _TOPIC])
    ],
    "DeleteAcls": [
        due(
            NO_CLUSTER,
            lambda _, kind=kind: {"filters": {**_ACL_FILTER, "resource_type_filter": kind}},
        )
        for kind in (_ANY, _NO_SUCH_TYPE)
    ],
    "DescribeClientQuotas": [
        due(NO_CLUSTER),
        due(
            NO_CLUSTER,
            lambda _: {"components": {"entity_type": "user", "match_type": 9, "match": None}},
        ),
        due(
            NO_CLUSTER,
            lambda n: {"components": {"entity_type": "user", "match_type": 0, "match": n.user}},
        ),
    ],
    "AlterClientQuotas": [
        due(
            NO_CLUSTER,
            lambda n: {
                "entries": {
                    "entity": {"entity_type": "user", "entity_name": n.user},
                    "ops": {"key": "producer_byte_rate", "value": 1.0},
                }
            },
        )
    ],
    "CreateVirtualClusters": [
        due(NO_CLUSTER, lambda n: {"virtual_clusters": {"name": n.virtual_cluster}})
    ],
    "AlterVirtualClusters": [
        due(
            NO_CLUSTER,
            lambda n: {
                "virtual_cluster": {
                    "name": n.virtual_cluster,
                    "resources": {
                        "resource_type": 2,
                        "resource_name": "link",
                        "resource_operation": 0,
                        "physical_name": n.topic,
                    },
                }
            },
        )
    ],
    "DeleteVirtualClusters": [
        due(NO_CLUSTER, lambda n: {"virtual_clusters": {"name": n.virtual_cluster}})
    ],
    "ListVirtualClusters": [due(NOTHING)],
    "DescribeVirtualClusters": [
        due(NO_CLUSTER, lambda n: {"virtual_clusters": {"name": n.virtual_cluster}})
    ],
    "Produce": [
        due(
            E.UNKNOWN_TOPIC_ID,
            lambda n: {
                "transactional_id": None,
                "acks": -1,
                "timeout_ms": 1000,
                "topic_data": {
                    "topic_id": n.topic_id,
                    "partition_data": {"index": 0, "records": batch(b"a")},
                },
            },
        ),
        due(
            NO_TXN,
            lambda n: {
                "transactional_id": n.transactional_id,
                "acks": -1,
                "timeout_ms": 1000,
                "topic_data": {
                    "topic_id": n.topic_id,
                    "partition_data": {
                        "index": 0,
                        "records": batch(b"a", producer=(0, 0), sequence=0, transactional=True),
                    },
                },
            },
        ),
    ],
    "Fetch": [
        due(
            E.UNKNOWN_TOPIC_ID,
            lambda n: {
                "max_bytes": 1 << 20,
                "topics": {
                    "topic_id": n.topic_id,
                    "partitions": {"partition": 0, "partition_max_bytes": 1 << 20},
                },
            },
        ),
    ],
    "ListOffsets": [
        due(
            NO_TOPIC,
            lambda n, timestamp=timestamp: _partitions(
                n, {"partition_index": 0, "timestamp": timestamp}
            ),
        )
        for timestamp in (-1, -3, 5)
    ],
    "OffsetForLeaderEpoch": [
        due(
            NO_TOPIC,
            lambda n: {
                "topics": {"topic": n.topic, "partitions": {"partition": 0, "leader_epoch": 0}}
            },
        )
    ],
    "DescribeProducers": [
        due(NO_TOPIC, lambda n: {"topics": {"name": n.topic, "partition_indexes": [0]}})
    ],
    "DeleteRecords": [
        due(NO_TOPIC, lambda n: _partitions(n, {"partition_index": 0, "offset": -1}))
    ],
    "InitProducerId": [
        due(NO_TXN, lambda n: {**_producer(n), "transaction_timeout_ms": 1000}),
        due(NO_CLUSTER, lambda _: {"transactional_id": None, "transaction_timeout_ms": 1000}),
    ],
    "AddPartitionsToTxn": [
        due(
            NO_TXN,
            lambda n: {
                "v3_and_below_transactional_id": n.transactional_id,
                "v3_and_below_topics": {"name": n.topic, "partitions": [0]},
            },
        )
    ],
    "AddOffsetsToTxn": [due(NO_TXN, lambda n: {**_producer(n), "group_id": n.group})],
    "TxnOffsetCommit": [
        due(
            NO_TXN,
            lambda n: {
                **_producer(n),
                **_member(n),
                **_partitions(n, {"partition_index": 0, "committed_offset": 5}),
            },
        )
    ],
    "EndTxn": [due(NO_TXN, lambda n: {**_producer(n), "committed": True})],
    "DescribeTransactions": [
        due(NO_TXN, lambda n: {"transactional_ids": [n.transactional_id]}),
    ],
    "ListTransactions": [
        due(NOTHING),
        due(NOTHING, lambda _: {"transactional_id_pattern": "hidden.*"}),
    ],
    "JoinGroup": [
        due(
            NO_GROUP,
            lambda n: {
                "group_id": n.group,
                "session_timeout_ms": 10_000,
                "rebalance_timeout_ms": 10_000,
                "protocol_type": "consumer",
                "protocols": {"name": "range", "metadata": b""},
            },
        )
    ],
    "SyncGroup": [
        due(
            NO_GROUP,
            lambda n: {**_member(n), "protocol_type": "consumer", "protocol_name": "range"},
        )
    ],
    "Heartbeat": [due(NO_GROUP, _member)],
    "LeaveGroup": [
        due(
            NO_GROUP,
            lambda n: {"group_id": n.group, "members": {"member_id": f"{n.word}-member"}},
        )
    ],
    "ConsumerGroupHeartbeat": [
        due(
            NO_GROUP,
            lambda n, epoch=epoch: {
                "group_id": n.consumers,
                "member_id": f"{n.word}-member",
                "member_epoch": epoch,
                "rebalance_timeout_ms": 10_000,
                "subscribed_topic_names": [n.topic],
                "subscribed_topic_regex": None,
                "topic_partitions": [],
            },
        )
        for epoch in (0, 1, -1)
    ],
}
