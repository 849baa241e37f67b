"""What a tenant may ask for beside :mod:`tenant_operations`: every other API that brokers have."""

from collections.abc import Callable, Mapping

from kafka.record.memory_records import MemoryRecordsBuilder
from msgspec import Struct
from real_kafka.broker_messages import request
from real_kafka.tenant_operations import Names

from kgitops.cluster.kafka.transport.wire import Message

_TOPIC, _GROUP_CONFIG = 2, 32
_MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"


class Trial(Struct, frozen=True):
    """A request, and each of ``kinds`` that alone is another tenant's when it is tried.

    Of the kind cluster is what nobody may ask but who rules the cluster: all of it is another's.
    What names topics ``by_id`` can't name them as another tenant does. ``after`` is what has to be
    asked first about what is one's own.
    """

    kinds: tuple[str, ...]
    build: Callable[[Names], Message]
    by_id: bool = False
    after: str = ""


def trials() -> Mapping[str, Trial]:
    """By the name of the API and, behind a blank, what is special."""
    return {
        **_data(),
        **_groups(),
        **_share_groups(),
        **_transactions(),
        **_settings(),
        **_cluster(),
    }


def _data() -> Mapping[str, Trial]:
    return {
        "Produce by-id": Trial(
            ("topic",), lambda n: _produce(None, topic_id=n.topic_id), by_id=True
        ),
        "Produce": Trial(
            ("topic", "transaction"),
            lambda n: _produce(n.transactional_id, newest=12, name=n.topic),
        ),
        "Fetch by-id": Trial(
            ("topic",),
            lambda n: request(
                "Fetch",
                max_wait_ms=0,
                min_bytes=0,
                topics=[
                    {
                        "topic_id": n.topic_id,
                        "partitions": [
                            {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
                        ],
                    }
                ],
                oldest=13,
            ),
            by_id=True,
        ),
        "Metadata by-id": Trial(
            ("topic",),
            lambda n: request(
                "Metadata",
                topics=[{"topic_id": n.topic_id, "name": None}],
                allow_auto_topic_creation=False,
                oldest=12,
            ),
            by_id=True,
        ),
        "DescribeTopicPartitions": Trial(
            ("topic",), lambda n: request("DescribeTopicPartitions", topics=[{"name": n.topic}])
        ),
        "CreateTopics": Trial(
            ("topic",),
            lambda n: request(
                "CreateTopics",
                topics=[{"name": n.topic, "num_partitions": 1, "replication_factor": 1}],
                timeout_ms=10_000,
            ),
        ),
        "DeleteTopics by-id": Trial(
            ("topic",),
            lambda n: request(
                "DeleteTopics",
                topics=[{"name": None, "topic_id": n.topic_id}],
                timeout_ms=10_000,
                oldest=6,
            ),
            by_id=True,
        ),
    }


def _produce(
    transactional_id: str | None, *, newest: int | None = None, **topic: object
) -> Message:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 14)
    if transactional_id is not None:
        builder = MemoryRecordsBuilder(
            magic=2,
            compression_type=0,
            batch_size=1 << 14,
            transactional=True,
            producer_id=0,
            producer_epoch=0,
            base_sequence=0,
        )
    builder.append(0, b"k", b"v")
    builder.close()
    return request(
        "Produce",
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[{**topic, "partition_data": [{"index": 0, "records": builder.buffer()}]}],
        newest=newest,
        oldest=None if newest else 13,
    )


def _groups() -> Mapping[str, Trial]:
    member = {"member_id": _MEMBER, "group_instance_id": None}
    return {
        "Heartbeat": Trial(
            ("group",), lambda n: request("Heartbeat", group_id=n.group, generation_id=1, **member)
        ),
        "LeaveGroup": Trial(
            ("group",), lambda n: request("LeaveGroup", group_id=n.group, members=[member])
        ),
        "SyncGroup": Trial(
            ("group",),
            lambda n: request(
                "SyncGroup",
                group_id=n.group,
                generation_id=1,
                protocol_type="consumer",
                protocol_name="range",
                **member,
            ),
        ),
        "ConsumerGroupHeartbeat": Trial(
            ("group", "topic"),
            lambda n: request(
                "ConsumerGroupHeartbeat",
                group_id=n.group,
                member_id=_MEMBER,
                rebalance_timeout_ms=10_000,
                subscribed_topic_names=[n.topic],
                topic_partitions=[],
            ),
        ),
        "StreamsGroupHeartbeat": Trial(
            ("group", "topic"),
            lambda n: request(
                "StreamsGroupHeartbeat",
                group_id=n.group,
                member_id=_MEMBER,
                rebalance_timeout_ms=10_000,
                process_id="p",
                topology={
                    "epoch": 0,
                    "subtopologies": [{"subtopology_id": "0", "source_topics": [n.topic]}],
                },
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
                client_tags=[],
            ),
        ),
        **{
            api: Trial(("group",), lambda n, api=api: request(api, group_ids=[n.group]))
            for api in ("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe")
        },
        "OffsetCommit by-id": Trial(
            ("group", "topic"),
            lambda n: request(
                "OffsetCommit",
                group_id=n.group,
                generation_id_or_member_epoch=-1,
                member_id="",
                group_instance_id=None,
                topics=[{"topic_id": n.topic_id, "partitions": [_committed()]}],
                oldest=10,
            ),
            by_id=True,
        ),
        "OffsetFetch": Trial(
            ("topic",),
            lambda n: _offsets(n.group, newest=9, name=n.topic),
        ),
        "OffsetFetch by-id": Trial(
            ("group", "topic"), lambda n: _offsets(n.group, topic_id=n.topic_id), by_id=True
        ),
    }


def _committed() -> dict[str, object]:
    return {"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}


def _offsets(group: str, newest: int | None = None, **topic: object) -> Message:
    topics = [{**topic, "partition_indexes": [0]}]
    oldest = 8 if newest else 10
    groups = [{"group_id": group, "topics": topics}]
    return request("OffsetFetch", groups=groups, require_stable=False, newest=newest, oldest=oldest)


def share_group(names: Names) -> str:
    """Of the same tenant; topics are looked at only where the group is there and a share group."""
    return f"{names.group}-share"


def _share_groups() -> Mapping[str, Trial]:
    read = {"partition_index": 0, "acknowledgement_batches": []}
    done = {
        "partition_index": 0,
        "acknowledgement_batches": [
            {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
        ],
    }
    return {
        "ShareGroupHeartbeat": Trial(
            ("group", "topic"),
            lambda n: request(
                "ShareGroupHeartbeat",
                group_id=n.group,
                member_id=_MEMBER,
                subscribed_topic_names=[n.topic],
            ),
        ),
        "ShareFetch": Trial(
            ("group", "topic"),
            lambda n: request(
                "ShareFetch",
                group_id=n.group,
                member_id=_MEMBER,
                max_wait_ms=0,
                min_bytes=0,
                max_records=1,
                batch_size=1,
                topics=[{"topic_id": n.topic_id, "partitions": [read]}],
            ),
            by_id=True,
        ),
        "ShareAcknowledge": Trial(
            ("group", "topic"),
            lambda n: request(
                "ShareAcknowledge",
                group_id=n.group,
                member_id=_MEMBER,
                share_session_epoch=1,
                topics=[{"topic_id": n.topic_id, "partitions": [done]}],
            ),
            by_id=True,
            after="ShareFetch",  # which begins the session
        ),
        "DescribeShareGroupOffsets": Trial(
            ("group", "topic"),
            lambda n: request(
                "DescribeShareGroupOffsets",
                groups=[
                    {"group_id": n.group, "topics": [{"topic_name": n.topic, "partitions": [0]}]}
                ],
            ),
        ),
        "AlterShareGroupOffsets": Trial(
            ("group", "topic"),
            lambda n: request(
                "AlterShareGroupOffsets",
                group_id=share_group(n),
                topics=[
                    {
                        "topic_name": n.topic,
                        "partitions": [{"partition_index": 0, "start_offset": 0}],
                    }
                ],
            ),
        ),
        "DeleteShareGroupOffsets": Trial(
            ("group", "topic"),
            lambda n: request(
                "DeleteShareGroupOffsets",
                group_id=share_group(n),
                topics=[{"topic_name": n.topic}],
            ),
        ),
        **{
            f"{what}ShareGroupState{more}": Trial(
                ("cluster",),
                lambda n, api=f"{what}ShareGroupState{more}": request(
                    api,
                    group_id=n.group,
                    topics=[{"topic_id": n.topic_id, "partitions": [{"partition": 0}]}],
                ),
            )
            for what, more in (
                ("Initialize", ""),
                ("Read", ""),
                ("Write", ""),
                ("Delete", ""),
                ("Read", "Summary"),
            )
        },
        "FindCoordinator of-shares": Trial(
            ("cluster",),
            lambda n: request(
                "FindCoordinator",
                key_type=2,
                coordinator_keys=[f"{n.group}:{_MEMBER}:0"],
                oldest=6,
            ),
        ),
    }


def _transactions() -> Mapping[str, Trial]:
    return {
        "AddPartitionsToTxn of-brokers": Trial(
            ("cluster",),
            lambda n: request(
                "AddPartitionsToTxn",
                transactions=[
                    {
                        "transactional_id": n.transactional_id,
                        "producer_id": 0,
                        "producer_epoch": 0,
                        "verify_only": False,
                        "topics": [{"name": n.topic, "partitions": [0]}],
                    }
                ],
                oldest=4,
            ),
        ),
        "AddOffsetsToTxn": Trial(
            ("group",),
            lambda n: request(
                "AddOffsetsToTxn",
                transactional_id=n.transactional_id,
                producer_id=0,
                producer_epoch=0,
                group_id=n.group,
            ),
        ),
        "TxnOffsetCommit": Trial(
            ("topic", "group", "transaction"),
            lambda n: request(
                "TxnOffsetCommit",
                transactional_id=n.transactional_id,
                group_id=n.group,
                producer_id=0,
                producer_epoch=0,
                topics=[{"name": n.topic, "partitions": [_committed()]}],
            ),
        ),
        "WriteTxnMarkers": Trial(
            ("cluster",),
            lambda n: request(
                "WriteTxnMarkers",
                markers=[
                    {
                        "producer_id": 0,
                        "producer_epoch": 0,
                        "transaction_result": True,
                        "topics": [{"name": n.topic, "partition_indexes": [0]}],
                        "coordinator_epoch": 0,
                    }
                ],
            ),
        ),
    }


def _settings() -> Mapping[str, Trial]:
    interval = {"name": "consumer.session.timeout.ms", "value": "50000"}
    return {
        "AlterConfigs": Trial(
            ("topic",),
            lambda n: request(
                "AlterConfigs",
                resources=[{"resource_type": _TOPIC, "resource_name": n.topic, "configs": []}],
                validate_only=True,
            ),
        ),
        "DescribeConfigs of-group": Trial(
            ("group",),
            lambda n: request(
                "DescribeConfigs",
                resources=[
                    {
                        "resource_type": _GROUP_CONFIG,
                        "resource_name": n.group,
                        "configuration_keys": None,
                    }
                ],
            ),
        ),
        "IncrementalAlterConfigs of-group": Trial(
            ("group",),
            lambda n: request(
                "IncrementalAlterConfigs",
                resources=[
                    {
                        "resource_type": _GROUP_CONFIG,
                        "resource_name": n.group,
                        "configs": [{**interval, "config_operation": 0}],
                    }
                ],
                validate_only=True,
            ),
        ),
    }


def _cluster() -> Mapping[str, Trial]:
    acl = {"resource_type": _TOPIC, "host": "*", "operation": 3, "permission_type": 3}
    wanted = {"resource_type_filter": _TOPIC, "host_filter": None, "operation": 1}
    builds: Mapping[str, Callable[[Names], Message]] = {
        "CreateAcls": lambda n: request(
            "CreateAcls",
            creations=[{**acl, "resource_name": n.topic, "principal": f"User:{n.user}"}],
        ),
        "DeleteAcls": lambda n: request(
            "DeleteAcls",
            filters=[
                {
                    **wanted,
                    "permission_type": 1,
                    "resource_name_filter": n.topic,
                    "principal_filter": None,
                }
            ],
        ),
        "AlterClientQuotas": lambda n: request(
            "AlterClientQuotas",
            entries=[
                {
                    "entity": [{"entity_type": "user", "entity_name": n.user}],
                    "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": True}],
                }
            ],
            validate_only=False,
        ),
        "AlterUserScramCredentials": lambda n: request(
            "AlterUserScramCredentials",
            deletions=[{"name": n.user, "mechanism": 1}],
            upsertions=[],
        ),
        "AlterReplicaLogDirs": lambda n: request(
            "AlterReplicaLogDirs",
            dirs=[{"path": "/nowhere", "topics": [{"name": n.topic, "partitions": [0]}]}],
        ),
        "DescribeQuorum": lambda _: request(
            "DescribeQuorum",
            topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}],
        ),
        "UpdateFeatures": lambda _: request(
            "UpdateFeatures", timeout_ms=10_000, feature_updates=[], validate_only=True
        ),
        "UnregisterBroker": lambda _: request("UnregisterBroker", broker_id=99),
        "AddRaftVoter": lambda _: request(
            "AddRaftVoter", cluster_id=None, timeout_ms=1_000, voter_id=99, listeners=[]
        ),
        "RemoveRaftVoter": lambda _: request("RemoveRaftVoter", cluster_id=None, voter_id=99),
        "CreateDelegationToken": lambda n: request(
            "CreateDelegationToken",
            owner_principal_type="User",
            owner_principal_name=n.user,
            renewers=[],
            max_lifetime_ms=-1,
        ),
        "RenewDelegationToken": lambda _: request(
            "RenewDelegationToken", hmac=b"x", renew_period_ms=-1
        ),
        "ExpireDelegationToken": lambda _: request(
            "ExpireDelegationToken", hmac=b"x", expiry_time_period_ms=-1
        ),
    }
    return {api: Trial(("cluster",), build) for api, build in builds.items()}


def listings() -> Mapping[str, Message]:
    """What names things unasked, by API."""
    anything = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    return {
        "Metadata": request("Metadata", topics=None, allow_auto_topic_creation=False),
        "DescribeTopicPartitions": request("DescribeTopicPartitions", topics=[]),
        "ListGroups": request("ListGroups"),
        "ListTransactions": request("ListTransactions"),
        "DescribeAcls": request(
            "DescribeAcls",
            resource_type_filter=1,
            pattern_type_filter=1,
            operation=1,
            permission_type=1,
            **anything,
        ),
        "DescribeClientQuotas": request("DescribeClientQuotas", components=[], strict=False),
        "DescribeLogDirs": request("DescribeLogDirs", topics=None),
        "ListPartitionReassignments": request("ListPartitionReassignments", topics=None),
        "ListConfigResources": request("ListConfigResources", resource_types=[_TOPIC], oldest=1),
        "DescribeUserScramCredentials": request("DescribeUserScramCredentials", users=[]),
        "DescribeDelegationToken": request("DescribeDelegationToken", owners=None),
        "DescribeCluster": request("DescribeCluster"),
    }


NO_TENANTS = {
    "ApiVersions": "which versions the broker knows",
    "SaslHandshake": "comes before the broker knows who is asking",
    "SaslAuthenticate": "comes before the broker knows who is asking",
    "GetTelemetrySubscriptions": "how the client is to measure itself",
    "PushTelemetry": "the client's own measurements",
}
"""The APIs that are about nobody's topics, groups or transactional ids, and why."""
