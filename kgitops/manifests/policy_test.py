"""``kind: PolicyTest``: cases of requests, and what a policy must say of each."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from kgitops.manifests.acl import AclResource
from kgitops.manifests.fields import (
    MAX_INT64,
    BrokerId,
    EnumName,
    NotNull,
    Number,
    Numbered,
    PartitionId,
    Says,
    Text,
    Whole,
    manifest,
    refuse,
)
from kgitops.manifests.metadata import Metadata
from kgitops.manifests.project_document import ConfigScalar
from kgitops.manifests.quota import DefaultEntity
from kgitops.manifests.topic import ConfigValue
from kgitops.model.acls import Operation, PatternType, PermissionType


class OrNull(Says):
    """As Says, where null is a value: it removes a key."""

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
Assignments = Annotated[dict[PartitionId, list[BrokerId]] | None, Numbered()]
_ENTITY = Says("a name or {default: true}", "write the name, in quotes if it is a number")
Name = Annotated[Text | DefaultEntity | None, _ENTITY]
_BROKERS = Says("a number of brokers or a list of {id, rack}", "write for example 3")


@manifest
class GivenBroker:
    """A broker of the cluster that a case starts from."""

    id: Annotated[int, Whole(0, example=1)]
    """The broker's id."""
    rack: Annotated[str | None, NotNull()] = None
    """The broker's rack."""


@manifest
class GivenTopic:
    """A topic that is there: either partitions and replicationFactor, or assignments."""

    partitions: Annotated[int | None, Whole(1)] = None
    """How many partitions the topic has."""
    replication_factor: Annotated[int | None, Whole(1, 32767)] = None
    """How many replicas each partition has; kgitops places them."""
    assignments: Assignments = None
    """Partition id to the brokers of its replicas, the preferred leader first."""
    configs: dict[str, ConfigValue] = field(default_factory=dict)
    """The topic's own configs."""


@manifest
class GivenAcl:
    """One ACL binding."""

    principal: Text
    """Who, as Type:name."""
    host: Text = "*"
    """The address that the client connects from, or "*" for any."""
    permission: Annotated[PermissionType, EnumName(PermissionType)]
    """Allow or Deny."""
    operation: Annotated[Operation, EnumName(Operation)]
    """What may, or may not, be done."""
    resource: AclResource
    """What the binding is about."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the resource lies in, or its prefix; left out, it is in none."""
    virtual_cluster_pattern_type: Annotated[PatternType, EnumName(PatternType)] = (
        PatternType.LITERAL
    )
    """How virtualCluster is read: as it stands, or as a prefix."""


@manifest
class GivenEntity:
    """Whom quotas are for: user, clientId, both, or ip; the first three in a virtual cluster."""

    user: Name = None
    """The user's name without "User:", or {default: true} for all others."""
    client_id: Name = None
    """The client id, or {default: true} for all others."""
    ip: Name = None
    """The address, or {default: true} for all others; stands alone."""
    virtual_cluster: Name = None
    """The virtual cluster; alone, the quotas are its cap."""


@manifest
class GivenQuota:
    """The quotas of one entity."""

    entity: GivenEntity
    """Whom the quotas are for."""
    quotas: Annotated[dict[str, Number], MinLen(1)]
    """Quota key to its value."""


@manifest
class GivenVirtualCluster:
    """A virtual cluster that is there."""

    users: list[Text] = field(default_factory=list)
    """The principals of its users; a bare name gets "User:"."""
    client_ids: list[Text] = field(default_factory=list)
    """Its client ids."""
    groups: list[Text] = field(default_factory=list)
    """Its consumer groups, by the names that it knows."""
    transactional_ids: list[Text] = field(default_factory=list)
    """Its transactional ids, by the names that it knows."""
    links: dict[str, Text] = field(default_factory=dict)
    """The name of each link to the topic of the cluster that it leads to."""


@manifest
class GivenCluster:
    """The cluster that a case starts from."""

    brokers: Annotated[
        Annotated[int, Whole(1, 1000)] | Annotated[list[GivenBroker], MinLen(1)], _BROKERS
    ] = 3
    """The brokers: how many, or a list of id and rack."""
    topics: dict[str, GivenTopic] = field(default_factory=dict)
    """The topics, by name."""
    acls: list[GivenAcl] = field(default_factory=list)
    """The ACL bindings."""
    quotas: list[GivenQuota] = field(default_factory=list)
    """The quotas."""
    virtual_clusters: dict[str, GivenVirtualCluster] = field(default_factory=dict)
    """The virtual clusters, by name."""


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
    partitions: Annotated[int | None, Whole(1)] = None
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
        dict[PartitionId, Annotated[int, Whole(0, MAX_INT64, 1500)]], Numbered(), MinLen(1)
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

    id: Annotated[int, Whole(0, example=1)]
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
    """One request: a mapping with exactly one of these keys."""

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


@manifest
class ExpectedOutcome:
    """Something that a policy must say."""

    address: Text
    """The address of the object, such as topic/orders."""
    outcome: Literal["denied", "passed"] = "denied"
    """Whether the policy denies the request or lets it pass."""
    policy: Annotated[Text | None, NotNull()] = None
    """The policy's name; left out, it is the policy under test."""
    message: Annotated[Text | None, NotNull()] = None
    """A regular expression that is found in what the policy says."""


@manifest
class PolicyTestCase:
    """Requests that are judged in order; what no policy denies takes effect."""

    name: Text
    """What the case shows."""
    principal: Text = "User:ANONYMOUS"
    """Who makes the requests."""
    cluster: Annotated[GivenCluster | None, NotNull()] = None
    """The cluster that the case starts from, instead of spec.cluster."""
    requests: Annotated[list[RequestStep], MinLen(1)]
    """The requests."""
    expect: list[ExpectedOutcome] = field(default_factory=list)
    """What must be said; a denial that is not among it fails the case."""
    never: list[Text] = field(default_factory=list)
    """Policies of the project that must not deny any of the requests."""


@manifest
class PolicyTestSpec:
    """The policy under test and the cases."""

    policy: Annotated[Text | None, NotNull()] = None
    """The name of a policy of the project."""
    class_: Annotated[Text | None, NotNull(), Field(alias="class")] = None
    """A policy that the project need not name, as module:Class; instead of policy."""
    configs: dict[str, ConfigScalar] = field(default_factory=dict)
    """What the class is configured with."""
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
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: PolicyTestSpec
    """The policy under test and the cases."""
