"""``kind: TopicProfile``, and the values that many topics share, in a profile or as a default."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import Amounts, ErrorText, IntRange, NotNull, Text, manifest

ConfigScalar = str | int | float | bool
ConfigValue = Annotated[
    ConfigScalar | list[ConfigScalar],
    ErrorText(
        "text, a number, true or false, or a list of these", "write the value, or remove the key"
    ),
]


@manifest
class TopicDefaults:
    """The values that a topic has unless its document says otherwise."""

    partitions: Annotated[int | None, IntRange(1)] = None
    """The number of partitions."""
    replication_factor: Annotated[int | None, IntRange(1, 32767)] = None
    """The number of replicas of each partition."""
    configs: Annotated[dict[str, ConfigValue | None], Amounts()] = field(default_factory=dict)
    """Kafka's topic configs by their own names; a topic's own win, key by key, and null removes a
    key that a default below gives."""
    configs_policy: Annotated[Literal["Declared", "Exact"] | None, NotNull()] = None
    """Declared leaves config keys that no manifest declares as they are; Exact removes them."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing the topic's document: Protect, Delete or Orphan."""


@manifest
class ProfileMetadata:
    """The metadata of a profile."""

    name: Text
    """The name of the profile, as spec.profile of topics and folders has it."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the profile is for; all clusters if left out."""


@manifest
class TopicProfile:
    """Values for many topics: those whose spec.profile names it, or whose folder's does.

    Example:
        apiVersion: kgitops/v1
        kind: TopicProfile
        metadata: {name: compacted}
        spec:
          replicationFactor: 3
          configs: {cleanup.policy: compact, min.insync.replicas: 2}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["TopicProfile"]
    """The kind of the document."""
    metadata: ProfileMetadata
    """The metadata of the document."""
    spec: TopicDefaults
    """The values."""
