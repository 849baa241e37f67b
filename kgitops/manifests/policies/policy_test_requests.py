"""The requests of a PolicyTest: each a mapping with one key that names its kind, and labels."""

from dataclasses import field
from typing import Annotated

from annotated_types import MinLen
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    ErrorText,
    IntKeys,
    IntRange,
    NotNull,
    Number,
    PartitionId,
    Text,
    manifest,
    refuse,
)
from kgitops.manifests.kinds.topic import ConfigValue
from kgitops.manifests.policies.policy_test_cluster import (
    Assignments,
    GivenAcl,
    GivenEntity,
    GivenTopic,
)


class OrNull(ErrorText):
    """As ErrorText, where null is a value: it removes a key."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Put these words in place of pydantic's."""
        return refuse(handler(source), self.expected, self.advice)


_CONFIG = OrNull("text, a number, true, false, a list of these, or null", "write null to remove it")
ConfigChange = Annotated[
    str | int | float | bool | list[str | int | float | bool] | None,
    _CONFIG,
]
QuotaChange = Annotated[Number | None, OrNull("a number, or null", "write null to remove it")]


@manifest
class CreateTopicStep(GivenTopic):
    """A topic is to be created."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic is made in; name is its name there."""


@manifest
class AlterTopicStep:
    """One thing about a topic is to be altered: configs, partitions or assignments."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that sees the topic; name is its name there."""
    configs: Annotated[dict[str, ConfigChange] | None, NotNull(), MinLen(1)] = None
    """Config key to its new value; null removes the key, what is left out stays."""
    partitions: Annotated[int | None, IntRange(1)] = None
    """How many partitions the topic is to have."""
    assignments: Assignments = None
    """Partition id to the brokers that are to hold its replicas; what is left out stays."""


@manifest
class DeleteTopicStep:
    """A topic is to be deleted."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that sees the topic; name is its name there."""


@manifest
class DeleteRecordsStep:
    """Records of a topic are to be deleted."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that sees the topic; name is its name there."""
    offsets: Annotated[
        dict[PartitionId, Annotated[int, IntRange(0, MAX_INT64, 1500)]], IntKeys(), MinLen(1)
    ]
    """Partition id to the first offset that is kept."""


@manifest
class AlterClientQuotaStep:
    """Quotas of an entity are to be set or removed."""

    entity: GivenEntity
    """Whom the quotas are for."""
    quotas: Annotated[dict[str, QuotaChange], MinLen(1)]
    """Quota key to its new value; null removes the key."""


@manifest
class AlterBrokerStep:
    """Configs of a broker are to be altered."""

    id: Annotated[int, IntRange(0, example=1)]
    """The broker's id."""
    configs: Annotated[dict[str, ConfigChange], MinLen(1)]
    """Config key to its new value; null removes the key."""
    current: dict[str, ConfigValue] = field(default_factory=dict)
    """The broker's configs as they are."""


@manifest
class VirtualClusterStep:
    """A virtual cluster is to be created or deleted."""

    name: Text
    """Its name."""


@manifest
class Member:
    """A member of a virtual cluster: exactly one of user, clientId, group, transactionalId."""

    user: Annotated[Text | None, NotNull()] = None
    """The principal of a user; a bare name gets "User:"."""
    client_id: Annotated[Text | None, NotNull()] = None
    """A client id."""
    group: Annotated[Text | None, NotNull()] = None
    """A consumer group, by the name that the virtual cluster knows."""
    transactional_id: Annotated[Text | None, NotNull()] = None
    """A transactional id, by the name that the virtual cluster knows."""


@manifest
class AddedMember(Member):
    """A member that is added."""

    moved_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that gives the member up at the same moment."""
    adopt: Annotated[Text | None, NotNull()] = None
    """The existing group of the cluster that becomes this group."""


@manifest
class AlterVirtualClusterStep(VirtualClusterStep):
    """One member is to be added or removed: exactly one of the two."""

    add: Annotated[AddedMember | None, NotNull()] = None
    """The member that is added."""
    remove: Annotated[Member | None, NotNull()] = None
    """The member that is removed."""


@manifest
class DeleteTopicLinkStep:
    """A link is to be removed; the topic stays."""

    virtual_cluster: Text
    """The virtual cluster."""
    link: Text
    """The name of the link."""


@manifest
class CreateTopicLinkStep(DeleteTopicLinkStep):
    """A virtual cluster is to see a topic."""

    topic: Text
    """The topic of the cluster."""


@manifest
class RequestStep:
    """One request: exactly one of these keys, and the labels of the document that asks for it."""

    create_topic: Annotated[CreateTopicStep | None, NotNull()] = None
    """A topic is to be created."""
    alter_topic: Annotated[AlterTopicStep | None, NotNull()] = None
    """Configs, partitions or replicas of a topic are to be altered."""
    delete_topic: Annotated[DeleteTopicStep | None, NotNull()] = None
    """A topic is to be deleted."""
    delete_records: Annotated[DeleteRecordsStep | None, NotNull()] = None
    """Records of a topic are to be deleted."""
    create_acl: Annotated[GivenAcl | None, NotNull()] = None
    """An ACL binding is to be added."""
    delete_acl: Annotated[GivenAcl | None, NotNull()] = None
    """An ACL binding is to be removed."""
    alter_client_quota: Annotated[AlterClientQuotaStep | None, NotNull()] = None
    """Quotas of an entity are to be set or removed."""
    alter_broker: Annotated[AlterBrokerStep | None, NotNull()] = None
    """Configs of a broker are to be altered."""
    create_virtual_cluster: Annotated[VirtualClusterStep | None, NotNull()] = None
    """A virtual cluster is to be created."""
    alter_virtual_cluster: Annotated[AlterVirtualClusterStep | None, NotNull()] = None
    """A member of a virtual cluster is to be added or removed."""
    delete_virtual_cluster: Annotated[VirtualClusterStep | None, NotNull()] = None
    """A virtual cluster is to be deleted."""
    create_topic_link: Annotated[CreateTopicLinkStep | None, NotNull()] = None
    """A virtual cluster is to see a topic."""
    delete_topic_link: Annotated[DeleteTopicLinkStep | None, NotNull()] = None
    """A link is to be removed."""
    labels: dict[str, str] = field(default_factory=dict)
    """The metadata.labels of the document that asks for the request."""
