"""The origin of a declared value: a profile, a folder, the project's defaults or a role."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, TypeGuard

from msgspec import Struct

from kgitops.model.source import Located, Source


class OriginKind(StrEnum):
    """The kinds of place that a declared value can come from, besides the object's own document."""

    PROFILE = "profile"
    FOLDER = "folder"
    PROJECT_DEFAULT = "project-default"
    CLUSTER_DEFAULT = "cluster-default"
    ROLE = "role"


class ValueOrigin(Struct, frozen=True, omit_defaults=True):
    """The origin of one value: ``name`` is the profile's, the folder's, the cluster's, the role's.

    ``source`` is the place where the value is written; that of a role is the role's. ``removed`` is
    the value, if null removes it; None if the object has it. ``removed_by`` is the profile or the
    default with the null; None if that is the document's own. ``profile`` is the profile that a
    default holds under.
    """

    kind: OriginKind
    name: str
    source: Source
    removed: str | None = None
    removed_by: str | None = None
    profile: str | None = None

    @property
    def text(self) -> str:
        """The origin as reports show it: ``profile compacted``."""
        match self.kind:
            case OriginKind.PROJECT_DEFAULT:
                return "project default"
            case OriginKind.CLUSTER_DEFAULT:
                return f"default of {self.name}"
            case _:
                return f"{self.kind} {self.name}"


class HasOrigins(Protocol):
    """A declared object's place that knows the origins of its values."""

    @property
    def origins(self) -> Mapping[str, ValueOrigin]:
        """The origin of each value that the object's document doesn't hold itself, by path."""
        ...


def has_origins(located: Located) -> TypeGuard[HasOrigins]:
    """Return whether it knows origins, without asking for them: an isinstance would."""
    return hasattr(type(located), "origins")


def origins_of(located: Located) -> Mapping[str, ValueOrigin]:
    """The origins of the values of what is declared there; empty if all are its own."""
    return located.origins if has_origins(located) else {}


def dotted(*path: str | int) -> str:
    """The name of a value below ``spec`` or ``metadata``: ``configs.retention.ms``."""
    return ".".join(str(step) for step in path)
