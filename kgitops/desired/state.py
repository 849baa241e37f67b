"""The desired state of a project: declared objects in normal form, and the managed scope."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TypeVar, cast, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.findings import UnknownConfig
from kgitops.manifests.files import EmptyFolder
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.declared import AnyDesired, DesiredObject, Tombstone, last_applied
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.resources.pinned_cluster import PinnedId
from kgitops.model.source import Finding

D = TypeVar("D", bound=AnyDesired)
_CLASSES: tuple[type[DesiredObject], ...] = get_args(DesiredObject)


class Project(Struct, frozen=True, kw_only=True):
    """The project that owns the manifests; ``identity`` is its uid, or its name without a uid.

    ``formerly`` and ``take_from`` are claims on other projects (``desired.claims``).
    """

    name: str
    uid: str | None = None
    formerly: tuple[str, ...] = ()
    take_from: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """The key of the project in the registry."""
        return self.uid or self.name


class Safety(Struct, frozen=True, kw_only=True):
    """Limits on deletions (contract §2); ``allow_deletes`` is the one override, per kind.

    Objects may be removed although the folders in ``allow_empty_folders`` are empty.
    ``allow_takeover`` are the identities of projects that may be taken over without their release.

    ``replication_throttle`` limits each broker while replicas move, in bytes per second; 0: no
    limit. The default leaves more than half of a 1 Gbit/s link to clients.
    """

    max_deletes: int = 10
    max_delete_percent: int = 20
    replication_throttle: int = 50 * 1024 * 1024
    allow_deletes: Mapping[str, int] = field(default_factory=dict)
    allow_empty_folders: tuple[str, ...] = ()
    allow_takeover: tuple[str, ...] = ()


class ManagedScope(Struct, frozen=True, kw_only=True):
    """The part of the project that a run manages, which decides on the meaning of an absence.

    ``whole``: the whole project was loaded, so an object that is not declared was removed.
    ``other_clusters``: addresses declared for other clusters only; a Tombstone alone removes them.
    ``targets`` and ``excludes``: addresses given on the command line; empty targets mean all.
    ``takes_over``: the project's claims on other projects count.
    """

    whole: bool
    other_clusters: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    takes_over: bool = True


class DesiredState(Struct, frozen=True, kw_only=True):
    """All declarations of the manifests by their class, in the order of their addresses.

    ``digest`` covers the normal form of every object, so that it does not depend on files,
    spelling or order. ``warnings`` are findings that do not stop a run. ``gateway`` is the one that
    clients of the cluster come through, ``pin`` the id that the project expects of the cluster.
    ``empty_folders`` are signs that files are missing. No plan is made as long as there are
    ``unknown_configs``, for which the brokers have to be asked.
    """

    project: Project
    scope: ManagedScope
    safety: Safety = Safety()
    principal: str = "User:ANONYMOUS"
    by_class: Mapping[type[Struct], tuple[DesiredObject, ...]] = field(default_factory=dict)
    tombstones: tuple[Tombstone, ...] = ()
    warnings: tuple[Finding, ...] = ()
    unknown_configs: tuple[UnknownConfig, ...] = ()
    digest: str = ""
    gateway: DeclaredGateway | None = None
    empty_folders: tuple[EmptyFolder, ...] = ()
    pin: PinnedId | None = None

    @property
    def objects(self) -> tuple[DesiredObject, ...]:
        """All declared objects."""
        return tuple(chain.from_iterable(self.by_class.values()))

    def of(self, kind: type[D]) -> tuple[D, ...]:
        """The declared objects of a class."""
        return cast("tuple[D, ...]", self.by_class.get(kind, ()))

    def with_objects(self, objects: Iterable[DesiredObject]) -> "DesiredState":
        """The desired state of the same project with just these objects."""
        by_class: dict[type[Struct], list[DesiredObject]] = {kind: [] for kind in _CLASSES}
        for item in objects:
            by_class[type(item)].append(item)
        return replace(self, by_class={kind: tuple(each) for kind, each in by_class.items()})

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses of all declared objects, and of those that a Tombstone deletes."""
        return frozenset(item.address for item in (*self.objects, *self.tombstones))


def digest(state: DesiredState) -> str:
    """Return ``sha256:…`` over the records of all objects, in order of address.

    It does not depend on how or where they are written.
    """
    tombstones = [
        [each.address, each.name, each.reason, each.topic_id, each.labels]
        for each in state.tombstones
    ]
    objects = [[it.address, last_applied(it), it.labels] for it in state.objects]
    return sha256(canonical_json([objects, tombstones]))
