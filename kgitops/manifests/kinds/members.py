"""``kind: ConsumerGroup`` and ``VirtualClusterBinding``: members as documents of their own."""

from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import Flag, NotNull, Text, manifest
from kgitops.manifests.kinds.metadata import MemberMetadata


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
