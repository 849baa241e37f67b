"""``kind: VirtualCluster``: a virtual cluster, and in short who belongs to it."""

from dataclasses import field
from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import Flag, NotNull, Shorthand, Text, manifest
from kgitops.manifests.kinds.metadata import MemberMetadata, Metadata


@manifest
class UserMember:
    """A user of a virtual cluster; a name alone stands for it."""

    principal: Text
    """The principal; a bare name gets "User:"."""
    copy_acls_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster whose ACLs the user takes along, or kafka-cluster for the global ones."""
    remove_old_acls_from: Text | None = None
    """Where the user's copied ACLs are to be removed, in a commit after the one that copies."""
    move: Flag = False
    """Whether the user may be taken out of another virtual cluster."""


@manifest
class GroupMember:
    """A consumer group of a virtual cluster; a name alone stands for it."""

    name: Text
    """The name of the group in the virtual cluster."""
    adopt: Annotated[Text | None, NotNull()] = None
    """The existing global group whose place it takes."""
    copy_offsets: Annotated[Flag | None, NotNull()] = None
    """Whether the committed offsets of the adopted group are copied: true, unless you say so."""


User = Annotated[UserMember, Shorthand("principal")]
Group = Annotated[GroupMember, Shorthand("name")]


@manifest
class Members:
    """Who belongs to a virtual cluster; each may be a document of its own instead."""

    mode: Literal["authoritative", "additive"] = "authoritative"
    """Whether members that nobody declares are reported as drift or passed over."""
    users: list[User] = field(default_factory=list)
    """The users: names, or mappings that say more."""
    client_ids: list[Text] = field(default_factory=list)
    """The client ids."""
    groups: list[Group] = field(default_factory=list)
    """The consumer groups: names, or mappings that say more."""
    transactional_ids: list[Text] = field(default_factory=list)
    """The transactional ids."""


@manifest
class Lowering:
    """How it is carried out on a Kafka that has no virtual clusters."""

    cap_lowering: Literal["clamp", "divide", "none"] = "clamp"
    """What becomes of a cap: clamp every quota to it, divide it among the users, or none."""
    deny_wins: Flag = False
    """Whether a Deny on one link may also hit another link to the same topic."""


@manifest
class VirtualClusterSpec:
    """A virtual cluster."""

    members: Members = field(default_factory=Members)
    """Who belongs to it."""
    lowering: Lowering = field(default_factory=Lowering)
    """How it is carried out on a Kafka that has no virtual clusters."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Protect (the default) refuses, Delete deletes the virtual
    cluster, which must be empty by then, Orphan leaves it on the cluster and forgets it."""


@manifest
class VirtualCluster:
    """A virtual cluster: names of its own for topics, groups and transactional ids of its members.

    Example:
        apiVersion: kgitops/v1
        kind: VirtualCluster
        metadata:
          name: emea.sales
          labels: {team: sales}
        spec:
          members:
            users:
              - {principal: User:sales-app, copyAclsFrom: kafka-cluster}
              - sales-web
            clientIds: [sales-batch]
            groups:
              - {name: sales-etl, adopt: sales-etl}
            transactionalIds: [sales-tx-1]
          lowering: {capLowering: clamp}
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualCluster"]
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: VirtualClusterSpec
    """The virtual cluster."""


@manifest
class ConsumerGroupSpec:
    """A consumer group of a virtual cluster."""

    adopt: Annotated[Text | None, NotNull()] = None
    """The existing global group whose place it takes."""
    copy_offsets: Annotated[Flag | None, NotNull()] = None
    """Whether the committed offsets of the adopted group are copied: true, unless you say so."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Orphan (the default) takes the group out of the virtual
    cluster and leaves its offsets, Delete deletes the group, Protect refuses."""


@manifest
class ConsumerGroup:
    """A consumer group of a virtual cluster; its name is metadata.name.

    Example:
        apiVersion: kgitops/v1
        kind: ConsumerGroup
        metadata: {name: sales-etl, virtualCluster: emea.sales}
        spec: {adopt: sales-etl}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ConsumerGroup"]
    """What the document declares."""
    metadata: MemberMetadata
    """What the document says about itself."""
    spec: ConsumerGroupSpec
    """The group."""


@manifest
class BindingSpec:
    """A member: exactly one of user, clientId and transactionalId."""

    user: Annotated[Text | None, NotNull()] = None
    """The principal; a bare name gets "User:"."""
    client_id: Annotated[Text | None, NotNull()] = None
    """The client id."""
    transactional_id: Annotated[Text | None, NotNull()] = None
    """The transactional id."""
    copy_acls_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster whose ACLs the user takes along, or kafka-cluster for the global ones."""
    remove_old_acls_from: Text | None = None
    """Where the user's copied ACLs are to be removed, in a commit after the one that copies."""
    move: Flag = False
    """Whether the user or client id may be taken out of another virtual cluster."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Delete (the default) takes the member out of the virtual
    cluster, Orphan leaves it there and forgets it, Protect refuses."""


@manifest
class VirtualClusterBinding:
    """A user, client id or transactional id of a virtual cluster, which another team may declare.

    Example:
        apiVersion: kgitops/v1
        kind: VirtualClusterBinding
        metadata: {name: ana-reader, virtualCluster: analytics}
        spec: {user: User:ana-reader}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualClusterBinding"]
    """What the document declares."""
    metadata: MemberMetadata
    """What the document says about itself."""
    spec: BindingSpec
    """The member."""
