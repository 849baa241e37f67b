"""The number of a topic's replicas, those in sync, and the brokers that hold them."""

from collections.abc import Mapping, Sequence

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.topics import TopicState
from kgitops.policies.topic_rule import TopicPolicy, TopicRule, number_of, require_order
from kgitops.policy import AlterTopicRequest, ClusterState, CreateTopicRequest, PolicyViolation
from kgitops.policy.readers import numbers, whole
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
    spare = Setting(whole, "how many replicas must be able to fail while producers continue", "1")

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
                f"replicas; {self.spare} must be able to fail while producers continue",
                field=f"configs.{key}",
            )


class RackSpread(TopicRule):
    """The replicas of each partition stand in as many racks as there can be.

    Brokers without a rack count as a rack each. Where no broker has one, nothing is judged.
    """

    remediation = "Leave spec.assignments out, or spread each list over the racks."

    _brokers: Sequence[Broker] = ()
    _rack_of: Mapping[int, str] = {}

    def check(self, topic: TopicState, cluster_state: ClusterState) -> None:
        """Look at every partition."""
        racks = self._racks(cluster_state.brokers())
        if not racks:
            return
        there = len(set(racks.values()))
        for partition, replicas in enumerate(topic.assignment):
            used = len({racks.get(broker, broker) for broker in replicas})
            wanted = min(len(replicas), there)
            if used < wanted:
                raise PolicyViolation(
                    f"partition {partition} of {topic.name} stands on brokers "
                    f"{', '.join(map(str, replicas))}, in {used} of {there} racks; spread it "
                    f"over {wanted}",
                    field="assignments",
                )

    def _racks(self, brokers: Sequence[Broker]) -> Mapping[int, str]:
        if self._brokers is not brokers:
            named = {broker.id: broker.rack for broker in brokers if broker.rack is not None}
            alone = {broker.id: f"broker {broker.id}" for broker in brokers} if named else {}
            self._brokers, self._rack_of = brokers, {**alone, **named}
        return self._rack_of


class _HandPlacement(TopicPolicy):
    """A policy on the replicas that somebody places by hand, at creation or by a reassignment."""

    def placed(self, topic: str, replicas: Mapping[int, tuple[int, ...]]) -> None:
        """Refuse what was placed: partition id to the brokers of each list that is new."""
        raise NotImplementedError

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Look at all partitions."""
        if self.judges(request):
            self._look(request, ())

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Look at the partitions that are new or move."""
        if self.judges(request):
            before = cluster_state.topic_state(request.topic)
            self._look(request, before.assignment if before else ())

    def _look(
        self,
        request: CreateTopicRequest | AlterTopicRequest,
        before: Sequence[tuple[int, ...]],
    ) -> None:
        requested = request.requested_state
        if requested.generated_replica_assignments:
            return
        placed = {
            partition: replicas
            for partition, replicas in enumerate(requested.assignment)
            if before[partition : partition + 1] != (replicas,)
        }
        if placed:
            self.placed(request.name, placed)


class ReservedBrokers(_HandPlacement):
    """Nobody places replicas on brokers that are reserved for something else.

    Replicas that kgitops or a broker places are not judged: nobody chose the brokers.
    """

    remediation = "Leave spec.assignments out, or take other brokers."

    brokers = Setting(numbers, "the ids of the reserved brokers, such as 7, 8")

    def placed(self, topic: str, replicas: Mapping[int, tuple[int, ...]]) -> None:
        """Refuse a reserved broker."""
        for partition, brokers in replicas.items():
            reserved = sorted(self.brokers.intersection(brokers))
            if reserved:
                raise PolicyViolation(
                    f"partition {partition} of {topic} is placed on {_listed(reserved)}, which "
                    f"{'is' if len(reserved) == 1 else 'are'} reserved",
                    field="assignments",
                )


class NoManualAssignment(_HandPlacement):
    """Nobody places replicas by hand: placing them evenly is left to kgitops and to the brokers."""

    remediation = "Write spec.partitions and spec.replicationFactor instead of spec.assignments."

    def placed(self, topic: str, replicas: Mapping[int, tuple[int, ...]]) -> None:
        """Refuse whatever was placed."""
        raise PolicyViolation(
            f"replicas of {topic} are placed by hand; leave the brokers to be chosen",
            field="assignments",
        )


def _listed(brokers: Sequence[int]) -> str:
    word = "broker" if len(brokers) == 1 else "brokers"
    return f"{word} {', '.join(map(str, brokers))}"
