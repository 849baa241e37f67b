"""The interfaces that a policy in Python implements, and the cluster that it sees: KIP-201's.

A policy accepts by returning and refuses by ``raise PolicyViolation("why")``. The methods of an
interface are abstract, as in the KIP; ``BaseTopicPolicy`` accepts everything, so that a policy
overrides only the methods that it judges in (P201-48).

``ClusterState`` is the cluster before the request, as far as a policy may see it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Self

from msgspec import Struct

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topic_configs import normal_value, topic_configs
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.policy.api.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    BrokerState,
    CreateAclRequest,
    CreateTopicLinkRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteConsumerGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicLinkRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    VirtualClusterState,
    virtual_cluster_state,
)
from kgitops.policy.state import SimulatedState, read_only


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


class PolicyViolation(Exception):  # noqa: N818 (KIP-201's PolicyViolationException, in Python)
    """The request breaks the policy; the message is shown as it is (P201-64, EXP-02).

    ``field`` says which part of the object is wrong, as a path of the manifest's spec:
    ``partitions``, ``configs.retention.ms``, ``operations``. Reports point at that line.
    """

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class RuleViolation(Struct, frozen=True, kw_only=True):
    """One violation that a loaded policy finds in a request; ``field`` as of PolicyViolation.

    ``rule`` is the number of the broken validation, from 0, where the policy has several.
    """

    message: str
    field: str | None = None
    rule: int | None = None


class Configurable:
    """The life of a policy: made without arguments, configured once, used, closed once (P201-43).

    ``description`` says what the policy is for and ``remediation`` what to do where it denies;
    reports show both. Without them the class's docstring is the description.
    """

    description: str = ""
    remediation: str = ""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the configuration: the project's ``configs``, or the broker's.

        Raises:
            ValueError: the configs are wrong; the sentence is shown to the user.
        """

    def close(self) -> None:
        """Release what ``configure`` opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TopicManagementPolicy(Configurable, ABC):
    """Judges requests that change a topic or its records (KIP-201, P201-01)."""

    @abstractmethod
    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a new topic by raising PolicyViolation (P201-53)."""

    @abstractmethod
    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Refuse a change of configs, partitions or replicas (P201-10, P201-55)."""

    @abstractmethod
    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a deletion (P201-57)."""

    @abstractmethod
    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a deletion of records (P201-62)."""


class BaseTopicPolicy(TopicManagementPolicy):
    """A topic policy that accepts everything: override what you judge (P201-48)."""

    def validate_create_topic(
        self, request: CreateTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""

    def validate_alter_topic(self, request: AlterTopicRequest, cluster_state: ClusterState) -> None:
        """Accept."""

    def validate_delete_topic(
        self, request: DeleteTopicRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""

    def validate_delete_records(
        self, request: DeleteRecordsRequest, cluster_state: ClusterState
    ) -> None:
        """Accept."""


class BrokerManagementPolicy(Configurable, ABC):
    """Judges a broker's configs, when they are altered and when it starts (P201-81…87)."""

    @abstractmethod
    def validate_alter_broker(
        self, request: AlterBrokerRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse the configs (P201-85)."""


class AclManagementPolicy(Configurable, ABC):
    """Judges ACL bindings: no Kafka has such a hook, so only kgitops enforces it."""

    @abstractmethod
    def validate_create_acl(self, request: CreateAclRequest, cluster_state: ClusterState) -> None:
        """Refuse a new binding."""

    @abstractmethod
    def validate_delete_acl(self, request: DeleteAclRequest, cluster_state: ClusterState) -> None:
        """Refuse the removal of a binding."""


class ClientQuotaManagementPolicy(Configurable, ABC):
    """Judges client quotas: no Kafka has such a hook, so only kgitops enforces it."""

    @abstractmethod
    def validate_alter_client_quota(
        self, request: AlterClientQuotaRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse the quotas."""


class UserManagementPolicy(Configurable, ABC):
    """Judges the users who log in by SCRAM: no Kafka has such a hook, so only kgitops enforces it.

    No policy sees a password, or where it comes from.
    """

    @abstractmethod
    def validate_alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a mechanism, its iterations, or that it is taken away."""


class ConfigResourceManagementPolicy(Configurable, ABC):
    """Judges configs of groups and of other resources but brokers; only kgitops enforces it."""

    @abstractmethod
    def validate_alter_config_resource(
        self, request: AlterConfigResourceRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse the configs."""


class ConsumerGroupManagementPolicy(Configurable, ABC):
    """Judges what becomes of consumer groups outside of virtual clusters, and of their offsets."""

    @abstractmethod
    def validate_alter_consumer_group_offsets(
        self, request: AlterConsumerGroupOffsetsRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse the offsets."""

    @abstractmethod
    def validate_delete_consumer_group(
        self, request: DeleteConsumerGroupRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse the deletion."""


class VirtualClusterManagementPolicy(Configurable, ABC):
    """Judges virtual clusters, their members, and the links by which they see topics.

    Copied offsets and deleted groups are judged as changes of their virtual cluster. The link that
    comes with a topic that is created in a virtual cluster is judged with the topic.
    """

    @abstractmethod
    def validate_create_virtual_cluster(
        self, request: CreateVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a new virtual cluster."""

    @abstractmethod
    def validate_alter_virtual_cluster(
        self, request: AlterVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a change of its members."""

    @abstractmethod
    def validate_delete_virtual_cluster(
        self, request: DeleteVirtualClusterRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse its deletion."""

    @abstractmethod
    def validate_create_topic_link(
        self, request: CreateTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse a name for a physical topic."""

    @abstractmethod
    def validate_delete_topic_link(
        self, request: DeleteTopicLinkRequest, cluster_state: ClusterState
    ) -> None:
        """Refuse to take a name away."""
