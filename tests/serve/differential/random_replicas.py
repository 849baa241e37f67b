"""Random requests that move replicas and elect leaders."""

from serve.differential.random_choices import Choices, Fields, Step


def alter_reassignments(choices: Choices) -> Step:
    """Replicas for some partitions; null cancels a move."""

    def partition() -> Fields:
        replicas = choices.often(
            choices.one([1, 2], [2, 3], [3, 1]), [1], [1, 2, 3], [], [1, 1], [9], [-1], None
        )
        return {"partition_index": choices.often(0, 1, 7, -1), "replicas": replicas}

    def topic() -> Fields:
        return {"name": choices.topic(), "partitions": choices.some(partition, most=2)}

    fields = {
        "timeout_ms": 30_000,
        "topics": choices.some(topic, most=2),
    }
    version = choices.often(1, 0)
    if version:
        fields["allow_replication_factor_change"] = choices.often(True, False)
    return Step("AlterPartitionReassignments", fields, writes=True, version=version)


def list_reassignments(choices: Choices) -> Step:
    """Of some partitions; all have ended when it is asked."""

    def topic() -> Fields:
        return {"name": choices.topic(), "partition_indexes": list(choices.partitions())}

    fields = {"timeout_ms": 30_000, "topics": choices.some(topic)}
    return Step("ListPartitionReassignments", fields, writes=False)


def elect_leaders(choices: Choices) -> Step:
    """Preferred (0) or unclean (1) leaders of partitions that have one."""

    def topic() -> Fields:
        return {"topic": choices.topic(), "partitions": list(choices.partitions())}

    fields = {
        "election_type": choices.often(0, 1),
        "topic_partitions": choices.some(topic),
        "timeout_ms": 30_000,
    }
    return Step("ElectLeaders", fields, writes=True, version=choices.often(2, 1))


def describe_cluster(choices: Choices) -> Step:
    """The brokers, or the controllers, which clients can't ask brokers for."""
    fields = {
        "include_cluster_authorized_operations": choices.one(True, False),
        "endpoint_type": choices.often(1, 2, 9),
        "include_fenced_brokers": choices.one(True, False),
    }
    return Step("DescribeCluster", fields, writes=False)


READS = (list_reassignments, list_reassignments, describe_cluster)
WRITES = (alter_reassignments, alter_reassignments, elect_leaders)
