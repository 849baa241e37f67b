"""``kind: Folder``: labels and a profile for every document in a folder and below it."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.manifests.kinds.fields import NotNull, Text, manifest


@manifest
class FolderMetadata:
    """The metadata of a folder; a folder has no name, it is the one that the file lies in."""

    labels: dict[str, str] = field(default_factory=dict)
    """Labels of every object that is declared in the folder or below it; labels of a folder
    further down win, and an object's own win over all, key by key."""
    clusters: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The clusters that the document is for; all clusters if left out."""


@manifest
class FolderSpec:
    """The settings of a folder."""

    profile: Annotated[Text | None, NotNull()] = None
    """The TopicProfile of topics in the folder and below it that name none."""


@manifest
class Folder:
    """Labels and a profile for every document in the folder of its file, and below it.

    Example:
        apiVersion: kgitops/v1
        kind: Folder
        metadata:
          labels: {team: payments}
        spec: {profile: compacted}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Folder"]
    """The kind of the document."""
    metadata: FolderMetadata = field(default_factory=FolderMetadata)
    """The metadata of the document."""
    spec: FolderSpec = field(default_factory=FolderSpec)
    """The settings."""
