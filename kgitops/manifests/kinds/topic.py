"""``kind: Topic``: a topic with its partitions, replicas and configs."""

from dataclasses import field
from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    BrokerId,
    ErrorText,
    IntKeys,
    IntRange,
    NotNull,
    PartitionId,
    Text,
    manifest,
)
from kgitops.manifests.kinds.metadata import LinkMetadata, TopicMetadata

ConfigScalar = str | int | float | bool
ConfigValue = Annotated[
    ConfigScalar | list[ConfigScalar],
    ErrorText(
        "text, a number, true or false, or a list of these", "write the value, or remove the key"
    ),
]


@manifest
class TopicSpec:
    """A topic: either partitions and replicationFactor, or assignments."""

    partitions: Annotated[int | None, IntRange(1)] = None
    """How many partitions the topic has; Kafka can add partitions and never remove one."""
    replication_factor: Annotated[int | None, IntRange(1, 32767)] = None
    """How many replicas each partition has."""
    assignments: Annotated[dict[PartitionId, list[BrokerId]] | None, IntKeys()] = None
    """Partition id to the brokers of its replicas, the preferred leader first; instead of
    partitions and replicationFactor."""
    configs: dict[str, ConfigValue] = field(default_factory=dict)
    """Kafka's topic configs by their own names, such as retention.ms."""
    configs_policy: Literal["Declared", "Exact"] = "Declared"
    """Declared leaves config keys alone that no manifest declares; Exact removes them."""
    delete_records_before: Annotated[
        dict[PartitionId, Annotated[int, IntRange(0, MAX_INT64, 1500)]], IntKeys()
    ] = field(default_factory=dict)
    """Partition id to an offset: the records below it must be gone."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """What removing this document means: Protect (the default) refuses, Delete deletes the topic,
    Orphan leaves it on the cluster and forgets it. In a virtual cluster both take the link away,
    and Delete deletes the topic only when no other link leads to it."""
    share_with: list[Text] = field(default_factory=list)
    """Other virtual clusters that may link to this topic of a virtual cluster."""


@manifest
class Topic:
    """A topic.

    Example:
        apiVersion: kgitops/v1
        kind: Topic
        metadata:
          name: orders
          labels: {team: payments}
        spec:
          partitions: 6
          replicationFactor: 3
          configs:
            retention.ms: 604800000
            cleanup.policy: delete
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Topic"]
    """What the document declares."""
    metadata: TopicMetadata
    """What the document says about itself."""
    spec: TopicSpec
    """The topic as it should be."""


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
