"""The APIs that clients may use, and what becomes of each."""

from functools import cache

from kgitops.wire.apis import Api, apis, keys

TOPIC_RESOURCE = 2
GROUP_RESOURCE = 32

_USED = frozenset(
    [
        "Produce",
        "Fetch",
        "ListOffsets",
        "Metadata",
        "OffsetCommit",
        "OffsetFetch",
        "FindCoordinator",
        "JoinGroup",
        "Heartbeat",
        "LeaveGroup",
        "SyncGroup",
        "DescribeGroups",
        "ListGroups",
        "SaslHandshake",
        "ApiVersions",
        "DeleteRecords",
        "InitProducerId",
        "OffsetForLeaderEpoch",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "EndTxn",
        "TxnOffsetCommit",
        "DescribeConfigs",
        "SaslAuthenticate",
        "DeleteGroups",
        "OffsetDelete",
        "DescribeCluster",
        "DescribeProducers",
        "DescribeTransactions",
        "ListTransactions",
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
        "ShareGroupHeartbeat",
        "ShareGroupDescribe",
        "ShareFetch",
        "ShareAcknowledge",
        "DescribeShareGroupOffsets",
        "AlterShareGroupOffsets",
        "DeleteShareGroupOffsets",
        "StreamsGroupHeartbeat",
        "StreamsGroupDescribe",
    ]
)
"""The APIs for members of virtual clusters: every name in these has a hook.

DescribeTopicPartitions is not among them,
since it goes through pages in the order of physical names; clients then ask for Metadata. Telemetry
and the APIs of operators are not either.
"""

REFUSED = frozenset(
    [
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "AlterConfigs",
        "IncrementalAlterConfigs",
        "CreateAcls",
        "DeleteAcls",
        "AlterClientQuotas",
    ]
)
"""The APIs that would change declared objects: the gateway answers with POLICY_VIOLATION."""

_OLDEST = {
    # The first version of SaslHandshake is followed by tokens without a frame of their own.
    "SaslHandshake": 1,
}


@cache
def used_in_virtual_clusters() -> frozenset[int]:
    """The keys of the APIs that are announced to members of virtual clusters."""
    return frozenset(keys()[name] for name in _USED | REFUSED)


@cache
def passed_on() -> frozenset[int]:
    """The keys of the APIs that are announced to clients in no virtual cluster."""
    return frozenset(
        key for key, api in apis().items() if "broker" in api.listeners and key < 10000
    )


def versions_of(api: Api) -> range:
    """The versions that may be used."""
    return range(max(api.versions.start, _OLDEST.get(api.name, 0)), api.versions.stop)
