"""What every document says about itself."""

from dataclasses import field
from typing import Annotated

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import NotNull, Text, manifest


@manifest
class Metadata:
    """What every document says about itself."""

    name: Text
    """The name: of a topic, virtual cluster or group its own, of other kinds what you call the
    document."""
    labels: dict[str, str] = field(default_factory=dict)
    """Whose it is, in words of yours, such as team: policies see them, reports show them, and
    --selector picks by them; Kafka is not sent them."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the document is for; left out, it is for all."""


@manifest
class RuleMetadata(Metadata):
    """The metadata of a document that declares no object."""

    labels: dict[str, str] = field(default_factory=dict)
    """Free text for people and other tools."""


@manifest
class TopicMetadata(Metadata):
    """What a topic says about itself."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic is made in; left out, or kafka-cluster, it is in none."""


@manifest
class MemberMetadata(Metadata):
    """The metadata of a document that belongs to a virtual cluster."""

    virtual_cluster: Text
    """The virtual cluster."""


@manifest
class LinkMetadata:
    """What a link says about itself."""

    name: Annotated[Text | None, NotNull()] = None
    """The name of the link; left out, that of the topic that it leads to."""
    labels: dict[str, str] = field(default_factory=dict)
    """Whose it is, in words of yours, such as team: policies see them, reports show them, and
    --selector picks by them; Kafka is not sent them."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the document is for; left out, it is for all."""
    virtual_cluster: Text
    """The virtual cluster that the link lies in."""
