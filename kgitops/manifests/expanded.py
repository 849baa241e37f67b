"""A document together with the values that it gets from elsewhere, each with its origin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from kgitops.manifests.value_origin import OriginKind, ValueOrigin, dotted
from kgitops.manifests.yaml.document import Document, DocumentPart, Step
from kgitops.model.source import Source

Path = tuple[Step, ...]


@dataclass(slots=True, eq=False)
class Given:
    """One value that is written under ``path`` of ``document``; many documents may share it.

    Without ``kind`` it is the object's own, written under another path. ``profile`` is the profile
    that a default holds under.
    """

    kind: OriginKind | None
    name: str
    document: Document
    path: Path
    profile: str | None = None
    _origin: ValueOrigin | None = field(default=None, init=False)

    @property
    def source(self) -> Source:
        """The place where the value is written."""
        return self.document.at(*self.path)

    @property
    def group(self) -> tuple[str, str] | None:
        """The origin, or what it is a part of: a profile stands on the defaults."""
        match self.kind:
            case None:
                return None
            case OriginKind.PROFILE | OriginKind.PROJECT_DEFAULT | OriginKind.CLUSTER_DEFAULT:
                return ("layers", "")
            case OriginKind.FOLDER | OriginKind.ROLE:
                return (str(self.kind), self.name)

    @property
    def origin(self) -> ValueOrigin | None:
        """The value's origin; None if it is the object's own."""
        if self._origin is None and self.kind is not None:
            self._origin = ValueOrigin(self.kind, self.name, self.source, profile=self.profile)
        return self._origin


class Removed(Struct, frozen=True):
    """A value from elsewhere that null removes; without ``by`` the null is the document's own."""

    given: Given
    value: object
    by: Given | None = None


class ExpandedDocument(Document):
    """A document whose values under the paths of ``given`` are written elsewhere.

    ``removed`` are values from elsewhere, as text, that null removes, here or between.
    """

    __slots__ = ("given", "removed")

    def __init__(
        self,
        document: Document,
        given: Mapping[Path, Given],
        removed: Mapping[Path, Removed] = MappingProxyType({}),
    ) -> None:
        super().__init__(document.file, document.start, document.end, document.item)
        self.given = given
        self.removed = removed

    def at(self, *path: Step) -> Source:
        """The place of the value, wherever it is written."""
        removed = self.removed.get(path)
        given = removed.by if removed else self.given_at(path)
        return super().at(*path) if given is None else given.source

    def key_at(self, *path: Step) -> Source:
        """The place of the value's key, wherever it is written."""
        given = self.given_at(path)
        return super().key_at(*path) if given is None else given.document.key_at(*given.path)

    def own_place(self, path: Path) -> Source:
        """The place in this document that is to blame for a value from elsewhere."""
        return super().at("spec", "profile") if path[0] == "spec" else super().at(*path)

    def given_at(self, path: Path) -> Given | None:
        """The value from elsewhere under ``path``, or under its nearest parent that is one."""
        for length in range(len(path), 0, -1):
            if (given := self.given.get(path[:length])) is not None:
                return given
        return None

    def is_given_together(self, *paths: Path) -> bool:
        """True if all these values are from a profile and defaults, which are checked once."""
        groups = {item.group if (item := self.given.get(path)) else None for path in paths}
        return len(groups) == 1 and None not in groups

    @property
    def origins(self) -> Mapping[str, ValueOrigin]:
        """The origin of each value that this document doesn't hold itself, or removes."""
        origins = {
            dotted(*path[1:]): origin
            for path, given in self.given.items()
            if (origin := given.origin) is not None
        }
        for path, it in self.removed.items():
            if it.given.origin is not None:
                by = it.by.origin.text if it.by and it.by.origin else None
                origins[dotted(*path[1:])] = replace(
                    it.given.origin, removed=str(it.value), removed_by=by
                )
        return dict(sorted(origins.items()))


class ExpandedPart(DocumentPart):
    """A part of a document that gets labels from elsewhere, and declares an object of its own."""

    __slots__ = ("expanded",)

    def __init__(self, document: ExpandedDocument, *path: Step) -> None:
        super().__init__(document, *path)
        self.expanded = document

    @property
    def origins(self) -> Mapping[str, ValueOrigin]:
        """The origins of the labels, which are the document's."""
        return self.expanded.origins


def part_of(document: Document, *path: Step) -> DocumentPart:
    """The part of the document under ``path``."""
    if isinstance(document, ExpandedDocument):
        return ExpandedPart(document, *path)
    return DocumentPart(document, *path)


def given_by(document: object, *paths: Path) -> str:
    """The words by which a sentence names the origins of values: `` (from the profile …)``."""
    if not isinstance(document, ExpandedDocument):
        return ""
    origins = {
        given.origin: None
        for path in paths
        if (given := document.given_at(path)) is not None and given.origin is not None
    }
    names = " and ".join(f"from the {origin.text}, {origin.source}" for origin in origins)
    return f" ({names})" if names else ""
