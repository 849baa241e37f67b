"""A topic as it is, and as a request would leave it (KIP-201)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.model.resources.names import is_internal

Assignment = tuple[tuple[int, ...], ...]
"""Broker ids per partition, by partition id; the first of each is the preferred leader (A4-44)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """A topic as it is, its own configs only: broker defaults are not part of it (P201-18).

    While a reassignment runs, ``assignment`` is the target set (P201-16).
    """

    name: str
    topic_id: str | None
    assignment: Assignment
    configs: Mapping[str, str] = field(default_factory=dict)
    marked_for_deletion: bool = False
    reassigning: bool = False

    @property
    def num_partitions(self) -> int:
        """How many partitions (P201-13)."""
        return len(self.assignment)

    @property
    def replication_factor(self) -> int:
        """The number of replicas of partition 0 (P201-14)."""
        return len(self.assignment[0]) if self.assignment else 0

    @property
    def replicas_assignments(self) -> Mapping[int, tuple[int, ...]]:
        """Partition id to broker ids, in order (P201-15)."""
        return dict(enumerate(self.assignment))

    @property
    def internal(self) -> bool:
        """Whether brokers own this topic (P201-20)."""
        return is_internal(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedTopicState(TopicState):
    """A topic as it would be after a request (KIP-201, RequestedTopicState).

    ``configs`` is the true state afterwards; ``requested_configs`` only what the request names,
    None for a key that it removes (P201-25…27). ``generated_replica_assignments`` is true when
    the assignment that this request adds was placed for the user (P201-23, P201-32).
    """

    requested_configs: Mapping[str, str | None] = field(default_factory=dict)
    generated_replica_assignments: bool = False
