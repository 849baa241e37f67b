"""``kind: Acl``: the rights of clients; and how entities of quotas are named."""

from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import EnumName, ErrorText, NotNull, Text, manifest
from kgitops.manifests.kinds.metadata import Metadata
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType


@manifest
class AclResource:
    """The resource that the bindings are for."""

    type: Annotated[ResourceType, EnumName(ResourceType)]
    """The type of the resource."""
    name: Text
    """The name of the resource, its prefix, or "*" for all; for the type cluster: kafka-cluster,
    or the virtual cluster to administer."""
    pattern_type: Annotated[PatternType, EnumName(PatternType)] = PatternType.LITERAL
    """The pattern type: literal for exactly this name, prefixed for names that begin with it."""


RoleName = Literal["producer", "consumer", "streams", "connect-worker", "admin"]


@manifest
class AclSpec:
    """One binding for every principal and operation, or those of a role."""

    principal: Annotated[Text | None, NotNull()] = None
    """The principal, as Type:name; User:* is everyone, in a virtual cluster every member. Either
    this or principals."""
    principals: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """Several principals, instead of principal."""
    host: Text = "*"
    """The address that the client connects from, as brokers write it, IPv6 in full
    (2001:db8:0:0:0:0:0:1), or "*" for any. Since Kafka 4.4 also a range: 10.0.0.0/8."""
    permission: Annotated[PermissionType | None, EnumName(PermissionType), NotNull()] = None
    """Allow or Deny; a Deny wins over every Allow. Needed, unless there is a role, which allows."""
    operations: Annotated[
        list[Annotated[Operation, EnumName(Operation)]] | None,
        NotNull(),
        MinLen(1),
    ] = None
    """The operations that are allowed or denied. Needed, unless there is a role."""
    resource: Annotated[AclResource | None, NotNull()] = None
    """The resource that the bindings are for. Needed, unless there is a role."""
    role: Annotated[RoleName | None, NotNull()] = None
    """Instead of permission, operations and resource: producer (topics; transactionalId, create),
    consumer (topics, group), streams (applicationId; transactionalId), connect-worker (group,
    topics; transactionalId), admin. A plan shows the bindings that it stands for one by one."""
    topics: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The topics of a role; of a connect-worker those for configs, offsets and status."""
    group: Annotated[Text | None, NotNull()] = None
    """The consumer group of a role, "*" for all; of a connect-worker its group.id."""
    transactional_id: Annotated[Text | None, NotNull()] = None
    """The transactional id of a producer that has one, or of a connect-worker that runs source
    connectors exactly once (connect-cluster-GROUP); with streams a prefix, the application.id."""
    application_id: Annotated[Text | None, NotNull()] = None
    """The application.id of Kafka Streams, which its own topics and groups begin with."""
    create: Annotated[bool | None, NotNull()] = None
    """True if a producer may create its topics, too; false if left out."""
    pattern_type: Annotated[Annotated[PatternType, EnumName(PatternType)] | None, NotNull()] = None
    """The pattern type of a role's topics, group and transactionalId; literal if left out."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), Protect or Orphan."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the resource is in, its prefix, or "*" for every one; the name of
    the resource is then a name in it. If left out, or kafka-cluster, the bindings are global."""
    virtual_cluster_pattern_type: Annotated[PatternType, EnumName(PatternType)] = (
        PatternType.LITERAL
    )
    """The pattern type of virtualCluster: literal or prefixed."""


@manifest
class Acl:
    """One or more ACL bindings, written out or by a role.

    Example:
        apiVersion: kgitops/v1
        kind: Acl
        metadata: {name: orders-readers}
        spec:
          principals: [User:billing, User:audit]
          host: "*"
          permission: Allow
          operations: [Read, Describe]
          resource: {type: topic, name: orders, patternType: literal}

    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Acl"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: AclSpec
    """The bindings."""


@manifest
class DefaultEntity:
    """The default entity: its quotas hold for entities that have none of their own."""

    default: Literal[True]
    """Always true."""


_ENTITY = ErrorText("a name or {default: true}", "write the name, in quotes if it is a number")
EntityName = Annotated[Text | DefaultEntity | None, _ENTITY]
