"""Limits on the partitions of topics, alone and together."""

from kgitops.model.resources.topics import TopicState
from kgitops.policies.topic_rule import (
    TopicPolicy,
    TopicRule,
    called,
    partitions_text,
    require_range,
    wanted,
)
from kgitops.policy import AlterTopicRequest, ClusterState, CreateTopicRequest, PolicyViolation
from kgitops.policy.api.requests import TopicRequest
from kgitops.policy.readers import counts, flag, patterns, whole
from kgitops.policy.settings import Setting, optional


class PartitionRange(TopicRule):
    """A topic has a sensible number of partitions."""

    remediation = "Set spec.partitions within the range."

    min = optional(whole, "the fewest partitions of a topic")
    max = optional(whole, "the most partitions of a topic")

    def settle(self) -> None:
        """One end must be given, and the range must not be empty."""
        require_range(self.min, self.max, "max: 48")

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Count the topic's partitions."""
        allowed = wanted(topic.num_partitions, self.min, self.max)
        if allowed:
            raise PolicyViolation(
                f"{topic.name} has {partitions_text(topic.num_partitions)}; {allowed} are allowed",
                field="partitions",
            )


class PartitionBudget(TopicPolicy):
    """All topics together, and those of each tenant, have no more partitions than agreed.

    Internal topics are not counted. A topic that is being deleted counts until it is gone. Prefixes
    are those of physical names: one virtual cluster's orders are not another's.
    """

    remediation = "Ask for fewer partitions, delete topics, or have the budget raised."

    max = optional(whole, "the most partitions of the cluster")
    max_per_broker = optional(whole, "the most partitions of the cluster for each broker")
    prefixes = optional(counts, "PREFIX=MAX for each tenant, such as sales.=100")

    def settle(self) -> None:
        """Some budget must be given."""
        if self.max is None and self.max_per_broker is None and self.prefixes is None:
            raise ValueError("there is no budget (write max, maxPerBroker or prefixes)")

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """A new topic takes all its partitions from the budget."""
        if self.judges(request):
            self._spend(request, request.requested_state.num_partitions, cluster_state)

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """A topic that grows takes the partitions that are added."""
        added = added_partitions(request, cluster_state.topic_state(request.topic))
        if added and self.judges(request):
            self._spend(request, added, cluster_state)

    def _spend(self, request: TopicRequest, added: int, cluster_state: ClusterState) -> None:
        budgets = [
            (prefix, f"topics that begin with {prefix} may have", most)
            for prefix, most in self.prefixes or ()
            if request.topic.startswith(prefix)
        ]
        if self.max is not None:
            budgets.append(("", "the cluster may have", self.max))
        if self.max_per_broker is not None:
            brokers = cluster_state.cluster_size()
            owner = f"with {brokers} brokers the cluster may have"
            budgets.append(("", owner, self.max_per_broker * brokers))
        for prefix, owner, most in budgets:
            used = cluster_state.partitions(prefix)
            if used + added > most:
                raise PolicyViolation(
                    f"{request.name} needs {partitions_text(added)} more; {owner} {most}, and "
                    f"{used} are used",
                    field="partitions",
                )


class NoPartitionGrowthOfKeyedTopics(TopicPolicy):
    """A topic whose records have keys gets no more partitions: its keys would change places.

    Keyed are the topics that are compacted, and those that the config names.
    """

    remediation = "Create another topic with more partitions and move its producers and consumers."

    keyed = optional(patterns, "patterns of the topics that hold keyed records")
    compacted = Setting(flag, "whether compacted topics count as keyed", "true")

    def settle(self) -> None:
        """Something must count as keyed."""
        if self.keyed is None and not self.compacted:
            raise ValueError("no topic counts as keyed (write keyed, or compacted: true)")

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse a growth; every other change is accepted."""
        before = cluster_state.topic_state(request.topic)
        added = added_partitions(request, before)
        if before is None or added == 0 or not self.judges(request):
            return
        if self._is_keyed(called(before, request), cluster_state):
            raise PolicyViolation(
                f"{request.name} holds keyed records, so it must stay with its "
                f"{partitions_text(before.num_partitions)}: {added} more would send keys elsewhere",
                field="partitions",
            )

    def _is_keyed(self, topic: TopicState, cluster_state: ClusterState) -> bool:
        if self.keyed is not None and topic.name in self.keyed:
            return True
        cleanup = cluster_state.effective_config(topic, "cleanup.policy") or ""
        return self.compacted and "compact" in cleanup


def added_partitions(request: AlterTopicRequest, before: TopicState | None) -> int:
    """The number of partitions that the request adds."""
    held = before.assignment if before else ()
    return len(request.requested_state.assignment) - len(held)
