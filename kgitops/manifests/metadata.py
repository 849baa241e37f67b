"""What every document says about itself."""

from dataclasses import field
from typing import Annotated

from annotated_types import MinLen

from kgitops.manifests.fields import NotNull, Text, manifest


@manifest
class Metadata:
    """What every document says about itself."""

    name: Text
    """The name: of a topic the topic's own, of other kinds what you call the document."""
    labels: dict[str, str] = field(default_factory=dict)
    """Free text for policies and reports, such as the owning team."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the document is for; left out, it is for all."""


@manifest
class MemberMetadata(Metadata):
    """What a document says about itself that may belong to a virtual cluster."""

    virtual_cluster: Annotated[str | None, NotNull()] = None
    """The virtual cluster that the object lies in; comes in a later version."""
