"""KIP-201's ``ClusterState``: what a policy may know of the cluster before the request."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.topic_configs import normal_value, topic_configs
from kgitops.policy.api.states import BrokerState, VirtualClusterState, virtual_cluster_state
from kgitops.policy.state.simulated import SimulatedState, read_only


class ClusterState:
    """The cluster before the request takes effect (P201-35); reading it changes nothing.

    The first four methods are KIP-201's. The others save a policy from walking over all topics.
    """

    __slots__ = ("_broker", "_defaults", "_names", "_read", "_version", "_world")

    def __init__(
        self, world: SimulatedState, broker_configs: Mapping[str, str] | None = None
    ) -> None:
        self._world = world
        self._broker = BrokerState(configs=MappingProxyType(dict(broker_configs or {})))
        self._read: dict[str, tuple[TopicState, TopicState]] = {}
        self._names: dict[tuple[bool, bool], frozenset[str]] = {}
        self._version = world.version
        self._defaults: Mapping[str, str] | None = None

    def topic_state(self, name: str) -> TopicState | None:
        """The topic as it is; None where there is none (P201-36)."""
        topic = self._world.topics.get(name)
        if topic is None:
            return None
        known = self._read.get(name)
        if known is None or known[0] is not topic:
            known = self._read[name] = (topic, read_only(topic))
        return known[1]

    def topics(
        self,
        include_internal: bool = False,
        include_marked_for_deletion: bool = False,
    ) -> frozenset[str]:
        """The names of the topics; each flag widens the set on its own (P201-37).

        Both may be given by position, as KIP-201 writes them, or by name.
        """
        if self._version != self._world.version:
            self._names.clear()
            self._version = self._world.version
        key = include_internal, include_marked_for_deletion
        if key not in self._names:
            self._names[key] = self._world.topic_names(
                internal=include_internal, going=include_marked_for_deletion
            )
        return self._names[key]

    def cluster_size(self) -> int:
        """How many brokers are registered, fenced ones included (P201-39)."""
        return len(self._world.brokers)

    def broker_state(self) -> BrokerState:
        """The node that evaluates the policy (P201-40); no configs where that is not known."""
        return self._broker

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers, with their racks."""
        return self._world.brokers

    def partitions(self, prefix: str = "") -> int:
        """The partitions of all topics whose name begins with ``prefix``, internal ones left out.

        It is kept up to date and costs nothing to ask again.
        """
        return self._world.partitions(prefix)

    def topic_count(self) -> int:
        """How many topics there are, internal ones left out; it costs nothing to ask again."""
        return self._world.topic_count

    def deleted_topics(self) -> frozenset[str]:
        """The topics whose deletion was accepted before, in the same plan or broker's request."""
        return self._world.deleted_topics

    def default_configs(self) -> Mapping[str, str]:
        """What a topic gets where it sets nothing: Kafka's defaults, overlaid by the brokers'."""
        if self._defaults is None:
            self._defaults = MappingProxyType({**kafka_defaults(), **self._world.broker_defaults})
        return self._defaults

    def effective_config(self, topic: TopicState, key: str) -> str | None:
        """What holds for a topic: its own value, else the default, as Kafka writes it.

        None for a key that the topic doesn't set and that has no default.
        """
        value = topic.configs.get(key)
        if value is None:
            value = self.default_configs().get(key)
        return None if value is None else normal_value(key, value)

    def acls(self) -> frozenset[AclBinding]:
        """All ACL bindings."""
        return self._world.acls

    def quotas(self, entity: ClientQuotaEntity) -> Mapping[str, float]:
        """The quotas set on exactly this entity, by key."""
        return MappingProxyType(dict(self._world.quotas(entity)))

    def virtual_cluster(self, name: str) -> VirtualClusterState | None:
        """The virtual cluster as it is; None where there is none."""
        found = self._world.virtual_clusters.get(name)
        return None if found is None else virtual_cluster_state(found)

    def virtual_clusters(self) -> frozenset[str]:
        """The names of the virtual clusters."""
        return frozenset(self._world.virtual_clusters.names)

    def links_to(self, topic: str) -> frozenset[LocalName]:
        """The names by which virtual clusters see the physical topic."""
        return self._world.virtual_clusters.links_to(topic)


@cache
def kafka_defaults() -> Mapping[str, str]:
    """Kafka's own defaults of topic configs, by key; those without one are left out."""
    return MappingProxyType(
        {
            key: config.default
            for key, config in topic_configs().items()
            if config.default is not None
        }
    )
