"""Every API that is answered: by which function, and in which thread."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto

from msgspec import Struct

from kgitops.serve.answers import (
    cluster,
    metadata,
    partitions,
    quorum,
    reassignments,
    scram,
    topics,
)
from kgitops.serve.answers.groups import consumers, groups, members, offsets
from kgitops.serve.answers.groups import shares as share_groups
from kgitops.serve.answers.records import (
    fetch,
    partition_offsets,
    produce,
    producers,
    shares,
    transactions,
)
from kgitops.serve.answers.settings import acls, configs, quotas, virtual_clusters
from kgitops.serve.call import ApiCall, Later
from kgitops.wire.messages import Message


class Thread(Enum):
    """The thread that a request is answered in."""

    DECISION = auto()
    """The one in which the cluster changes, policies judge and the disk is waited for."""
    READ_IF_LARGE = auto()
    """The event loop's; a request that may take long has one of its own."""


Answer = Callable[[ApiCall, Message], Message | Later | None]
"""Answers a request, or gives a function that waits for its answer.

None where the client expects nothing.
"""
WaitingAnswer = Callable[[ApiCall, Message], Awaitable[Message | None]]
"""Answers a request that may have to wait for others, in the event loop."""


class ApiAnswer(Struct, frozen=True):
    """The answer of an API, and the thread that it is found in."""

    answer: Answer
    thread: Thread
    asks_for_all: Callable[[Message], bool] = lambda _: True
    """Tells if a request, if it only reads, may be about all that the cluster has."""


def _reads(answer: Answer, asks_for_all: Callable[[Message], bool] = lambda _: True) -> ApiAnswer:
    return ApiAnswer(answer, Thread.READ_IF_LARGE, asks_for_all)


def _names_no_topics(request: Message) -> bool:
    return not request.topics


def _writes(answer: Answer) -> ApiAnswer:
    return ApiAnswer(answer, Thread.DECISION)


ANSWERS: Mapping[str, ApiAnswer] = {
    "Metadata": _reads(metadata.metadata, _names_no_topics),
    "DescribeCluster": _reads(cluster.describe_cluster, lambda _: False),
    "CreateTopics": _writes(topics.create_topics),
    "DeleteTopics": _writes(topics.delete_topics),
    "CreatePartitions": _writes(topics.create_partitions),
    "DescribeTopicPartitions": _reads(partitions.describe_topic_partitions, _names_no_topics),
    "AlterPartitionReassignments": _writes(reassignments.alter_partition_reassignments),
    "ListPartitionReassignments": _reads(reassignments.list_partition_reassignments),
    "ElectLeaders": _reads(reassignments.elect_leaders),
    "AlterReplicaLogDirs": _reads(partitions.alter_replica_log_dirs),
    "DescribeLogDirs": _reads(partitions.describe_log_dirs, _names_no_topics),
    "DescribeQuorum": _reads(quorum.describe_quorum),
    "UpdateFeatures": _reads(cluster.update_features),
    "SaslHandshake": _reads(scram.sasl_handshake),
    "SaslAuthenticate": _reads(scram.sasl_authenticate),
    "DescribeUserScramCredentials": _reads(scram.describe_user_scram_credentials),
    "AlterUserScramCredentials": _writes(scram.alter_user_scram_credentials),
    "FindCoordinator": _reads(groups.find_coordinator),
    "ListGroups": _reads(groups.list_groups),
    "DescribeGroups": _reads(groups.describe_groups),
    "DeleteGroups": _writes(groups.delete_groups),
    "ConsumerGroupDescribe": _reads(consumers.consumer_group_describe),
    "OffsetCommit": _writes(offsets.offset_commit),
    "OffsetFetch": _reads(offsets.offset_fetch),
    "OffsetDelete": _writes(offsets.offset_delete),
    "DescribeConfigs": _reads(configs.describe_configs),
    "IncrementalAlterConfigs": _writes(configs.incremental_alter_configs),
    "AlterConfigs": _writes(configs.alter_configs),
    "ListConfigResources": _reads(configs.list_config_resources),
    "DescribeAcls": _reads(acls.describe_acls),
    "CreateAcls": _writes(acls.create_acls),
    "DeleteAcls": _writes(acls.delete_acls),
    "DescribeClientQuotas": _reads(quotas.describe_client_quotas),
    "AlterClientQuotas": _writes(quotas.alter_client_quotas),
    "CreateVirtualClusters": _writes(virtual_clusters.create_virtual_clusters),
    "AlterVirtualClusters": _writes(virtual_clusters.alter_virtual_clusters),
    "DeleteVirtualClusters": _writes(virtual_clusters.delete_virtual_clusters),
    "ListVirtualClusters": _reads(virtual_clusters.list_virtual_clusters),
    "DescribeVirtualClusters": _reads(virtual_clusters.describe_virtual_clusters),
    "Produce": _writes(produce.produce),
    "DeleteRecords": _writes(partition_offsets.delete_records),
    "InitProducerId": _writes(producers.init_producer_id),
    "AddPartitionsToTxn": _writes(transactions.add_partitions_to_txn),
    "AddOffsetsToTxn": _writes(transactions.add_offsets_to_txn),
    "TxnOffsetCommit": _writes(transactions.txn_offset_commit),
    "EndTxn": _writes(transactions.end_txn),
    "DescribeTransactions": _reads(transactions.describe_transactions),
    "ListTransactions": _reads(transactions.list_transactions),
}

WAITING: Mapping[str, WaitingAnswer] = {
    # Groups change in the event loop alone, so these are here though some of them never wait.
    "JoinGroup": members.join_group,
    "SyncGroup": members.sync_group,
    "Heartbeat": members.heartbeat,
    "LeaveGroup": members.leave_group,
    "ConsumerGroupHeartbeat": consumers.consumer_group_heartbeat,
    "ShareGroupHeartbeat": share_groups.share_group_heartbeat,
    "ShareGroupDescribe": share_groups.share_group_describe,
    "DescribeShareGroupOffsets": share_groups.describe_share_group_offsets,
    "AlterShareGroupOffsets": share_groups.alter_share_group_offsets,
    "DeleteShareGroupOffsets": share_groups.delete_share_group_offsets,
    "ShareFetch": shares.share_fetch,
    "ShareAcknowledge": shares.share_acknowledge,
    "Fetch": fetch.fetch,
    "ListOffsets": partition_offsets.list_offsets,
    "OffsetForLeaderEpoch": partition_offsets.offset_for_leader_epoch,
    "DescribeProducers": producers.describe_producers,
}
