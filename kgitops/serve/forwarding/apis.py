"""The APIs that brokers forward, and the versions from which on KIP-590 would not."""

from collections.abc import Mapping

from kgitops.wire.apis import apis

FORWARDED = frozenset(
    {
        # org.apache.kafka.common.protocol.ApiKeys.forwardable
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "CreateAcls",
        "DeleteAcls",
        "AlterConfigs",
        "IncrementalAlterConfigs",
        "ElectLeaders",
        "AlterPartitionReassignments",
        "ListPartitionReassignments",
        "AlterClientQuotas",
        "AlterUserScramCredentials",
        "CreateDelegationToken",
        "RenewDelegationToken",
        "ExpireDelegationToken",
        "DescribeQuorum",
        "UpdateFeatures",
        "UnregisterBroker",
        "AddRaftVoter",
        "RemoveRaftVoter",
        # KIP-1134's, which go to the controller too (VC-242)
        "CreateVirtualClusters",
        "AlterVirtualClusters",
        "DeleteVirtualClusters",
    }
)
"""All others are answered where they arrive: DeleteRecords, and everything that reads."""

FIRST_FOR_CONTROLLER: Mapping[str, int] = {
    # KIP-590, "Protocol Bumps".
    "AlterConfigs": 2,
    "IncrementalAlterConfigs": 2,
    "CreateAcls": 3,
    "DeleteAcls": 3,
    "AlterClientQuotas": 1,
    "CreateDelegationToken": 3,
    "RenewDelegationToken": 3,
    "ExpireDelegationToken": 3,
}
"""By API the version from which on, as the proposal has it, only the controller is asked.

Kafka never did that: its brokers forward all versions, and these versions are others by now (C-16).
"""


def is_for_controller(api: str, version: int) -> bool:
    """Return whether the proposal lets a broker refuse the version with NOT_CONTROLLER."""
    return version >= FIRST_FOR_CONTROLLER.get(api, version + 1)


def common_versions(
    announced: Mapping[int, range], controller: Mapping[int, range]
) -> Mapping[int, range]:
    """The versions that a broker announces: of what it forwards those that both understand."""
    keys = {key for key, api in apis().items() if api.name in FORWARDED}
    found = {}
    for key, versions in announced.items():
        theirs = controller.get(key, range(0)) if key in keys else versions
        both = range(max(versions.start, theirs.start), min(versions.stop, theirs.stop))
        if both:
            found[key] = both
    return found
