"""Parts that documents of several kinds share, ``metadata`` first."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import EnumName, ErrorText, FreeText, NotNull, Text, manifest
from kgitops.model.resources.acls import PatternType, ResourceType


@manifest
class Metadata:
    """The metadata of every document."""

    name: Text
    """The name: of a topic, virtual cluster or group its own name on the cluster; of other kinds
    any name for the document."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of your choice, such as team: policies see them, reports show them, and --selector
    selects by them; they are not sent to Kafka."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the document is for; all clusters if left out."""


@manifest
class RuleMetadata(Metadata):
    """The metadata of a document that declares no object."""

    labels: Annotated[dict[str, str], FreeText()] = field(default_factory=dict)
    """Free text for people and other tools."""


@manifest
class TopicMetadata(Metadata):
    """The metadata of a topic."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic is created in; none if left out, or kafka-cluster."""


@manifest
class GroupMetadata(Metadata):
    """The metadata of a consumer group."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the group is in; none if left out, or kafka-cluster."""


@manifest
class MemberMetadata(Metadata):
    """The metadata of a document that belongs to a virtual cluster."""

    virtual_cluster: Text
    """The virtual cluster."""


@manifest
class LinkMetadata:
    """The metadata of a link."""

    name: Annotated[Text | None, NotNull()] = None
    """The name of the link; if left out, the name of the topic that it leads to."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of your choice, such as team: policies see them, reports show them, and --selector
    selects by them; they are not sent to Kafka."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the document is for; all clusters if left out."""
    virtual_cluster: Text
    """The virtual cluster that the link is in."""


@manifest
class AclResource:
    """The resource that the bindings are for."""

    type: Annotated[ResourceType, EnumName(ResourceType)]
    """The type of the resource."""
    name: Text
    """The name of the resource, its prefix, or "*" for all; for the type cluster: kafka-cluster,
    or the virtual cluster to administer."""
    pattern_type: Annotated[PatternType, EnumName(PatternType)] = PatternType.LITERAL
    """The pattern type: literal for exactly this name, prefixed for names that begin with it."""


@manifest
class DefaultEntity:
    """The default entity: its quotas hold for entities that have none of their own."""

    default: Literal[True]
    """Always true."""


_ENTITY = ErrorText("a name or {default: true}", "write the name, in quotes if it is a number")
EntityName = Annotated[Text | DefaultEntity | None, _ENTITY]
