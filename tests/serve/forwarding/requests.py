"""A request with one item for every API that is forwarded."""

from serve.topic_requests import creating

from kgitops.wire.messages import Message, message_class


def with_an_item(api: str, version: int, timeout_ms: int = 60_000) -> Message:
    """A request about one topic ``orders`` or user ``alice``, or about nothing in particular."""
    request = message_class(f"{api}Request")
    match api:
        case "CreateTopics":
            made = creating("orders")
        case "DeleteTopics" if version >= 6:
            made = request(topics=[request.DeleteTopicState(name="orders")])
        case "DeleteTopics":
            made = request(topic_names=["orders"])
        case "CreatePartitions":
            row = request.CreatePartitionsTopic(name="orders", count=2, assignments=None)
            made = request(topics=[row])
        case "CreateAcls":
            row = request.AclCreation(
                resource_type=2,
                resource_name="orders",
                principal="User:alice",
                host="*",
                operation=3,
                permission_type=3,
            )
            made = request(creations=[row])
        case "DeleteAcls":
            row = request.DeleteAclsFilter(
                resource_type_filter=2, resource_name_filter=None, operation=1, permission_type=1
            )
            made = request(filters=[row])
        case "AlterConfigs" | "IncrementalAlterConfigs":
            row = request.AlterConfigsResource(resource_type=2, resource_name="orders")
            made = request(resources=[row])
        case "ElectLeaders":
            row = request.TopicPartitions(topic="orders", partitions=[0])
            made = request(topic_partitions=[row])
        case "AlterPartitionReassignments":
            part = request.ReassignablePartition(partition_index=0, replicas=[1])
            made = request(topics=[request.ReassignableTopic(name="orders", partitions=[part])])
        case "ListPartitionReassignments":
            row = request.ListPartitionReassignmentsTopics(name="orders", partition_indexes=[0])
            made = request(topics=[row])
        case "AlterClientQuotas":
            entity = [request.EntityData(entity_type="user", entity_name="alice")]
            ops = [request.OpData(key="producer_byte_rate", value=1024.0)]
            made = request(entries=[request.EntryData(entity=entity, ops=ops)])
        case "AlterUserScramCredentials":
            made = request(deletions=[request.ScramCredentialDeletion(name="alice", mechanism=1)])
        case "DescribeQuorum":
            part = request.PartitionData(partition_index=0)
            made = request(
                topics=[request.TopicData(topic_name="__cluster_metadata", partitions=[part])]
            )
        case "CreateVirtualClusters":
            made = request(virtual_clusters=[request.CreatableVirtualCluster(name="team")])
        case "AlterVirtualClusters":
            row = request.VirtualClusterResource(
                resource_type=2, resource_name="User:alice", resource_operation=1
            )
            made = request(
                virtual_cluster=[request.VirtualClusterData(name="team", resources=[row])]
            )
        case "DeleteVirtualClusters":
            made = request(virtual_clusters=[request.DeletableVirtualCluster(name="team")])
        case _:
            made = request()
    if hasattr(made, "timeout_ms"):
        made.timeout_ms = timeout_ms
    return made
