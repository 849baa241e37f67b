"""The cluster that a case of a PolicyTest starts from."""

from dataclasses import field
from typing import Annotated

from annotated_types import MinLen

from kgitops.manifests.kinds.amounts import Amounts
from kgitops.manifests.kinds.fields import (
    BrokerId,
    EnumName,
    ErrorText,
    IntKeys,
    IntRange,
    NotNull,
    Number,
    PartitionId,
    Text,
    manifest,
)
from kgitops.manifests.kinds.parts import AclResource, EntityName
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.model.resources.acls import Operation, PatternType, PermissionType
from kgitops.model.resources.users import DEFAULT_ITERATIONS, ScramMechanism

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
