"""``kind: PolicyTest``: the cluster of a case, its requests, and the expected verdict of a policy.

A request is a mapping with one key that names its kind, and labels.
"""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    Amounts,
    BrokerId,
    ConfigScalar,
    EnumName,
    ErrorText,
    IntKeys,
    IntRange,
    Listing,
    NotNull,
    Number,
    PartitionId,
    Text,
    manifest,
    refuse,
)
from kgitops.manifests.kinds.parts import AclResource, EntityName, RuleMetadata
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.model.resources.acls import Operation, PatternType, PermissionType
from kgitops.model.resources.config_resources import JUDGED_RESOURCES, ConfigResourceType
from kgitops.model.resources.kinds import JUDGED_RESOURCES_IN_WORDS
from kgitops.model.resources.users import DEFAULT_ITERATIONS, ScramMechanism
from kgitops.model.wording import enumerated

Assignments = Annotated[dict[PartitionId, list[BrokerId]] | None, IntKeys()]
_BROKERS = ErrorText("a number of brokers or a list of {id, rack}", "write for example 3")


@manifest
class GivenBroker:
    """A broker of the cluster that a case starts from."""

    id: Annotated[int, IntRange(0, example=1)]
    """The broker's id."""
    rack: Annotated[str | None, NotNull()] = None
    """The broker's rack."""


@manifest
class GivenTopic:
    """An existing topic: either partitions and replicationFactor, or assignments."""

    partitions: Annotated[int | None, IntRange(1)] = None
    """The number of partitions."""
    replication_factor: Annotated[int | None, IntRange(1, 32767)] = None
    """The number of replicas of each partition; kgitops places them."""
    assignments: Assignments = None
    """Partition id to the brokers of its replicas, the preferred leader first."""
    configs: Annotated[dict[str, ConfigValue], Amounts()] = field(default_factory=dict)
    """The topic's own configs."""


@manifest
class GivenAcl:
    """One ACL binding."""

    principal: Text
    """The principal, as Type:name."""
    host: Text = "*"
    """The address that the client connects from, or "*" for any."""
    permission: Annotated[PermissionType, EnumName(PermissionType)]
    """Allow or Deny."""
    operation: Annotated[Operation, EnumName(Operation)]
    """The operation that is allowed or denied."""
    resource: AclResource
    """The resource that the binding is for."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the resource is in, or its prefix; none if left out."""
    virtual_cluster_pattern_type: Annotated[PatternType, EnumName(PatternType)] = (
        PatternType.LITERAL
    )
    """The pattern type of virtualCluster: literal or prefixed."""


@manifest
class GivenEntity:
    """The entity of quotas: user, clientId or both, also in a virtual cluster; or ip."""

    user: EntityName = None
    """The user's name without "User:", or {default: true} for all others."""
    client_id: EntityName = None
    """The client id, or {default: true} for all others."""
    ip: EntityName = None
    """The address, or {default: true} for all others; without any other field."""
    virtual_cluster: EntityName = None
    """The virtual cluster; alone, the quotas are its cap."""


@manifest
class GivenQuota:
    """The quotas of one entity."""

    entity: GivenEntity
    """The entity that the quotas are for."""
    quotas: Annotated[dict[str, Number], MinLen(1), Amounts()]
    """Quota key to its value."""


@manifest
class GivenCredential:
    """A mechanism that an existing user has."""

    mechanism: Annotated[ScramMechanism, EnumName(ScramMechanism)]
    """SCRAM-SHA-512 or SCRAM-SHA-256."""
    iterations: Annotated[int, IntRange(1, example=DEFAULT_ITERATIONS)] = DEFAULT_ITERATIONS
    """Its iterations."""


@manifest
class GivenVirtualCluster:
    """An existing virtual cluster."""

    users: list[Text] = field(default_factory=list)
    """The principals of its users; a bare name gets "User:"."""
    client_ids: list[Text] = field(default_factory=list)
    """Its client ids."""
    groups: list[Text] = field(default_factory=list)
    """Its consumer groups, by their names in it."""
    transactional_ids: list[Text] = field(default_factory=list)
    """Its transactional ids, by their names in it."""
    links: dict[str, Text] = field(default_factory=dict)
    """The name of each link, to the topic of the cluster that it leads to."""


@manifest
class GivenCluster:
    """The cluster that a case starts from."""

    brokers: Annotated[
        Annotated[int, IntRange(1, 1000)] | Annotated[list[GivenBroker], MinLen(1)], _BROKERS
    ] = 3
    """The brokers: their number, or a list of id and rack."""
    topics: dict[str, GivenTopic] = field(default_factory=dict)
    """The topics, by name."""
    acls: list[GivenAcl] = field(default_factory=list)
    """The ACL bindings."""
    quotas: list[GivenQuota] = field(default_factory=list)
    """The quotas."""
    users: dict[str, list[GivenCredential]] = field(default_factory=dict)
    """The users who log in by SCRAM, by name, with their mechanisms."""
    virtual_clusters: dict[str, GivenVirtualCluster] = field(default_factory=dict)
    """The virtual clusters, by name."""


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
    """Configs of a group or another resource to alter; alterBroker has those of a broker."""

    resource_type: Annotated[
        ConfigResourceType,
        EnumName(ConfigResourceType, without=(ConfigResourceType.BROKER,)),
        Listing(enumerated(JUDGED_RESOURCES)),
    ]
    """{}."""
    resource_name: Text
    """The resource's name, such as the group's id."""
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
    alter_config_resource: Annotated[
        AlterConfigResourceStep | None, NotNull(), Listing(JUDGED_RESOURCES_IN_WORDS)
    ] = None
    """Configs of {} to alter."""
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


@manifest
class ExpectedOutcome:
    """An expected verdict of a policy."""

    address: Text
    """The address of the object, such as topic/orders."""
    outcome: Literal["denied", "passed"] = "denied"
    """The verdict: the policy denies the request, or lets it pass."""
    policy: Annotated[Text | None, NotNull()] = None
    """The policy's name; if left out, the policy under test."""
    message: Annotated[Text | None, NotNull()] = None
    """A regular expression (RE2) that is found in the policy's message."""


@manifest
class PolicyTestCase:
    """Requests that are judged in order; those that no policy denies take effect."""

    name: Text
    """The name of the case: the behaviour that it shows."""
    principal: Text = "User:ANONYMOUS"
    """The principal that makes the requests."""
    cluster: Annotated[GivenCluster | None, NotNull()] = None
    """The cluster that the case starts from, instead of spec.cluster."""
    requests: Annotated[list[RequestStep], MinLen(1)]
    """The requests."""
    expect: list[ExpectedOutcome] = field(default_factory=list)
    """The expected verdicts; a denial that is not among them fails the case."""
    never: list[Text] = field(default_factory=list)
    """Policies of the project that must not deny any of the requests."""


@manifest
class PolicyTestSpec:
    """The policy under test and the cases."""

    policy: Annotated[Text | None, NotNull()] = None
    """The name of a policy of the project."""
    class_: Annotated[Text | None, NotNull(), Field(alias="class")] = None
    """The module:Class of a policy that need not be in the project; instead of policy."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """The configs of the class."""
    cluster: GivenCluster = field(default_factory=GivenCluster)
    """The cluster that every case starts from."""
    cases: Annotated[list[PolicyTestCase], MinLen(1)]
    """The cases."""


@manifest
class PolicyTest:
    """A test of a policy.

    Example:
        apiVersion: kgitops/v1
        kind: PolicyTest
        metadata: {name: replication-factor}
        spec:
          policy: replication-factor
          cases:
            - name: two replicas are too few
              requests:
                - createTopic: {name: orders, partitions: 3, replicationFactor: 2}
              expect:
                - {address: topic/orders, outcome: denied, message: replication factor}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["PolicyTest"]
    """The kind of the document."""
    metadata: RuleMetadata
    """The metadata of the document."""
    spec: PolicyTestSpec
    """The policy under test and the cases."""
