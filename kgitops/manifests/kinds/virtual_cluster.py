"""``kind: VirtualCluster``, and its members as documents: VirtualClusterBinding."""

from dataclasses import field
from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import Flag, NotNull, Shorthand, Text, manifest
from kgitops.manifests.kinds.metadata import MemberMetadata, Metadata


@manifest
class UserMember:
    """A user of a virtual cluster; may be written as the name alone."""

    principal: Text
    """The principal; a bare name gets "User:"."""
    copy_acls_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster whose ACLs are copied for the user, or kafka-cluster for global ones."""
    remove_old_acls_from: Text | None = None
    """The virtual cluster, or kafka-cluster, to remove the user's copied ACLs from, in a commit
    after the one that copies them."""
    move: Flag = False
    """True lets the user be taken out of another virtual cluster."""


@manifest
class GroupMember:
    """A consumer group of a virtual cluster; may be written as the name alone."""

    name: Text
    """The name of the group in the virtual cluster."""
    adopt: Annotated[Text | None, NotNull()] = None
    """The existing global group that it replaces."""
    copy_offsets: Annotated[Flag | None, NotNull()] = None
    """True (the default) copies the committed offsets of the adopted group."""


User = Annotated[UserMember, Shorthand("principal")]
Group = Annotated[GroupMember, Shorthand("name")]


@manifest
class Members:
    """The members of a virtual cluster; each may be a document of its own instead."""

    mode: Literal["authoritative", "additive"] = "authoritative"
    """The treatment of members that are not declared: authoritative reports them as drift, additive
    ignores them."""
    users: list[User] = field(default_factory=list)
    """The users: names, or mappings with more fields."""
    client_ids: list[Text] = field(default_factory=list)
    """The client ids."""
    groups: list[Group] = field(default_factory=list)
    """The consumer groups: names, or mappings with more fields."""
    transactional_ids: list[Text] = field(default_factory=list)
    """The transactional ids."""


@manifest
class Lowering:
    """The way to express the virtual cluster on a Kafka that has none."""

    cap_lowering: Literal["clamp", "divide", "none"] = "clamp"
    """The use of a cap: clamp every quota to it, divide it among the users, or none."""
    deny_wins: Flag = False
    """True accepts that a Deny on one link also affects other links to the same topic."""


@manifest
class VirtualClusterSpec:
    """A virtual cluster."""

    members: Members = field(default_factory=Members)
    """The members."""
    lowering: Lowering = field(default_factory=Lowering)
    """The way to express the virtual cluster on a Kafka that has none."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Protect (the default) refuses the plan, Delete deletes
    the virtual cluster, which must be empty by then, Orphan leaves it on the cluster and forgets
    it."""


@manifest
class VirtualCluster:
    """A virtual cluster: a name space for topics, groups and transactional ids of its members.

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
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: VirtualClusterSpec
    """The virtual cluster."""


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
    """The virtual cluster whose ACLs are copied for the user, or kafka-cluster for global ones."""
    remove_old_acls_from: Text | None = None
    """The virtual cluster, or kafka-cluster, to remove the user's copied ACLs from, in a commit
    after the one that copies them."""
    move: Flag = False
    """True lets the user or client id be taken out of another virtual cluster."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default) takes the member out of the
    virtual cluster, Orphan leaves it there and forgets it, Protect refuses the plan."""


@manifest
class VirtualClusterBinding:
    """A user, client id or transactional id of a virtual cluster; another team may declare it.

    Example:
        apiVersion: kgitops/v1
        kind: VirtualClusterBinding
        metadata: {name: ana-reader, virtualCluster: analytics}
        spec: {user: User:ana-reader}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualClusterBinding"]
    """The kind of the document."""
    metadata: MemberMetadata
    """The metadata of the document."""
    spec: BindingSpec
    """The member."""
