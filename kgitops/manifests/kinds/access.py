"""``kind: Acl``: one or more ACL bindings on one resource."""

from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import EnumName, ErrorText, NotNull, Number, Text, manifest
from kgitops.manifests.kinds.metadata import Metadata
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType


@manifest
class AclResource:
    """What the bindings are about."""

    type: Annotated[ResourceType, EnumName(ResourceType)]
    """The type of the resource."""
    name: Text
    """The name of the resource, its prefix, or "*" for all; of the cluster: kafka-cluster, or the
    virtual cluster that is to be administered."""
    pattern_type: Annotated[PatternType, EnumName(PatternType)] = PatternType.LITERAL
    """How the name is read: as it stands, or as a prefix."""


@manifest
class AclSpec:
    """One binding for every principal and operation."""

    principal: Annotated[Text | None, NotNull()] = None
    """Who, as Type:name; User:* is everyone, in a virtual cluster every member. Either this or
    principals."""
    principals: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """Several principals, instead of principal."""
    host: Text = "*"
    """The address that the client connects from as brokers write it, IPv6 in full
    (2001:db8:0:0:0:0:0:1), or "*" for any."""
    permission: Annotated[PermissionType, EnumName(PermissionType)]
    """Allow or Deny; a Deny wins over every Allow."""
    operations: Annotated[
        list[Annotated[Operation, EnumName(Operation)]],
        MinLen(1),
    ]
    """What may, or may not, be done."""
    resource: AclResource
    """What the bindings are about."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Delete (the default), Protect or Orphan."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the resource lies in, its prefix, or "*" for every one; the name of
    the resource is then one within it. Left out, or kafka-cluster, the bindings are global."""
    virtual_cluster_pattern_type: Annotated[PatternType, EnumName(PatternType)] = (
        PatternType.LITERAL
    )
    """How virtualCluster is read: as it stands, or as a prefix."""


@manifest
class Acl:
    """One or more ACL bindings.

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
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: AclSpec
    """The bindings."""


@manifest
class DefaultEntity:
    """The default entity: what holds where an entity has no quota of its own."""

    default: Literal[True]
    """Always true."""


_ENTITY = ErrorText("a name or {default: true}", "write the name, in quotes if it is a number")
EntityName = Annotated[Text | DefaultEntity | None, _ENTITY]


@manifest
class QuotaEntity:
    """Whom the quotas are for: user, clientId or both, also in a virtual cluster; or ip."""

    user: EntityName = None
    """The user's name without "User:", or {default: true} (or `<default>`) for all others."""
    client_id: EntityName = None
    """The client id, or {default: true} (or `<default>`) for all others."""
    ip: EntityName = None
    """The address, or {default: true} (or `<default>`) for all others; stands alone."""
    virtual_cluster: EntityName = None
    """The virtual cluster that the user or client id belongs to. Alone, the quotas are its cap:
    what all in it may use together; {default: true} (or `<default>`) is the cap of all others."""


_RATE = ErrorText("a number above 0", "write a number such as 1048576, or remove the key")
Rate = Annotated[Number, _RATE]


@manifest
class ClientQuotaSpec:
    """The quotas of one entity."""

    entity: QuotaEntity
    """Whom the quotas are for."""
    quotas: Annotated[dict[str, Rate], MinLen(1)]
    """Quota key to its value: producer_byte_rate, consumer_byte_rate, request_percentage,
    controller_mutation_rate; of an ip: connection_creation_rate."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Delete (the default), Protect or Orphan."""


@manifest
class ClientQuota:
    """The quotas of one entity.

    Example:
        apiVersion: kgitops/v1
        kind: ClientQuota
        metadata: {name: billing}
        spec:
          entity: {user: billing, clientId: {default: true}}
          quotas: {consumer_byte_rate: 10485760}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ClientQuota"]
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: ClientQuotaSpec
    """The quotas."""
