"""``kind: TopicLink``: a name in a virtual cluster for a topic."""

from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import NotNull, Text, manifest
from kgitops.manifests.kinds.metadata import LinkMetadata


@manifest
class LinkTarget:
    """The topic that a link leads to: virtualCluster and topic, or physicalTopic."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic was made in."""
    topic: Annotated[Text | None, NotNull()] = None
    """The topic's name in that virtual cluster."""
    physical_topic: Annotated[Text | None, NotNull()] = None
    """The topic's name on the cluster, instead of the other two."""


@manifest
class TopicLinkSpec:
    """A link."""

    target: LinkTarget
    """The topic that the link leads to."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Delete (the default), Protect or Orphan."""


@manifest
class TopicLink:
    """A name in a virtual cluster for a topic: data is neither copied nor moved.

    Example:
        apiVersion: kgitops/v1
        kind: TopicLink
        metadata: {name: sales.orders, virtualCluster: analytics}
        spec:
          target: {virtualCluster: emea.sales, topic: Orders}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["TopicLink"]
    """What the document declares."""
    metadata: LinkMetadata
    """What the document says about itself."""
    spec: TopicLinkSpec
    """The link."""
