"""Limits on the time and the size for which topics keep records."""

from kgitops.model.resources.topics import TopicState
from kgitops.policies.topic_rule import (
    TopicRule,
    deletes,
    limit,
    partitions_text,
    require_range,
    shown,
    wanted,
)
from kgitops.policy import ClusterState, PolicyViolation
from kgitops.policy.readers import whole
from kgitops.policy.settings import Setting, optional
from kgitops.policy.units import byte_size, duration_ms, duration_text, size_text


class RetentionRange(TopicRule):
    """Records are kept long enough for consumers, and no longer than the rules allow.

    A topic that is only compacted is not judged: its retention means nothing.
    """

    remediation = "Set configs.retention.ms within the range."

    min = optional(duration_ms, "the shortest retention, such as 1h")
    max = optional(duration_ms, "the longest retention, such as 30d")

    def settle(self) -> None:
        """One end must be given, and the range must not be empty."""
        require_range(self.min, self.max, "max: 30d")

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Look at the value that holds, be it the topic's or the cluster's default."""
        if not deletes(topic, cluster_state):
            return
        kept = limit(topic, "retention.ms", cluster_state)
        allowed = wanted(kept, self.min, self.max, duration_text)
        if allowed:
            raise PolicyViolation(
                f"retention.ms of {topic.name} is {shown(kept, duration_text)}; {allowed} is "
                "allowed",
                field="configs.retention.ms",
            )


class TopicSizeCap(TopicRule):
    """A topic can't fill the disks: its partitions times retention.bytes are bounded.

    Replicas are not counted. A topic that is only compacted is not judged.
    """

    remediation = (
        "Set configs.retention.bytes, which counts for each partition, or fewer partitions."
    )

    max = Setting(byte_size, "the most that a topic may hold, such as 100GiB")

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Look at the value that holds, be it the topic's or the cluster's default."""
        if not deletes(topic, cluster_state):
            return
        each = limit(topic, "retention.bytes", cluster_state)
        if each * topic.num_partitions > self.max:
            raise PolicyViolation(
                f"{topic.name} may hold {partitions_text(topic.num_partitions)} x "
                f"{shown(each, size_text)} (retention.bytes); at most {size_text(self.max)} "
                "in all is allowed",
                field="configs.retention.bytes",
            )


class ShortRetentionOfBigTopics(TopicRule):
    """A topic with many partitions keeps its records only for a short time."""

    remediation = "Set a shorter configs.retention.ms, or fewer partitions."

    partitions = Setting(whole, "the most partitions of a topic that may keep records longer")
    max = Setting(duration_ms, "the longest retention of topics with more, such as 7d")

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Look at partitions and retention together, whichever of them a request changes."""
        if topic.num_partitions <= self.partitions or not deletes(topic, cluster_state):
            return
        kept = limit(topic, "retention.ms", cluster_state)
        if kept > self.max:
            raise PolicyViolation(
                f"{topic.name} has {partitions_text(topic.num_partitions)} and its retention.ms is "
                f"{shown(kept, duration_text)}; with more than {partitions_text(self.partitions)} "
                f"at most {duration_text(self.max)} is allowed",
                field="configs.retention.ms",
            )
