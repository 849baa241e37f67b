"""``kind: Topic``, with partitions, replicas and configs, and ``kind: TopicLink``."""

from dataclasses import field
from typing import Annotated, Literal

from kgitops.manifests.kinds.amounts import Amounts
from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    BrokerId,
    IntKeys,
    IntRange,
    NotNull,
    PartitionId,
    Text,
    manifest,
)
from kgitops.manifests.kinds.metadata import LinkMetadata, TopicMetadata
from kgitops.manifests.kinds.topic_profile import ConfigValue


@manifest
class TopicSpec:
    """A topic: either partitions and replicationFactor, or assignments."""

    profile: Annotated[Text | None, NotNull()] = None
    """The TopicProfile that gives the values which are not written here."""
    partitions: Annotated[int | None, IntRange(1)] = None
    """The number of partitions; Kafka can add partitions but never remove one."""
    replication_factor: Annotated[int | None, IntRange(1, 32767)] = None
    """The number of replicas of each partition."""
    assignments: Annotated[dict[PartitionId, list[BrokerId]] | None, IntKeys()] = None
    """Partition id to the brokers of its replicas, the preferred leader first; instead of
    partitions and replicationFactor."""
    configs: Annotated[dict[str, ConfigValue | None], Amounts()] = field(default_factory=dict)
    """Kafka's topic configs by their own names, such as retention.ms; null removes a key that the
    profile or a default gives."""
    configs_policy: Annotated[Literal["Declared", "Exact"] | None, NotNull()] = None
    """Declared (the default) leaves config keys that no manifest declares as they are; Exact
    removes them."""
    delete_records_before: Annotated[
        dict[PartitionId, Annotated[int, IntRange(0, MAX_INT64, 1500)]], IntKeys()
    ] = field(default_factory=dict)
    """Partition id to an offset: records below it are deleted."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Protect (the default) refuses the plan, Delete deletes
    the topic, Orphan leaves it on the cluster and forgets it. In a virtual cluster both remove the
    link, and Delete deletes the topic only if no other link leads to it."""
    share_with: list[Text] = field(default_factory=list)
    """Other virtual clusters that may link to this topic, if it is in a virtual cluster."""


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
    """The kind of the document."""
    metadata: TopicMetadata
    """The metadata of the document."""
    spec: TopicSpec
    """The topic as it should be."""


@manifest
class LinkTarget:
    """The topic that a link leads to: virtualCluster and topic, or physicalTopic."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic was created in."""
    topic: Annotated[Text | None, NotNull()] = None
    """The topic's name in that virtual cluster."""
    physical_topic: Annotated[Text | None, NotNull()] = None
    """The topic's name on the physical cluster, instead of the other two."""


@manifest
class TopicLinkSpec:
    """A link."""

    target: LinkTarget
    """The topic that the link leads to."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), Protect or Orphan."""


@manifest
class TopicLink:
    """A name for a topic in a virtual cluster: data is neither copied nor moved.

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
    """The kind of the document."""
    metadata: LinkMetadata
    """The metadata of the document."""
    spec: TopicLinkSpec
    """The link."""
