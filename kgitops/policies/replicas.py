"""How many replicas a topic has, and how many must be in sync."""

from kgitops.model.resources.topics import TopicState
from kgitops.policies.ranges import number_of, require_order
from kgitops.policies.topic_rule import TopicRule
from kgitops.policy import ClusterState, PolicyViolation
from kgitops.policy.readers import whole
from kgitops.policy.settings import Setting, optional


class ReplicationFactorRange(TopicRule):
    """A topic has enough replicas to survive failures, and no more than that takes."""

    remediation = "Set spec.replicationFactor, or the lists of spec.assignments, within the range."

    min = Setting(whole, "the fewest replicas of a partition", "3")
    max = optional(whole, "the most replicas of a partition")

    def settle(self) -> None:
        """The range must not be empty."""
        require_order(self.min, self.max)

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Look at every partition: one that is held otherwise counts as well."""
        held = [len(replicas) for replicas in topic.assignment]
        if min(held) < self.min:
            raise PolicyViolation(
                f"{topic.name} has replication factor {min(held)}; at least {self.min} is needed",
                field="replicationFactor",
            )
        if self.max is not None and max(held) > self.max:
            raise PolicyViolation(
                f"{topic.name} has replication factor {max(held)}; at most {self.max} is allowed",
                field="replicationFactor",
            )


class MinInsyncReplicasRange(TopicRule):
    """An acknowledged record survives a failure, and a failure does not stop producers."""

    remediation = (
        "Set configs.min.insync.replicas to the replication factor less the brokers that may fail, "
        "usually 2 of 3."
    )

    min = Setting(whole, "the least min.insync.replicas", "2")
    spare = Setting(whole, "how many replicas must be able to fail while producers go on", "1")

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Look at the value that holds, be it the topic's or the cluster's default."""
        key = "min.insync.replicas"
        insync = number_of(topic, key, cluster_state)
        if insync < self.min:
            raise PolicyViolation(
                f"{topic.name} has min.insync.replicas {insync}; at least {self.min} is needed",
                field=f"configs.{key}",
            )
        if insync > topic.replication_factor - self.spare:
            raise PolicyViolation(
                f"{topic.name} has min.insync.replicas {insync} of {topic.replication_factor} "
                f"replicas; {self.spare} must be able to fail while producers go on",
                field=f"configs.{key}",
            )
