"""``kind: Tombstone``: the reviewed statement that an object is to be deleted."""

from typing import Annotated, Literal

from kgitops.manifests.kinds.fields import FreeText, Listing, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import Metadata
from kgitops.model.resources.kinds import DECLARABLE_IN_WORDS, NAMED_KINDS
from kgitops.model.wording import enumerated


@manifest
class TombstoneTarget:
    """The object: its address, or kind and name."""

    address: Annotated[Text | None, NotNull(), Listing(DECLARABLE_IN_WORDS)] = None
    """The address, as a plan shows it: {}."""
    kind: Annotated[Text | None, NotNull(), Listing(enumerated(NAMED_KINDS))] = None
    """{}; others are named by address."""
    name: Annotated[Text | None, NotNull()] = None
    """The object's name."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the object is in, together with kind and name."""
    topic_id: Annotated[Text | None, NotNull()] = None
    """Delete the topic only if it has this id."""


@manifest
class TombstoneSpec:
    """The object to delete, and the reason."""

    target: TombstoneTarget
    """The object."""
    reason: Annotated[Text, FreeText()]
    """The reason for the deletion; shown in the plan."""


@manifest
class Tombstone:
    """The reviewed statement that an object is to be deleted.

    Example:
        apiVersion: kgitops/v1
        kind: Tombstone
        metadata: {name: drop-orders-v1}
        spec:
          target: {kind: Topic, name: orders.v1}
          reason: replaced by orders (2026-11)
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Tombstone"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: TombstoneSpec
    """The object to delete, and the reason."""
