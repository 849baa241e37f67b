"""The kinds of virtual clusters: they are read, and refused until a later version has them."""

from dataclasses import field
from typing import Annotated, Literal

from kgitops.manifests.fields import Flag, NotNull, Text, manifest
from kgitops.manifests.metadata import MemberMetadata, Metadata

DeletionPolicy = Literal["Protect", "Delete", "Orphan"]


@manifest
class UserMember:
    """A user of a virtual cluster."""

    principal: Text
    """The principal; a bare name gets "User:"."""
    copy_acls_from: str | None = None
    """The virtual cluster, or kafka-cluster, whose ACLs the user takes along."""
    remove_old_acls_from: str | None = None
    """Where the user's old ACLs are removed, in a later commit."""
    move: Flag = False
    """Whether the user may be taken from another virtual cluster."""


@manifest
class GroupMember:
    """A consumer group of a virtual cluster."""

    name: Text
    """The name of the group in the virtual cluster."""
    adopt: Annotated[str | None, NotNull()] = None
    """The existing group that becomes this one."""
    copy_offsets: Flag = False
    """Whether the committed offsets are copied."""


@manifest
class Members:
    """Who belongs to a virtual cluster."""

    mode: Literal["authoritative", "additive"] = "authoritative"
    """Whether members that are not listed are removed or left alone."""
    users: list[str | UserMember] = field(default_factory=list)
    """The users."""
    client_ids: list[str] = field(default_factory=list)
    """The client ids."""
    groups: list[str | GroupMember] = field(default_factory=list)
    """The consumer groups."""
    transactional_ids: list[str] = field(default_factory=list)
    """The transactional ids."""


@manifest
class Lowering:
    """How a virtual cluster is carried out on a Kafka that has none."""

    cap_lowering: Annotated[str | None, NotNull()] = None
    """What is done about caps."""
    deny_wins: Annotated[Flag | None, NotNull()] = None
    """Whether a Deny outside wins."""


@manifest
class VirtualClusterSpec:
    """A virtual cluster."""

    members: Members = field(default_factory=Members)
    """Who belongs to it."""
    lowering: Lowering = field(default_factory=Lowering)
    """How it is carried out on a Kafka that has no virtual clusters."""
    deletion_policy: DeletionPolicy = "Protect"
    """What removing this document means."""


@manifest
class VirtualCluster:
    """A virtual cluster; comes in a later version."""

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualCluster"]
    """What the document declares."""
    metadata: Metadata
    """What the document says about itself."""
    spec: VirtualClusterSpec
    """The virtual cluster."""


@manifest
class LinkTarget:
    """The topic that a link leads to."""

    virtual_cluster: Annotated[str | None, NotNull()] = None
    """The virtual cluster of the topic."""
    topic: Annotated[str | None, NotNull()] = None
    """The name of the topic in that virtual cluster."""
    physical_topic: Annotated[str | None, NotNull()] = None
    """The physical topic, instead of the other two."""


@manifest
class TopicLinkSpec:
    """A link."""

    target: LinkTarget
    """The topic that the link leads to."""
    deletion_policy: Annotated[DeletionPolicy | None, NotNull()] = None
    """What removing this document means."""


@manifest
class TopicLink:
    """A name in a virtual cluster for a topic; comes in a later version."""

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["TopicLink"]
    """What the document declares."""
    metadata: MemberMetadata
    """What the document says about itself."""
    spec: TopicLinkSpec
    """The link."""


@manifest
class ConsumerGroupSpec:
    """A consumer group of a virtual cluster."""

    adopt: Annotated[str | None, NotNull()] = None
    """The existing group that becomes this one."""
    copy_offsets: Flag = False
    """Whether the committed offsets are copied."""
    deletion_policy: Annotated[DeletionPolicy | None, NotNull()] = None
    """What removing this document means."""


@manifest
class ConsumerGroup:
    """The long form of a member of spec.members.groups; comes in a later version."""

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

    user: Annotated[str | None, NotNull()] = None
    """The principal."""
    client_id: Annotated[str | None, NotNull()] = None
    """The client id."""
    transactional_id: Annotated[str | None, NotNull()] = None
    """The transactional id."""
    deletion_policy: Annotated[DeletionPolicy | None, NotNull()] = None
    """What removing this document means."""


@manifest
class VirtualClusterBinding:
    """The long form of a member of a virtual cluster; comes in a later version."""

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualClusterBinding"]
    """What the document declares."""
    metadata: MemberMetadata
    """What the document says about itself."""
    spec: BindingSpec
    """The member."""
