"""The desired state of a project: declared objects in normal form, and the managed scope."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.manifests.empty_folders import EmptyFolder
from kgitops.model.lowered import DeclaredGateway
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.pinned_cluster import PinnedId
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import Assignment
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, LoweringOptions
from kgitops.model.source import Finding, Located
from kgitops.model.values import PartlyCompared


class DeletionPolicy(StrEnum):
    """The effect of removing an object's document (contract §1, Removal)."""

    PROTECT = "Protect"
    DELETE = "Delete"
    ORPHAN = "Orphan"


class ConfigsPolicy(StrEnum):
    """The treatment of undeclared config keys: left alone or removed (contract §1, Fields)."""

    DECLARED = "Declared"
    EXACT = "Exact"


class _Located(PartlyCompared, frozen=True, kw_only=True):
    """A document's address, labels and place; two are equal wherever they are written."""

    not_compared: ClassVar = "located"
    address: str
    labels: Mapping[str, str] = field(default_factory=dict)
    located: Located


class _Declared(_Located, frozen=True, kw_only=True):
    """Base of the declared objects: ``deletion_policy_written`` if the document says it."""

    deletion_policy_written: bool = False


class DesiredTopic(_Declared, frozen=True, kw_only=True):
    """A declared topic. Either ``assignment`` is given, or partitions and replication factor.

    ``name`` is the local one of a topic that is declared in a ``virtual_cluster``; ``share_with``
    names the virtual clusters that may link to it (VC-040).
    """

    name: str
    partitions: int
    replication_factor: int
    assignment: Assignment | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    delete_records_before: Mapping[int, int] = field(default_factory=dict)
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT
    configs_policy: ConfigsPolicy = ConfigsPolicy.DECLARED
    virtual_cluster: str | None = None
    share_with: tuple[str, ...] = ()


class DesiredAcl(_Declared, frozen=True, kw_only=True):
    """One declared binding; a document with several principals or operations declares several."""

    binding: AclBinding
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE


class DesiredQuota(_Declared, frozen=True, kw_only=True):
    """The declared quotas of one entity, by Kafka's key."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float]
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE


class OffsetReset(Struct, frozen=True, kw_only=True):
    """The place to which a group is set once; another ``version`` asks for it again.

    Exactly one of ``position`` (``earliest`` or ``latest``), ``timestamp_ms`` and ``offsets`` is
    given; ``topics`` are those of which all partitions are set.
    """

    version: str
    position: str | None = None
    timestamp_ms: int | None = None
    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    topics: tuple[str, ...] = ()


class DesiredGroup(_Declared, frozen=True, kw_only=True):
    """A declared consumer group outside of virtual clusters."""

    name: str
    configs: Mapping[str, str] = field(default_factory=dict)
    reset: OffsetReset | None = None
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT


class DesiredClientMetrics(_Declared, frozen=True, kw_only=True):
    """A declared subscription to the metrics of clients."""

    name: str
    configs: Mapping[str, str]
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE


class MembersMode(StrEnum):
    """The treatment of undeclared members: reported as drift, or ignored."""

    AUTHORITATIVE = "authoritative"
    ADDITIVE = "additive"


class DesiredVirtualCluster(_Declared, frozen=True, kw_only=True):
    """A declared virtual cluster; its members are objects of their own."""

    name: str
    mode: MembersMode = MembersMode.AUTHORITATIVE
    options: LoweringOptions = field(default_factory=LoweringOptions)
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT


class DesiredLink(_Declared, frozen=True, kw_only=True):
    """A declared link: it leads to the physical ``topic``, or to where the link ``target`` does."""

    local: LocalName
    topic: str | None = None
    target: LocalName | None = None
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE


class DesiredMember(_Declared, frozen=True, kw_only=True):
    """A declared user, client id, group or transactional id of a virtual cluster.

    The ``name`` of a user is a principal. ``copy_acls_from`` and ``remove_old_acls_from`` name a
    virtual cluster, or ``kafka-cluster`` for none. With ``move`` it may come from another virtual
    cluster. ``adopt`` is the global group that a group takes over, with ``copy_offsets``.
    """

    virtual_cluster: str
    entity_type: EntityType
    name: str
    copy_acls_from: str | None = None
    remove_old_acls_from: str | None = None
    move: bool = False
    adopt: str | None = None
    copy_offsets: bool = True
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE


class DesiredCredential(Struct, frozen=True, kw_only=True):
    """One declared mechanism of a user; another ``version`` sets the password again."""

    iterations: int
    password: PasswordSource
    version: str | None = None


class DesiredUser(_Declared, frozen=True, kw_only=True):
    """A declared user who logs in by SCRAM; one of a ``virtual_cluster`` must be its member."""

    name: str
    credentials: Mapping[ScramMechanism, DesiredCredential]
    virtual_cluster: str | None = None
    deletion_policy: DeletionPolicy = DeletionPolicy.PROTECT


DesiredObject = (
    DesiredTopic
    | DesiredAcl
    | DesiredQuota
    | DesiredUser
    | DesiredGroup
    | DesiredClientMetrics
    | DesiredVirtualCluster
    | DesiredLink
    | DesiredMember
)


class Tombstone(_Located, frozen=True, kw_only=True):
    """The reviewed statement that the object at ``address`` is to be deleted."""

    name: str
    reason: str
    topic_id: str | None = None


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
    """All declarations of the manifests, in the order of their addresses.

    ``digest`` covers the normal form of every object, so that it does not depend on files,
    spelling or order. ``warnings`` are findings that do not stop a run. ``gateway`` is the one that
    clients of the cluster come through, ``pin`` the id that the project expects of the cluster.
    ``empty_folders`` are signs that files are missing.
    """

    project: Project
    scope: ManagedScope
    safety: Safety = Safety()
    principal: str = "User:ANONYMOUS"
    topics: tuple[DesiredTopic, ...] = ()
    acls: tuple[DesiredAcl, ...] = ()
    quotas: tuple[DesiredQuota, ...] = ()
    users: tuple[DesiredUser, ...] = ()
    groups: tuple[DesiredGroup, ...] = ()
    client_metrics: tuple[DesiredClientMetrics, ...] = ()
    virtual_clusters: tuple[DesiredVirtualCluster, ...] = ()
    links: tuple[DesiredLink, ...] = ()
    members: tuple[DesiredMember, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    warnings: tuple[Finding, ...] = ()
    digest: str = ""
    gateway: DeclaredGateway | None = None
    empty_folders: tuple[EmptyFolder, ...] = ()
    pin: PinnedId | None = None

    @property
    def objects(self) -> tuple[DesiredObject, ...]:
        """All declared objects."""
        return (
            *self.topics,
            *self.acls,
            *self.quotas,
            *self.users,
            *self.groups,
            *self.client_metrics,
            *self.virtual_clusters,
            *self.links,
            *self.members,
        )

    def with_objects(self, objects: Iterable[DesiredObject]) -> "DesiredState":
        """The desired state of the same project with just these objects."""
        every = tuple(objects)
        return replace(
            self,
            topics=tuple(item for item in every if isinstance(item, DesiredTopic)),
            acls=tuple(item for item in every if isinstance(item, DesiredAcl)),
            quotas=tuple(item for item in every if isinstance(item, DesiredQuota)),
            users=tuple(item for item in every if isinstance(item, DesiredUser)),
            groups=tuple(item for item in every if isinstance(item, DesiredGroup)),
            client_metrics=tuple(item for item in every if isinstance(item, DesiredClientMetrics)),
            virtual_clusters=tuple(
                item for item in every if isinstance(item, DesiredVirtualCluster)
            ),
            links=tuple(item for item in every if isinstance(item, DesiredLink)),
            members=tuple(item for item in every if isinstance(item, DesiredMember)),
        )

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses of all declared objects, and of those that a Tombstone deletes."""
        return frozenset(item.address for item in (*self.objects, *self.tombstones))
