"""The header of a project's rows: everything of a DesiredState but its objects."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.fleet.tables.format import FORMAT_VERSION
from kgitops.manifests.files import EmptyFolder
from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.json.codec import Count
from kgitops.model.json.declared import Tombstone
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.resources.pinned_cluster import PinnedId
from kgitops.model.source import Finding, Source

DESIRED_KIND: Literal["kgitops.desired"] = "kgitops.desired"


class DesiredPlace(Struct, frozen=True):
    """A place in a document; a table holds only where the object begins.

    ``origins`` are those of the values that its document doesn't hold itself, by path.
    """

    source: Source
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)

    def at(self, *path: str | int) -> Source:
        """The same place for any path."""
        del path
        return self.source


class Git(Struct, frozen=True):
    """The manifests' commit, and whether they differ from it."""

    sha: str | None = None
    dirty: bool = False


class HeaderScope(Struct, frozen=True):
    """The scope without a run's own targets."""

    whole: bool
    other_clusters: tuple[str, ...]


class HeaderSafety(Struct, frozen=True):
    """The limits without a run's own overrides."""

    max_deletes: int
    max_delete_percent: int
    replication_throttle: int


class HeaderTombstone(Struct, frozen=True):
    """A Tombstone with its place."""

    name: str
    address: str
    reason: str
    topic_id: str | None
    labels: Mapping[str, str]
    source: Source


class DesiredHeader(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The header of a table of ``rows`` objects, declared for ``cluster`` if one is named.

    A ``gateway``, a ``pin`` and ``empty_folders`` are only written where there are any, because
    files from before they were there have none.
    """

    kind: Literal["kgitops.desired"]
    format_version: str
    rows: Count
    project: Project
    scope: HeaderScope
    safety: HeaderSafety
    principal: str
    digest: str
    tombstones: tuple[HeaderTombstone, ...]
    warnings: tuple[Finding, ...]
    virtual_clusters: bool
    git: Git
    cluster: str | None
    gateway: DeclaredGateway | None = None
    empty_folders: tuple[EmptyFolder, ...] = ()
    pin: PinnedId | None = None

    @property
    def desired(self) -> DesiredState:
        """The declarations without any object."""
        return DesiredState(
            project=self.project,
            scope=ManagedScope(
                whole=self.scope.whole, other_clusters=frozenset(self.scope.other_clusters)
            ),
            safety=Safety(**asdict(self.safety)),
            principal=self.principal,
            digest=self.digest,
            tombstones=tuple(
                Tombstone(located=DesiredPlace(each.pop("source")), **each)
                for each in map(asdict, self.tombstones)
            ),
            warnings=self.warnings,
            gateway=self.gateway,
            empty_folders=self.empty_folders,
            pin=self.pin,
        )


def header_of(desired: DesiredState, rows: int, git: Git, cluster: str | None) -> DesiredHeader:
    """The header of the declarations in ``desired``."""
    scope = desired.scope
    return DesiredHeader(
        kind=DESIRED_KIND,
        format_version=FORMAT_VERSION,
        rows=rows,
        project=desired.project,
        scope=HeaderScope(scope.whole, tuple(sorted(scope.other_clusters))),
        safety=msgspec.convert(desired.safety, HeaderSafety, from_attributes=True),
        principal=desired.principal,
        digest=desired.digest,
        tombstones=tuple(
            HeaderTombstone(
                each.name,
                each.address,
                each.reason,
                each.topic_id,
                each.labels,
                each.located.source,
            )
            for each in desired.tombstones
        ),
        warnings=desired.warnings,
        virtual_clusters=any(item.address.startswith("vc/") for item in desired.objects),
        git=git,
        cluster=cluster,
        gateway=desired.gateway,
        empty_folders=desired.empty_folders,
        pin=desired.pin,
    )
