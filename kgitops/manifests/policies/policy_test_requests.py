"""The requests of a PolicyTest: each is a mapping with one key that names its kind, and labels."""

from dataclasses import field
from typing import Annotated

from annotated_types import MinLen
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from kgitops.manifests.kinds.amounts import Amounts
from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    EnumName,
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
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.policies.policy_test_cluster import (
    Assignments,
    GivenAcl,
    GivenEntity,
    GivenTopic,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.users import ScramMechanism


class OrNull(ErrorText, frozen=True):
    """As ErrorText, but null is a value: it removes a key."""

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
    """A topic to create."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic is created in; name is its name there."""


@manifest
class AlterTopicStep:
    """One alteration of a topic: of its configs, partitions or assignments."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that sees the topic; name is its name there."""
    configs: Annotated[dict[str, ConfigChange] | None, NotNull(), MinLen(1)] = None
    """Config key to its new value; null removes the key, other keys stay."""
    partitions: Annotated[int | None, IntRange(1)] = None
    """The new number of partitions."""
    assignments: Assignments = None
    """Partition id to the new brokers of its replicas; other partitions stay."""


@manifest
class DeleteTopicStep:
    """A topic to delete."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that sees the topic; name is its name there."""


@manifest
class DeleteRecordsStep:
    """Records of a topic to delete."""

    name: Text
    """The topic's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that sees the topic; name is its name there."""
    offsets: Annotated[
        dict[PartitionId, Annotated[int, IntRange(0, MAX_INT64, 1500)]], IntKeys(), MinLen(1)
    ]
    """Partition id to the first offset to keep."""


@manifest
class AlterClientQuotaStep:
    """Quotas of an entity to set or remove."""

    entity: GivenEntity
    """The entity that the quotas are for."""
    quotas: Annotated[dict[str, QuotaChange], MinLen(1), Amounts()]
    """Quota key to its new value; null removes the key."""


@manifest
class AlterBrokerStep:
    """Configs of a broker to alter."""

    id: Annotated[int, IntRange(0, example=1)]
    """The broker's id."""
    configs: Annotated[dict[str, ConfigChange], MinLen(1)]
    """Config key to its new value; null removes the key."""
    current: Annotated[dict[str, ConfigValue], Amounts()] = field(default_factory=dict)
    """The broker's configs as they are."""


@manifest
class AlterUserStep:
    """A mechanism of a user to set or to remove."""

    name: Text
    """The user's name."""
    mechanism: Annotated[ScramMechanism, EnumName(ScramMechanism)]
    """SCRAM-SHA-512 or SCRAM-SHA-256."""
    iterations: Annotated[int | None, IntRange(1, example=8192)] = None
    """The iterations; if left out, the mechanism is removed."""


@manifest
class AlterConfigResourceStep:
    """Configs of a group or of client metrics to alter; alterBroker has those of a broker."""

    resource_type: Annotated[
        ConfigResourceType,
        EnumName(ConfigResourceType, without=(ConfigResourceType.BROKER,)),
    ]
    """GROUP or CLIENT_METRICS."""
    resource_name: Text
    """The group's id, or the name of the subscription."""
    configs: Annotated[dict[str, ConfigChange], MinLen(1)]
    """Config key to its new value; null removes the key."""


@manifest
class AlterConsumerGroupOffsetsStep:
    """Offsets of a consumer group to set."""

    group: Text
    """The group's id."""
    offsets: Annotated[
        dict[
            Text,
            Annotated[
                dict[PartitionId, Annotated[int, IntRange(0, MAX_INT64, 1500)]],
                IntKeys(),
                MinLen(1),
            ],
        ],
        MinLen(1),
    ]
    """Topic to partition id to the offset that is committed."""


@manifest
class DeleteConsumerGroupStep:
    """A consumer group to delete."""

    group: Text
    """The group's id."""


@manifest
class VirtualClusterStep:
    """A virtual cluster to create or delete."""

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
    """A consumer group, by its name in the virtual cluster."""
    transactional_id: Annotated[Text | None, NotNull()] = None
    """A transactional id, by its name in the virtual cluster."""


@manifest
class AddedMember(Member):
    """A member to add."""

    moved_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the member leaves at the same moment."""
    adopt: Annotated[Text | None, NotNull()] = None
    """The existing global group that this group replaces."""


@manifest
class AlterVirtualClusterStep(VirtualClusterStep):
    """A member to add or to remove: exactly one of the two."""

    add: Annotated[AddedMember | None, NotNull()] = None
    """The member to add."""
    remove: Annotated[Member | None, NotNull()] = None
    """The member to remove."""


@manifest
class DeleteTopicLinkStep:
    """A link to remove; the topic stays."""

    virtual_cluster: Text
    """The virtual cluster."""
    link: Text
    """The name of the link."""


@manifest
class CreateTopicLinkStep(DeleteTopicLinkStep):
    """A link to create."""

    topic: Text
    """The physical topic that the link leads to."""


@manifest
class RequestStep:
    """One request: exactly one of these keys, and the labels of the document that requests it."""

    create_topic: Annotated[CreateTopicStep | None, NotNull()] = None
    """A topic to create."""
    alter_topic: Annotated[AlterTopicStep | None, NotNull()] = None
    """Configs, partitions or replicas of a topic to alter."""
    delete_topic: Annotated[DeleteTopicStep | None, NotNull()] = None
    """A topic to delete."""
    delete_records: Annotated[DeleteRecordsStep | None, NotNull()] = None
    """Records of a topic to delete."""
    create_acl: Annotated[GivenAcl | None, NotNull()] = None
    """An ACL binding to add."""
    delete_acl: Annotated[GivenAcl | None, NotNull()] = None
    """An ACL binding to remove."""
    alter_client_quota: Annotated[AlterClientQuotaStep | None, NotNull()] = None
    """Quotas of an entity to set or remove."""
    alter_broker: Annotated[AlterBrokerStep | None, NotNull()] = None
    """Configs of a broker to alter."""
    alter_user_scram_credentials: Annotated[AlterUserStep | None, NotNull()] = None
    """A mechanism of a user to set or to remove."""
    alter_config_resource: Annotated[AlterConfigResourceStep | None, NotNull()] = None
    """Configs of a group or of client metrics to alter."""
    alter_consumer_group_offsets: Annotated[AlterConsumerGroupOffsetsStep | None, NotNull()] = None
    """Offsets of a consumer group to set."""
    delete_consumer_group: Annotated[DeleteConsumerGroupStep | None, NotNull()] = None
    """A consumer group to delete."""
    create_virtual_cluster: Annotated[VirtualClusterStep | None, NotNull()] = None
    """A virtual cluster to create."""
    alter_virtual_cluster: Annotated[AlterVirtualClusterStep | None, NotNull()] = None
    """A member of a virtual cluster to add or remove."""
    delete_virtual_cluster: Annotated[VirtualClusterStep | None, NotNull()] = None
    """A virtual cluster to delete."""
    create_topic_link: Annotated[CreateTopicLinkStep | None, NotNull()] = None
    """A link to create."""
    delete_topic_link: Annotated[DeleteTopicLinkStep | None, NotNull()] = None
    """A link to remove."""
    labels: dict[str, str] = field(default_factory=dict)
    """The metadata.labels of the document that requests it."""
