"""``kind: ConsumerGroup``: a group of the cluster, or one in a virtual cluster."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.amounts import Amounts
from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    ErrorText,
    Flag,
    FreeText,
    IntKeys,
    IntRange,
    NotNull,
    PartitionId,
    Text,
    manifest,
)
from kgitops.manifests.kinds.metadata import GroupMetadata
from kgitops.manifests.kinds.topic_profile import ConfigValue

Offset = Annotated[int, IntRange(0, MAX_INT64, 1500)]


@manifest
class ResetTarget:
    """A time or explicit offsets: exactly one of the two."""

    timestamp: Annotated[Text | None, NotNull()] = None
    """A time with its zone, such as 2026-11-01T00:00:00Z: the group goes to the first record of
    that time or later, and to the end where there is none."""
    offsets: Annotated[
        dict[Text, Annotated[dict[PartitionId, Offset], IntKeys(), MinLen(1)]] | None,
        NotNull(),
        MinLen(1),
    ] = None
    """Topic to partition id to the offset of the next record that the group reads."""


_TARGET = ErrorText(
    "earliest, latest, {timestamp: TIME} or {offsets: {TOPIC: {PARTITION: OFFSET}}}",
    "write one of these",
)


@manifest
class ResetOffsets:
    """The place to which a group is set once."""

    version: Annotated[Text, FreeText()]
    """Any text; changing it asks for the reset again."""
    to: Annotated[Literal["earliest", "latest"] | ResetTarget, _TARGET]
    """earliest, latest, a timestamp, or offsets."""
    topics: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The topics of which all partitions are reset; explicit offsets name theirs themselves."""


@manifest
class ConsumerGroupSpec:
    """A consumer group."""

    configs: Annotated[dict[str, ConfigValue], NotNull(), Amounts()] = field(default_factory=dict)
    """Kafka's group configs by their own names, such as consumer.session.timeout.ms. Not in a
    virtual cluster."""
    reset_offsets: Annotated[ResetOffsets | None, NotNull()] = None
    """The offsets to commit once, while the group has no members. Not in a virtual cluster."""
    adopt: Annotated[Text | None, NotNull()] = None
    """In a virtual cluster: the existing global group that it replaces."""
    copy_offsets: Annotated[Flag | None, NotNull()] = None
    """In a virtual cluster: true (the default) copies the committed offsets of the adopted
    group."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete deletes the group with its offsets, Orphan
    leaves it, Protect refuses the plan. The default is Protect; in a virtual cluster Orphan, which
    takes the group out of it."""


@manifest
class ConsumerGroup:
    """A consumer group, by its id; with metadata.virtualCluster, one in that virtual cluster.

    Example:
        apiVersion: kgitops/v1
        kind: ConsumerGroup
        metadata: {name: billing}
        spec:
          configs: {consumer.session.timeout.ms: 45000}
          resetOffsets:
            version: "2026-11"
            to: {timestamp: "2026-11-01T00:00:00Z"}
            topics: [orders]
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["ConsumerGroup"]
    """The kind of the document."""
    metadata: GroupMetadata
    """The metadata of the document."""
    spec: ConsumerGroupSpec
    """The group."""
