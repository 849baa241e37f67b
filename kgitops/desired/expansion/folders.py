"""Finds what the folders of a document give to it: labels, and the profile of its topics."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kgitops.desired.findings import Findings
from kgitops.manifests.expanded import Given, Path
from kgitops.manifests.load import Manifest
from kgitops.manifests.value_origin import OriginKind
from kgitops.manifests.yaml.document import Document

if TYPE_CHECKING:
    from kgitops.manifests.kinds.folder import Folder


class FolderValues(Struct, frozen=True):
    """The values for documents in a folder: those of the folders above it, and its own."""

    labels: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[Path, Given] = field(default_factory=dict)
    profile: str | None = None


_NOTHING = FolderValues()


class Folders:
    """The Folder documents, by the path of their folder."""

    def __init__(self, manifests: Iterable[Manifest], findings: Findings) -> None:
        self._written: dict[str, tuple[Folder, Document]] = {}
        self._values: dict[str, FolderValues] = {}
        for manifest in manifests:
            declared, document = manifest.declares, manifest.document
            if declared.kind != "Folder":
                continue
            first = self._written.setdefault(manifest.folder, (declared, document))
            if first[1] is not document:
                findings.error(
                    document,
                    ("kind",),
                    f"this folder has a Folder document already at {first[1].source}",
                    "keep one of the two",
                )

    def profiles(self) -> Iterable[tuple[str, Document]]:
        """The profiles that Folder documents name."""
        for folder, document in self._written.values():
            if folder.spec.profile is not None:
                yield folder.spec.profile, document

    def values(self, folder: str) -> FolderValues:
        """The values for documents in ``folder``."""
        if not self._written:
            return _NOTHING
        known = self._values.get(folder)
        if known is None:
            known = self._values[folder] = self._overlaid(folder)
        return known

    def _overlaid(self, folder: str) -> FolderValues:
        parent = os.path.dirname(folder)  # noqa: PTH120 (a name, that stays text)
        above = self.values(parent) if parent != folder else _NOTHING
        written = self._written.get(folder)
        if written is None:
            return above
        declared, document = written
        name = os.path.dirname(document.file.name) or "."  # noqa: PTH120
        own: dict[Path, Given] = {
            ("metadata", "labels", key): Given(
                OriginKind.FOLDER, name, document, ("metadata", "labels", key)
            )
            for key in declared.metadata.labels
        }
        return FolderValues(
            {**above.labels, **declared.metadata.labels},
            {**above.given, **own},
            declared.spec.profile or above.profile,
        )
