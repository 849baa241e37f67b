"""What records change of ACL bindings."""

from collections.abc import Iterator

from kgitops.cluster.embedded.image.image import AclsImage
from kgitops.cluster.embedded.image.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from kgitops.model.resources.acls import AclBinding


class AclsDelta:
    """Changes of ACL bindings."""

    def __init__(self, image: AclsImage) -> None:
        self._image = image
        self._changed: dict[AclBinding, bool] = {}

    def __contains__(self, binding: AclBinding) -> bool:
        """Whether the binding exists."""
        return self._changed.get(binding, binding in self._image.bindings)

    def __iter__(self) -> Iterator[AclBinding]:
        """Every binding, in no order."""
        yield from (binding for binding in self._image.bindings if binding not in self._changed)
        yield from (binding for binding, there in self._changed.items() if there)

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Take in one binding that came or went."""
        self._changed[record.binding] = isinstance(record, AccessControlEntryRecord)

    def apply(self) -> AclsImage:
        """The next image."""
        if not self._changed:
            return self._image
        added = (binding for binding, there in self._changed.items() if there)
        return AclsImage(bindings=self._image.bindings.difference(self._changed).union(added))
