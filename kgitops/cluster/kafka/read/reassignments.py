"""Reassignments that are running: which replicas of a partition come, and which go."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka.protocol.admin import ListPartitionReassignmentsRequest

from kgitops.cluster.kafka.answers import TIMEOUT_MS
from kgitops.cluster.kafka.read.answers import readable
from kgitops.cluster.kafka.transport.wire import Message, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """One partition on its way; ``replicas`` are all that it has now, the target's first."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """Where the partition will be (P201-16), in the order that was asked for."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


Reassignments = Mapping[str, Mapping[int, Reassignment]]
"""By topic, then partition."""


def read_reassignments(wire: Wire) -> Reassignments:
    """Every reassignment that is running, in one request.

    Raises:
        UnreachableError: the cluster does not say.
    """
    request = reassignments_request()
    return reassignments_of(wire, request, wire.send(request))


def reassignments_request() -> Message:
    """The request for all of them."""
    return ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=None)


def reassignments_of(wire: Wire, request: Message, answer: Message) -> Reassignments:
    """What was answered.

    Raises:
        UnreachableError: the cluster does not say.
    """
    response = readable(
        wire,
        request,
        answer,
        what="which replicas are being reassigned",
        right="Describe on the cluster",
    )
    return {
        topic.name: {
            row.partition_index: Reassignment(
                replicas=tuple(row.replicas),
                adding=tuple(row.adding_replicas),
                removing=tuple(row.removing_replicas),
            )
            for row in topic.partitions
        }
        for topic in response.topics
    }
