"""The interfaces that a policy in Python implements: KIP-201's, and their kin for other kinds.

A policy accepts by returning and refuses by ``raise PolicyViolation("why")``. The methods of an
interface are abstract, as in the KIP; ``BaseTopicPolicy`` accepts everything, so that a policy
overrides only the methods that it judges in (P201-48).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.api.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
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
    """Judges configs of groups and of client metrics, where only kgitops enforces it."""

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
