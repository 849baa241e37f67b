"""Every operation on a topic, a group or a transactional id, as a client's request on the wire."""

from collections.abc import Callable, Mapping
from uuid import UUID

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import (
    FetchRequest,
    JoinGroupRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
from kafka.record.memory_records import MemoryRecordsBuilder
from msgspec import Struct

from kgitops.cluster.kafka.transport.wire import Message, Wire

_TOPIC, _GROUP, _TRANSACTION = 2, 0, 1
_NO_EPOCH = -1
_CONFIGS = IncrementalAlterConfigsRequest.AlterConfigsResource
Operation = Callable[[Wire, "Names"], int]


class Names(Struct, frozen=True):
    """What a tenant would name; each physical, or as another tenant calls it."""

    topic: str
    group: str
    transactional_id: str
    topic_id: UUID | None = None
    user: str = ""


def topic_operations() -> Mapping[str, Operation]:
    """Each gives the error code for the topic."""
    return {
        "Metadata": lambda wire, names: wire.send(_metadata(names.topic)).topics[0].error_code,
        "Produce": _produce,
        "Fetch": _fetch,
        "ListOffsets": lambda wire, names: _partition_code(wire, _list_offsets(names.topic)),
        "OffsetForLeaderEpoch": lambda wire, names: _partition_code(wire, _epoch(names.topic)),
        "CreatePartitions": _create_partitions,
        "DeleteTopics": _delete_topic,
        "DeleteRecords": lambda wire, names: _partition_code(wire, _delete_records(names.topic)),
        "DescribeConfigs": _describe_configs,
        "IncrementalAlterConfigs": _alter_configs,
        "DescribeProducers": lambda wire, names: _partition_code(wire, _producers(names.topic)),
        "ElectLeaders": _elect,
        "AlterPartitionReassignments": _reassign,
        "OffsetCommit": _commit,
        "OffsetDelete": _delete_offset,
        "AddPartitionsToTxn": _add_partitions,
    }


def group_operations() -> Mapping[str, Operation]:
    """Each gives the error code for the group."""
    return {
        "FindCoordinator": lambda wire, names: _coordinator(wire, names.group, _GROUP),
        "JoinGroup": _join,
        "OffsetFetch": _fetch_offsets,
        "OffsetCommit": _commit,
        "OffsetDelete": _delete_offset,
        "DescribeGroups": lambda wire, names: (
            wire.send(
                DescribeGroupsRequest(groups=[names.group], include_authorized_operations=False)
            )
            .groups[0]
            .error_code
        ),
        "DeleteGroups": lambda wire, names: (
            wire.send(DeleteGroupsRequest(groups_names=[names.group])).results[0].error_code
        ),
    }


def transaction_operations() -> Mapping[str, Operation]:
    """Each gives the error code for the transactional id."""
    return {
        "FindCoordinator": lambda wire, names: _coordinator(
            wire, names.transactional_id, _TRANSACTION
        ),
        "InitProducerId": lambda wire, names: _init(wire, names).error_code,
        "AddPartitionsToTxn": _add_partitions,
        "AddOffsetsToTxn": lambda wire, names: (
            wire.send(
                AddOffsetsToTxnRequest(
                    transactional_id=names.transactional_id,
                    producer_id=0,
                    producer_epoch=0,
                    group_id=names.group,
                )
            ).error_code
        ),
        "EndTxn": lambda wire, names: (
            wire.send(
                EndTxnRequest(
                    transactional_id=names.transactional_id,
                    producer_id=0,
                    producer_epoch=0,
                    committed=True,
                )
            ).error_code
        ),
        "DescribeTransactions": lambda wire, names: (
            wire.send(DescribeTransactionsRequest(transactional_ids=[names.transactional_id]))
            .transaction_states[0]
            .error_code
        ),
    }


def _metadata(topic: str) -> Message:
    return MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic)],
        allow_auto_topic_creation=False,
        min_version=10,
    )


def _topic_id(wire: Wire, topic: str) -> object:
    """All zeros where it may not be seen."""
    return wire.send(_metadata(topic)).topics[0].topic_id


def _produce(wire: Wire, names: Names) -> int:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 14)
    builder.append(0, b"k", b"v")
    builder.close()
    topic = ProduceRequest.TopicProduceData
    data = topic.PartitionProduceData(index=0, records=builder.buffer())
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[topic(name=names.topic, partition_data=[data])],
        max_version=12,  # the last that names topics
    )
    return int(wire.send(request).responses[0].partition_responses[0].error_code)


def _fetch(wire: Wire, names: Names) -> int:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        partition=0,
        current_leader_epoch=_NO_EPOCH,
        fetch_offset=0,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1 << 20,
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[topic(topic=names.topic, partitions=[partition])],
        forgotten_topics_data=[],
        rack_id="",
        max_version=12,
    )
    return int(wire.send(request).responses[0].partitions[0].error_code)


def _partition_code(wire: Wire, request: Message) -> int:
    return int(wire.send(request).topics[0].partitions[0].error_code)


def _list_offsets(topic: str) -> Message:
    kind = ListOffsetsRequest.ListOffsetsTopic
    partition = kind.ListOffsetsPartition(
        partition_index=0, current_leader_epoch=_NO_EPOCH, timestamp=-1
    )
    return ListOffsetsRequest(isolation_level=0, topics=[kind(name=topic, partitions=[partition])])


def _epoch(topic: str) -> Message:
    kind = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partition = kind.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=_NO_EPOCH, leader_epoch=0
    )
    return OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[kind(topic=topic, partitions=[partition])]
    )


def _create_partitions(wire: Wire, names: Names) -> int:
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    request = CreatePartitionsRequest(
        topics=[kind(name=names.topic, count=2, assignments=None)],
        timeout_ms=10_000,
        validate_only=True,
    )
    return int(wire.send(request).results[0].error_code)


def _delete_topic(wire: Wire, names: Names) -> int:
    kind = DeleteTopicsRequest.DeleteTopicState
    topics = [kind(name=names.topic, topic_id=None)]
    request = DeleteTopicsRequest(topics=topics, timeout_ms=10_000, min_version=6)
    return int(wire.send(request).responses[0].error_code)


def _delete_records(topic: str) -> Message:
    kind = DeleteRecordsRequest.DeleteRecordsTopic
    partition = kind.DeleteRecordsPartition(partition_index=0, offset=0)
    return DeleteRecordsRequest(
        topics=[kind(name=topic, partitions=[partition])], timeout_ms=10_000
    )


def _describe_configs(wire: Wire, names: Names) -> int:
    kind = DescribeConfigsRequest.DescribeConfigsResource
    resource = kind(resource_type=_TOPIC, resource_name=names.topic, configuration_keys=None)
    return int(wire.send(DescribeConfigsRequest(resources=[resource])).results[0].error_code)


def _alter_configs(wire: Wire, names: Names) -> int:
    config = _CONFIGS.AlterableConfig(name="retention.ms", config_operation=0, value="86400000")
    resource = _CONFIGS(resource_type=_TOPIC, resource_name=names.topic, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)
    return int(wire.send(request).responses[0].error_code)


def _producers(topic: str) -> Message:
    kind = DescribeProducersRequest.TopicRequest
    return DescribeProducersRequest(topics=[kind(name=topic, partition_indexes=[0])])


def _elect(wire: Wire, names: Names) -> int:
    kind = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(
        election_type=0,
        topic_partitions=[kind(topic=names.topic, partitions=[0])],
        timeout_ms=10_000,
    )
    return int(wire.send(request).error_code)


def _reassign(wire: Wire, names: Names) -> int:
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = kind.ReassignablePartition(partition_index=0, replicas=[1])
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=10_000, topics=[kind(name=names.topic, partitions=[partition])]
    )
    return int(wire.send(request).error_code)


def _commit(wire: Wire, names: Names) -> int:
    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = kind.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=0, committed_metadata=""
    )
    request = OffsetCommitRequest(
        group_id=names.group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[kind(name=names.topic, partitions=[partition])],
        max_version=9,
    )
    return _partition_code(wire, request)


def _delete_offset(wire: Wire, names: Names) -> int:
    kind = OffsetDeleteRequest.OffsetDeleteRequestTopic
    partition = kind.OffsetDeleteRequestPartition(partition_index=0)
    request = OffsetDeleteRequest(
        group_id=names.group, topics=[kind(name=names.topic, partitions=[partition])]
    )
    answer = wire.send(request)
    return int(answer.error_code or answer.topics[0].partitions[0].error_code)


def _coordinator(wire: Wire, key: str, kind: int) -> int:
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key], min_version=4)
    return int(wire.send(request).coordinators[0].error_code)


def _join(wire: Wire, names: Names) -> int:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    request = JoinGroupRequest(
        group_id=names.group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[protocol],
        reason="",
    )
    return int(wire.send(request).error_code)


def _fetch_offsets(wire: Wire, names: Names) -> int:
    kind = OffsetFetchRequest.OffsetFetchRequestGroup
    request = OffsetFetchRequest(
        groups=[kind(group_id=names.group, topics=None)],
        require_stable=False,
        min_version=8,
        max_version=9,
    )
    return int(wire.send(request).groups[0].error_code)


def _init(wire: Wire, names: Names) -> Message:
    return wire.send(
        InitProducerIdRequest(
            transactional_id=names.transactional_id, transaction_timeout_ms=10_000
        )
    )


def _add_partitions(wire: Wire, names: Names) -> int:
    kind = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=names.transactional_id,
        v3_and_below_producer_id=0,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[kind(name=names.topic, partitions=[0])],
        max_version=3,
    )
    row = wire.send(request).results_by_topic_v3_and_below[0].results_by_partition[0]
    return int(row.partition_error_code)
