"""KIP-201's ``ClusterState``: the cluster before the request, as far as a policy may see it."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topic_configs import normal_value, topic_configs
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.policy.api.states import BrokerState, VirtualClusterState, virtual_cluster_state
from kgitops.policy.state.simulated import SimulatedState, read_only


class ClusterState:
    """The cluster before the request takes effect (P201-35); reading it changes nothing.

    The first four methods are KIP-201's. The others save a policy from a walk over all topics.
    """

    __slots__ = ("_broker", "_defaults", "_names", "_read", "_simulated", "_version")

    def __init__(
        self, simulated: SimulatedState, broker_configs: Mapping[str, str] | None = None
    ) -> None:
        self._simulated = simulated
        self._broker = BrokerState(configs=MappingProxyType(dict(broker_configs or {})))
        self._read: dict[str, tuple[TopicState, TopicState]] = {}
        self._names: dict[tuple[bool, bool], frozenset[str]] = {}
        self._version = simulated.version
        self._defaults: Mapping[str, str] | None = None

    def topic_state(self, name: str) -> TopicState | None:
        """The topic as it is; None where there is none (P201-36)."""
        topic = self._simulated.topics.get(name)
        if topic is None:
            return None
        cached = self._read.get(name)
        if cached is None or cached[0] is not topic:
            cached = self._read[name] = (topic, read_only(topic))
        return cached[1]

    def topics(
        self,
        include_internal: bool = False,
        include_marked_for_deletion: bool = False,
    ) -> frozenset[str]:
        """The names of the topics; each flag widens the set on its own (P201-37).

        Both may be given by position, as KIP-201 writes them, or by name.
        """
        if self._version != self._simulated.version:
            self._names.clear()
            self._version = self._simulated.version
        key = include_internal, include_marked_for_deletion
        if key not in self._names:
            self._names[key] = self._simulated.topic_names(
                internal=include_internal, marked_for_deletion=include_marked_for_deletion
            )
        return self._names[key]

    def cluster_size(self) -> int:
        """The number of registered brokers, fenced ones included (P201-39)."""
        return len(self._simulated.brokers)

    def broker_state(self) -> BrokerState:
        """The node that evaluates the policy (P201-40); without configs where it is not known."""
        return self._broker

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers, with their racks."""
        return self._simulated.brokers

    def partitions(self, prefix: str = "") -> int:
        """The partitions of all topics whose name begins with ``prefix``, internal ones left out.

        It is kept up to date and costs nothing to ask again.
        """
        return self._simulated.partitions(prefix)

    def topic_count(self) -> int:
        """The number of topics, without internal ones; it costs nothing to ask again."""
        return self._simulated.topic_count

    def deleted_topics(self) -> frozenset[str]:
        """The topics whose deletion was accepted before, in the same plan or broker's request."""
        return self._simulated.deleted_topics

    def default_configs(self) -> Mapping[str, str]:
        """The configs of a topic that sets none: Kafka's defaults, overlaid by the brokers'."""
        if self._defaults is None:
            self._defaults = MappingProxyType(
                {**kafka_defaults(), **self._simulated.broker_defaults}
            )
        return self._defaults

    def effective_config(self, topic: TopicState, key: str) -> str | None:
        """The value that holds for a topic: its own, else the default, as Kafka writes it.

        None for a key that the topic doesn't set and that has no default.
        """
        value = topic.configs.get(key)
        if value is None:
            value = self.default_configs().get(key)
        return None if value is None else normal_value(key, value)

    def acls(self) -> frozenset[AclBinding]:
        """All ACL bindings."""
        return self._simulated.acls

    def quotas(self, entity: ClientQuotaEntity) -> Mapping[str, float]:
        """The quotas set on exactly this entity, by key."""
        return MappingProxyType(dict(self._simulated.quotas(entity)))

    def user_credentials(self, user: str) -> Mapping[str, int]:
        """The SCRAM mechanisms of the user of the request, by name, with their iterations.

        Only the users that a plan is about are read: any other has none here.
        """
        held = self._simulated.credentials(user)
        return MappingProxyType({str(mechanism): held[mechanism] for mechanism in held})

    def virtual_cluster(self, name: str) -> VirtualClusterState | None:
        """The virtual cluster as it is; None where there is none."""
        virtual_cluster = self._simulated.virtual_clusters.get(name)
        return None if virtual_cluster is None else virtual_cluster_state(virtual_cluster)

    def virtual_clusters(self) -> frozenset[str]:
        """The names of the virtual clusters."""
        return frozenset(self._simulated.virtual_clusters.names)

    def links_to(self, topic: str) -> frozenset[LocalName]:
        """The names by which virtual clusters see the physical topic."""
        return self._simulated.virtual_clusters.links_to(topic)


@cache
def kafka_defaults() -> Mapping[str, str]:
    """Kafka's own defaults of topic configs, by key; keys without a default are missing."""
    return MappingProxyType(
        {
            key: config.default
            for key, config in topic_configs().items()
            if config.default is not None
        }
    )
